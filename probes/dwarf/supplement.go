package dwarf

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// A supplementary file has the debug information that several files share; dwz
// makes it. Entries of the main file refer to entries and strings of the
// supplementary one by forms of their own: GNU's extension, and DWARF 5, section
// 7.3.6. The standard library does not follow these. So the sections of the
// supplementary file are put behind those of the main one, and every offset that
// then lies elsewhere is written anew: of the main file those into the
// supplementary one, whose forms become the plain ones of the same length; of the
// supplementary file all that leave their unit.

// Forms that hold an offset, and those that need a section which a supplementary
// file does not have (DWARF 5, table 7.6, and GNU's).
const (
	formData4     = 0x06
	formStrp      = 0x0e
	formRefAddr   = 0x10
	formIndirect  = 0x16
	formSecOffset = 0x17
	formRefSup4   = 0x1c
	formStrpSup   = 0x1d
	formRefSup8   = 0x24
	formGNURefAlt = 0x1f20
	formGNUStrAlt = 0x1f21
)

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

// attribute is what an abbreviation says of one.
type attribute struct {
	attr dwarf.Attr
	form uint64
}

// joiner holds the state of supplement.
type joiner struct {
	main, sup, out sections
	tables         map[uint64]map[uint64][]attribute // by offset in the joined .debug_abbrev
	unit           joinedUnit
	left           int // attributes
}

// joinedUnit is what the forms of a unit's entries depend on.
type joinedUnit struct {
	added   bool // is of the supplementary file
	word    int  // bytes of an offset
	version uint16
	address int // bytes of an address
}

// units mends the units of a section.
func (j *joiner) units(section string, b []byte, added bool) error {
	order := binary.LittleEndian
	for at := 0; len(b)-at >= 4; {
		n, word, body := uint64(order.Uint32(b[at:])), 4, at+4
		if n == 0xffffffff && len(b)-at >= 12 {
			n, word, body = order.Uint64(b[at+4:]), 8, at+12
		}
		if n == 0 {
			at = body
			continue
		}
		if n > uint64(len(b)-body) {
			return fmt.Errorf("%w: the unit at 0x%x of .debug_%s is cut short", elf.ErrMalformed, at, section)
		}
		j.unit = joinedUnit{added: added, word: word}
		if err := j.mendUnit(section, b[body:body+int(n)]); err != nil {
			return fmt.Errorf("the unit at 0x%x of .debug_%s: %w", at, section, err)
		}
		at = body + int(n)
	}
	return nil
}

// mendUnit mends a unit, which begins with its version.
func (j *joiner) mendUnit(section string, b []byte) error {
	r := lineHeader{b: b}
	order, u := binary.LittleEndian, &j.unit
	u.version = order.Uint16(r.skip(2))
	kind := byte(0)
	if u.version >= 5 {
		kind = r.skip(1)[0]
		u.address = int(r.skip(1)[0])
	} else if section == "types" {
		kind = unitType
	}
	if len(r.b) < u.word+1 {
		return fmt.Errorf("%w: it is cut short", elf.ErrMalformed)
	}
	from := uint64(0)
	if u.added {
		from = uint64(len(j.main["abbrev"]))
		if err := j.move(r.b[:u.word], from, len(j.sup["abbrev"])); err != nil {
			return err
		}
	}
	table, err := j.table(readWord(r.skip(uint64(u.word))))
	if err != nil {
		return err
	}
	if u.version < 5 {
		u.address = int(r.skip(1)[0])
	}
	switch kind {
	case unitSkeleton, unitSplit:
		r.skip(8)
	case unitType, unitSplitType:
		r.skip(uint64(8 + u.word))
	}
	for len(r.b) > 0 && !r.bad {
		if err := j.mendEntry(&r, table); err != nil {
			return err
		}
	}
	return nil
}

// table reads the abbreviations at an offset, and gives those that refer to the
// supplementary file their plain forms.
func (j *joiner) table(off uint64) (map[uint64][]attribute, error) {
	all := j.out["abbrev"]
	if t, ok := j.tables[off]; ok || off > uint64(len(all)) {
		return t, nil
	}
	r := lineHeader{b: all[off:]}
	t := map[uint64][]attribute{}
	for code := r.uleb(); code != 0 && !r.bad; code = r.uleb() {
		r.uleb() // tag
		r.skip(1)
		fields := []attribute{}
		for !r.bad {
			name, at := r.uleb(), r.b
			form := r.uleb()
			if name == 0 && form == 0 {
				break
			}
			if form == implicitConst {
				r.uleb()
			}
			if plain, ok := plainAlt(form); ok && !r.bad {
				putPadded(at[:ulebLen(at)], plain)
			}
			fields = append(fields, attribute{dwarf.Attr(name), form})
		}
		t[code] = fields
	}
	j.tables[off] = t
	return t, nil
}

// plainAlt gives the form for what lies in the same file that is as long as one
// for the supplementary file.
func plainAlt(form uint64) (uint64, bool) {
	switch form {
	case formGNURefAlt, formRefSup4, formRefSup8:
		return formRefAddr, true
	case formGNUStrAlt, formStrpSup:
		return formStrp, true
	}
	return form, false
}

func (j *joiner) mendEntry(r *lineHeader, table map[uint64][]attribute) error {
	code := r.uleb()
	if code == 0 {
		return nil
	}
	fields, ok := table[code]
	if !ok {
		return fmt.Errorf("%w: no abbreviation %d", elf.ErrMalformed, code)
	}
	if j.left -= len(fields); j.left < 0 {
		return fmt.Errorf("%w: too many attributes", elf.ErrMalformed)
	}
	for _, a := range fields {
		if a.form == formIndirect {
			at := r.b
			a.form = r.uleb()
			if plain, ok := plainAlt(a.form); ok && !r.bad {
				putPadded(at[:ulebLen(at)], plain)
			}
		}
		if err := j.mendField(r, a); err != nil {
			return err
		}
	}
	if r.bad {
		return fmt.Errorf("%w: its entries are cut short", elf.ErrMalformed)
	}
	return nil
}

// mendField passes over a value and mends it where it is an offset that changes.
func (j *joiner) mendField(r *lineHeader, a attribute) error {
	u, at := &j.unit, r.b
	n, ok := formSize(r, a.form, u)
	if !ok {
		return fmt.Errorf("%w: unknown form 0x%x", elf.ErrMalformed, a.form)
	}
	if r.skip(n); r.bad {
		return nil
	}
	at = at[:len(at)-len(r.b)]
	info, str := uint64(len(j.main["info"])), uint64(len(j.main["str"]))
	switch a.form {
	case formGNURefAlt, formRefSup4, formRefSup8:
		if u.added || u.version < 3 || len(at) != u.word {
			return fmt.Errorf("%w: a reference of form 0x%x to a supplementary file", elf.ErrMalformed, a.form)
		}
		return j.move(at, info, len(j.sup["info"]))
	case formGNUStrAlt, formStrpSup:
		if u.added {
			return fmt.Errorf("%w: a string of form 0x%x in a supplementary file", elf.ErrMalformed, a.form)
		}
		return j.move(at, str, len(j.sup["str"]))
	}
	if !u.added {
		return nil
	}
	switch {
	case a.form == formStrp:
		return j.move(at, str, len(j.sup["str"]))
	case a.form == formRefAddr:
		return j.move(at, info, len(j.sup["info"]))
	case a.attr == dwarf.AttrStmtList && len(at) == u.word && (a.form == formSecOffset || a.form == formData4):
		return j.move(at, uint64(len(j.main["line"])), len(j.sup["line"]))
	case needsTables(a.form):
		return fmt.Errorf("%w: a value of form 0x%x in a supplementary file", elf.ErrMalformed, a.form)
	}
	return nil
}

// needsTables: line_strp and what is numbered (strx, addrx, loclistx, rnglistx).
func needsTables(form uint64) bool {
	return form == 0x1f || form == 0x1a || form == 0x1b || form == 0x22 || form == 0x23 || form >= 0x25 && form <= 0x2c
}

// move adds to the offset in b; size is that of the section that it is one of.
func (j *joiner) move(b []byte, by uint64, size int) error {
	v := readWord(b)
	if v > uint64(size) {
		return fmt.Errorf("%w: it refers to byte 0x%x of %d", elf.ErrMalformed, v, size)
	}
	if v += by; len(b) == 4 {
		if v > math.MaxUint32 {
			return fmt.Errorf("%w: offsets of 32 bits do not suffice with the supplementary file", elf.ErrTooLarge)
		}
		binary.LittleEndian.PutUint32(b, uint32(v))
		return nil
	}
	binary.LittleEndian.PutUint64(b, v)
	return nil
}

// readWord reads an offset of 4 or 8 bytes.
func readWord(b []byte) uint64 {
	if len(b) == 4 {
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// formSize gives the bytes of a value that r stands at; what says its own length
// has r behind that. DWARF 5, section 7.5.6.
func formSize(r *lineHeader, form uint64, u *joinedUnit) (n uint64, ok bool) {
	order := binary.LittleEndian
	switch form {
	case 0x0b, 0x0c, 0x11, 0x25, 0x29: // data1, flag, ref1, strx1, addrx1
		return 1, true
	case 0x05, 0x12, 0x26, 0x2a: // data2, ref2, strx2, addrx2
		return 2, true
	case 0x27, 0x2b: // strx3, addrx3
		return 3, true
	case formData4, 0x13, 0x28, 0x2c, formRefSup4: // ref4, strx4, addrx4
		return 4, true
	case 0x07, 0x14, 0x20, formRefSup8: // data8, ref8, ref_sig8
		return 8, true
	case 0x1e: // data16
		return 16, true
	case 0x19, implicitConst: // flag_present
		return 0, true
	case 0x01: // addr
		return uint64(u.address), true
	case formRefAddr:
		if u.version < 3 {
			return uint64(u.address), true
		}
		return uint64(u.word), true
	case formStrp, formSecOffset, 0x1f, formStrpSup, formGNURefAlt, formGNUStrAlt: // line_strp
		return uint64(u.word), true
	case 0x0d, 0x0f, 0x15, 0x1a, 0x1b, 0x22, 0x23: // sdata, udata, ref_udata, strx, addrx, loclistx, rnglistx
		return uint64(ulebLen(r.b)), true
	case 0x08: // string
		return stringLen(r.b), true
	case 0x0a: // block1
		return uint64(r.skip(1)[0]), true
	case 0x03: // block2
		return uint64(order.Uint16(r.skip(2))), true
	case 0x04: // block4
		return uint64(order.Uint32(r.skip(4))), true
	case 0x09, 0x18: // block, exprloc
		return r.uleb(), true
	}
	return 0, false
}

// stringLen gives the bytes of a string with the zero that ends it; more than
// there are if none does.
func stringLen(b []byte) uint64 {
	for i, c := range b {
		if c == 0 {
			return uint64(i) + 1
		}
	}
	return uint64(len(b)) + 1
}
