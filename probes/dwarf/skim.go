package dwarf

import (
	"debug/dwarf"
	"encoding/binary"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// A unit has about a hundred entries for each function, and the standard library decodes all of
// their attributes. A Skimmer decodes only the two attributes that help to skip entries.

// Skimmer walks the entries of one unit of .debug_info.
type Skimmer struct {
	unit          Unit
	r             elf.Cursor // reads the unit, including its header
	b             []byte     // the bytes that r reads
	abbreviations Abbreviations
	failed        bool
}

// Skimmed is the data that a Skimmer reads from an entry. Tag 0 ends a list of children.
type Skimmed struct {
	Offset   dwarf.Offset
	Tag      dwarf.Tag
	Children bool
	Declared bool // it is a declaration, without code: another entry describes the same thing
	// sibling is the offset of the entry after its children, from the unit's header; 0: unknown.
	sibling int
}

// Abbreviations is a table of abbreviations, by their codes.
type Abbreviations map[uint64]*abbreviation

// abbreviation is the layout of the entries of one abbreviation.
type abbreviation struct {
	tag        dwarf.Tag
	children   bool
	attributes []attribute
}

// AbbreviationsOf returns the offset of a unit's table of abbreviations in .debug_abbrev, which
// units may share, and a function that reads it.
func AbbreviationsOf(abbrev []byte, u Unit) (at uint64, read func() Abbreviations) {
	return u.abbrev, func() Abbreviations { return readAbbreviations(abbrev, u.abbrev) }
}

func readAbbreviations(abbrev []byte, at uint64) Abbreviations {
	if at >= uint64(len(abbrev)) {
		return nil
	}
	out := Abbreviations{}
	r := elf.NewCursor(abbrev[at:], 0, 0)
	for {
		sh := &abbreviation{}
		code, tag, children := readAbbreviation(&r, func(a attribute) bool {
			sh.attributes = append(sh.attributes, a)
			return true
		})
		if code == 0 || r.Failed() {
			return out
		}
		sh.tag, sh.children = tag, children
		out[code] = sh
	}
}

// NewSkimmer returns a Skimmer at a unit's first entry; nil if the unit or its abbreviations are
// not valid.
func NewSkimmer(info []byte, u Unit, table Abbreviations) *Skimmer {
	if u.Start >= u.Entry || u.Entry > u.End || int(u.End) > len(info) || table == nil {
		return nil
	}
	b := info[u.Start:u.End]
	s := &Skimmer{unit: u, r: elf.NewCursor(b, 0, 0), b: b, abbreviations: table}
	s.r.Skip(uint64(u.Entry - u.Start))
	return s
}

// Failed reports whether the walk ended because an entry could not be read.
func (s *Skimmer) Failed() bool { return s.failed || s.r.Failed() }

// Next returns the next entry; ok is false at the end of the unit.
func (s *Skimmer) Next() (e Skimmed, ok bool) {
	if s.r.Left() == 0 || s.Failed() {
		return e, false
	}
	e.Offset = s.unit.Start + dwarf.Offset(s.r.Pos())
	code := s.r.LEB(false)
	if code == 0 {
		return e, !s.Failed()
	}
	sh := s.abbreviations[code]
	if sh == nil {
		s.failed = true
		return e, false
	}
	e.Tag, e.Children = sh.tag, sh.children
	for i := range sh.attributes {
		a := &sh.attributes[i]
		at := s.b[s.r.Pos():]
		switch {
		case a.name == dwarf.AttrSibling && a.form == formRef4 && len(at) >= 4: // from the unit's header
			e.sibling = int(binary.LittleEndian.Uint32(at))
		case a.name == dwarf.AttrSibling && a.form == formRef8 && len(at) >= 8:
			e.sibling = int(min(binary.LittleEndian.Uint64(at), uint64(len(s.b))))
		case a.name == dwarf.AttrDeclaration:
			e.Declared = a.form == formFlagPresent || a.form == formFlag && len(at) > 0 && at[0] != 0
		}
		s.failed = s.failed || !s.unit.skipForm(&s.r, a.form)
	}
	return e, !s.Failed()
}

// SkipChildren skips the children of e, which Next has just returned, if e states where they end.
// Otherwise it returns false, and Next returns the children.
func (s *Skimmer) SkipChildren(e Skimmed) bool {
	if !e.Children || e.sibling < s.r.Pos() || e.sibling > len(s.b) {
		return false
	}
	s.r.Skip(uint64(e.sibling - s.r.Pos()))
	return true
}
