package dwarf

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// A supplementary file, made by dwz, contains debug information that several files share. Entries
// of the main file refer to its entries and strings by forms of their own: GNU's extension, and
// DWARF 5, section 7.3.6. The standard library does not follow these. So the sections of the
// supplementary file are appended to those of the main file, and every offset that changes by this
// is rewritten: in the main file, references into the supplementary file, whose forms are replaced
// by the ordinary ones of the same length; in the supplementary file, all references that leave
// their unit.

// supplement joins the sections of a file with those of its supplementary file.
// Neither is changed.
func supplement(main, sup sections) (sections, error) {
	j := &joiner{main: main, sup: sup, out: sections{}, tables: map[uint64]map[uint64][]attribute{}}
	j.left = 4*(len(main["info"])+len(main["types"])+len(sup["info"])) + 1<<16
	for name, b := range main {
		j.out[name] = b
	}
	if len(sup["line_str"]) > 0 || len(sup["str_offsets"]) > 0 || len(sup["types"]) > 0 {
		return nil, fmt.Errorf("%w: the supplementary file has sections that none has", elf.ErrMalformed)
	}
	for _, name := range []string{"info", "abbrev", "str", "line"} {
		if len(main[name])+len(sup[name]) > math.MaxUint32 {
			return nil, fmt.Errorf("%w: with the supplementary file, .debug_%s has more than 4 GiB", elf.ErrTooLarge, name)
		}
		j.out[name] = append(append(make([]byte, 0, len(main[name])+len(sup[name])), main[name]...), sup[name]...)
	}
	j.out["types"] = append([]byte(nil), main["types"]...)
	n := len(main["info"])
	for _, part := range []struct {
		section string
		b       []byte
		added   bool
	}{{"info", j.out["info"][:n], false}, {"info", j.out["info"][n:], true}, {"types", j.out["types"], false}} {
		if err := j.units(part.section, part.b, part.added); err != nil {
			return nil, err
		}
	}
	if len(j.out["types"]) == 0 {
		delete(j.out, "types")
	}
	return j.out, nil
}

// joiner holds the state of supplement.
type joiner struct {
	main, sup, out sections
	tables         map[uint64]map[uint64][]attribute // by offset in the joined .debug_abbrev
	unit           Unit
	added          bool // the unit belongs to the supplementary file
	left           int  // number of attributes that may still be processed
}

// units rewrites the units of a section.
func (j *joiner) units(section string, b []byte, added bool) error {
	j.added = added
	return eachUnit(section, b, func(u Unit) error {
		j.unit = u
		if err := j.mendUnit(b); err != nil {
			return fmt.Errorf("the unit at 0x%x of .debug_%s: %w", u.Start, section, err)
		}
		return nil
	})
}

// mendUnit rewrites a unit of a section.
func (j *joiner) mendUnit(b []byte) error {
	u := &j.unit
	if j.added {
		from := uint64(len(j.main["abbrev"]))
		if err := j.move(b[u.abbrevAt:u.abbrevAt+u.word], from, len(j.sup["abbrev"])); err != nil {
			return err
		}
		u.abbrev += from
	}
	table := j.table(u.abbrev)
	if u.Entry == 0 {
		return nil
	}
	b = b[u.Entry:u.End]
	for r := elf.NewCursor(b, 0, 0); r.Left() > 0; {
		if err := j.mendEntry(b, &r, table); err != nil {
			return err
		}
	}
	return nil
}

// table returns the abbreviations at an offset, and replaces the forms that refer to the
// supplementary file.
func (j *joiner) table(off uint64) map[uint64][]attribute {
	all := j.out["abbrev"]
	if t, ok := j.tables[off]; ok || off > uint64(len(all)) {
		return t
	}
	b := all[off:]
	r := elf.NewCursor(b, 0, 0)
	t := map[uint64][]attribute{}
	for {
		var fields []attribute
		code, _, _ := readAbbreviation(&r, func(a attribute) bool {
			if plain, ok := plainAlt(a.form); ok {
				putPadded(b[a.at:a.to], plain)
			}
			fields = append(fields, a)
			return true
		})
		if code == 0 || r.Failed() {
			break
		}
		t[code] = fields
	}
	j.tables[off] = t
	return t
}

// plainAlt returns the form for a reference within one file that has the same length as a form for
// the supplementary file.
func plainAlt(form uint64) (uint64, bool) {
	switch form {
	case formGNURefAlt, formRefSup4, formRefSup8:
		return formRefAddr, true
	case formGNUStrAlt, formStrpSup:
		return formStrp, true
	}
	return form, false
}

// mendEntry rewrites the entry of b at the position of r.
func (j *joiner) mendEntry(b []byte, r *elf.Cursor, table map[uint64][]attribute) error {
	code := r.LEB(false)
	fields, ok := table[code]
	if !ok && code != 0 {
		return fmt.Errorf("%w: no abbreviation %d", elf.ErrMalformed, code)
	}
	if j.left -= len(fields); j.left < 0 {
		return fmt.Errorf("%w: too many attributes", elf.ErrMalformed)
	}
	for _, a := range fields {
		if a.form == formIndirect {
			at := r.Pos()
			a.form = r.LEB(false)
			if plain, ok := plainAlt(a.form); ok && !r.Failed() {
				putPadded(b[at:r.Pos()], plain)
			}
		}
		at := r.Pos()
		if !j.unit.skipForm(r, a.form) {
			return fmt.Errorf("%w: unknown form 0x%x", elf.ErrMalformed, a.form)
		}
		if r.Failed() {
			break
		}
		if err := j.mendValue(b[at:r.Pos()], a); err != nil {
			return err
		}
	}
	if r.Failed() {
		return fmt.Errorf("%w: its entries are cut short", elf.ErrMalformed)
	}
	return nil
}

// mendValue rewrites a value if it is an offset that changes.
func (j *joiner) mendValue(at []byte, a attribute) error {
	u := &j.unit
	info, str := uint64(len(j.main["info"])), uint64(len(j.main["str"]))
	switch a.form {
	case formGNURefAlt, formRefSup4, formRefSup8:
		if j.added || u.Version < 3 || len(at) != u.word {
			return fmt.Errorf("%w: a reference of form 0x%x to a supplementary file", elf.ErrMalformed, a.form)
		}
		return j.move(at, info, len(j.sup["info"]))
	case formGNUStrAlt, formStrpSup:
		if j.added {
			return fmt.Errorf("%w: a string of form 0x%x in a supplementary file", elf.ErrMalformed, a.form)
		}
		return j.move(at, str, len(j.sup["str"]))
	}
	if !j.added {
		return nil
	}
	switch {
	case a.form == formStrp:
		return j.move(at, str, len(j.sup["str"]))
	case a.form == formRefAddr:
		return j.move(at, info, len(j.sup["info"]))
	case a.name == dwarf.AttrStmtList && len(at) == u.word && (a.form == formSecOffset || a.form == formData4):
		return j.move(at, uint64(len(j.main["line"])), len(j.sup["line"]))
	case needsTables(a.form):
		return fmt.Errorf("%w: a value of form 0x%x in a supplementary file", elf.ErrMalformed, a.form)
	}
	return nil
}

// needsTables reports whether a form's value refers to a table: line_strp, and the indexed forms
// (strx, addrx, loclistx, rnglistx).
func needsTables(form uint64) bool {
	switch form {
	case formLineStrp, formStrx, formAddrx, formLoclistx, formRnglistx:
		return true
	}
	return form >= formStrx1 && form <= formAddrx4
}

// move adds by to the offset in b, of 4 or 8 bytes; size is the size of the section that it is an
// offset into.
func (j *joiner) move(b []byte, by uint64, size int) error {
	order := binary.LittleEndian
	var v uint64
	switch len(b) {
	case 4:
		v = uint64(order.Uint32(b))
	case 8:
		v = order.Uint64(b)
	default:
		return fmt.Errorf("%w: "+plural.Sprintf("an offset of %d {byte|bytes}", len(b)), elf.ErrMalformed)
	}
	if v > uint64(size) {
		return fmt.Errorf("%w: it refers to byte 0x%x of %d", elf.ErrMalformed, v, size)
	}
	if v += by; len(b) == 8 {
		order.PutUint64(b, v)
		return nil
	}
	if v > math.MaxUint32 {
		return fmt.Errorf("%w: offsets of 32 bits do not suffice with the supplementary file", elf.ErrTooLarge)
	}
	order.PutUint32(b, uint32(v))
	return nil
}
