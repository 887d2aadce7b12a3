package dwarf

import (
	"debug/dwarf"
	"encoding/binary"
)

// A unit has a hundred entries for each function, and the standard library makes
// values of all that they say. A Skimmer passes over them: it decodes no attribute
// but the two by which more can be passed over.

// Skimmer walks the entries of one unit of .debug_info.
type Skimmer struct {
	info    []byte
	shapes  Shapes
	start   int // of the unit's header
	pos     int
	end     int
	address int // bytes of an address
	offset  int // bytes of an offset
	refAddr int // bytes of a reference to another unit
	failed  bool
}

// Skimmed is what a Skimmer says of an entry. Tag 0 ends a list of children.
type Skimmed struct {
	Offset   dwarf.Offset
	Tag      dwarf.Tag
	Children bool
	Declared bool // it has no code, for another entry describes the same
	sibling  int  // where the entry behind its children is; 0: unknown
}

// Shapes is a table of abbreviations, by their codes.
type Shapes map[uint64]*shape

// shape is what entries of one abbreviation look like.
type shape struct {
	tag        dwarf.Tag
	children   bool
	attributes []shapeAttr
}

// shapeAttr is an attribute's name and form.
type shapeAttr struct {
	name dwarf.Attr
	form uint64
}

// ReadShapes gives the table of abbreviations of a unit, and where it is in
// .debug_abbrev: units may share it. Nil if there is none.
func ReadShapes(info, abbrev []byte, u Unit) (at uint64, read func() Shapes) {
	s := newSkimmer(info, u)
	if s == nil {
		return 0, nil
	}
	at = s.table()
	return at, func() Shapes { return readShapes(abbrev, at) }
}

func readShapes(abbrev []byte, at uint64) Shapes {
	if at >= uint64(len(abbrev)) {
		return nil
	}
	out := Shapes{}
	r := lineHeader{b: abbrev[at:]}
	for {
		code := r.uleb()
		if code == 0 || r.bad {
			return out
		}
		sh := &shape{tag: dwarf.Tag(r.uleb()), children: r.skip(1)[0] != 0}
		for {
			name, form := r.uleb(), r.uleb()
			if form == implicitConst {
				r.uleb()
			}
			if r.bad {
				return out
			}
			if name == 0 && form == 0 {
				break
			}
			sh.attributes = append(sh.attributes, shapeAttr{dwarf.Attr(name), form})
		}
		out[code] = sh
	}
}

// NewSkimmer begins at a unit's first entry. Nil if that cannot be.
func NewSkimmer(info []byte, u Unit, shapes Shapes) *Skimmer {
	s := newSkimmer(info, u)
	if s == nil || shapes == nil {
		return nil
	}
	s.shapes = shapes
	return s
}

func newSkimmer(info []byte, u Unit) *Skimmer {
	if u.Start >= u.Entry || u.Entry > u.End || int(u.End) > len(info) || u.Entry-u.Start < 11 {
		return nil
	}
	s := &Skimmer{info: info[:u.End], start: int(u.Start), pos: int(u.Entry), end: int(u.End), offset: 4}
	head := info[u.Start:u.Entry]
	if binary.LittleEndian.Uint32(head) == 0xffffffff {
		s.offset = 8
	}
	body := head[s.offset+(s.offset-4):] // the length takes 4 or 12 bytes
	if version := binary.LittleEndian.Uint16(body); version >= 5 {
		s.address = int(body[3])
	} else {
		s.address = int(body[2+s.offset])
		if version < 3 {
			s.refAddr = s.address
		}
	}
	if s.refAddr == 0 {
		s.refAddr = s.offset
	}
	return s
}

// table is where the unit's abbreviations are.
func (s *Skimmer) table() uint64 {
	body := s.info[s.start+s.offset+(s.offset-4):]
	at := body[2:]
	if binary.LittleEndian.Uint16(body) >= 5 {
		at = body[4:]
	}
	if s.offset == 8 {
		return binary.LittleEndian.Uint64(at)
	}
	return uint64(binary.LittleEndian.Uint32(at))
}

// Failed reports whether the walk ended because an entry could not be read.
func (s *Skimmer) Failed() bool { return s.failed }

// Next gives the next entry; ok is false at the end of the unit.
func (s *Skimmer) Next() (e Skimmed, ok bool) {
	if s.pos >= s.end || s.failed {
		return e, false
	}
	e.Offset = dwarf.Offset(s.pos)
	code := s.uleb()
	if code == 0 {
		return e, !s.failed
	}
	sh := s.shapes[code]
	if sh == nil {
		s.failed = true
		return e, false
	}
	e.Tag, e.Children = sh.tag, sh.children
	for _, a := range sh.attributes {
		switch {
		case a.name == dwarf.AttrSibling && a.form == 0x13 && s.end-s.pos >= 4: // DW_FORM_ref4: from the header
			e.sibling = s.start + int(binary.LittleEndian.Uint32(s.info[s.pos:]))
		case a.name == dwarf.AttrSibling && a.form == 0x14 && s.end-s.pos >= 8: // DW_FORM_ref8
			e.sibling = s.start + int(min(binary.LittleEndian.Uint64(s.info[s.pos:]), uint64(s.end)))
		case a.name == dwarf.AttrDeclaration:
			e.Declared = a.form == 0x19 || a.form == 0x0c && s.pos < s.end && s.info[s.pos] != 0
		}
		s.pass(a.form)
		if s.failed {
			return e, false
		}
	}
	return e, true
}

// SkipChildren passes over the children of e, which Next has just given, where e
// says where they end; false if it does not, and Next then gives them.
func (s *Skimmer) SkipChildren(e Skimmed) bool {
	if !e.Children || e.sibling < s.pos || e.sibling > s.end {
		return false
	}
	s.pos = e.sibling
	return true
}

func (s *Skimmer) uleb() uint64 {
	v := uint64(0)
	for shift := uint(0); s.pos < s.end; shift += 7 {
		b := s.info[s.pos]
		s.pos++
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return v
		}
	}
	s.failed = true
	return 0
}

func (s *Skimmer) skip(n uint64) {
	if n > uint64(s.end-s.pos) {
		s.failed = true
		return
	}
	s.pos += int(n)
}

// number reads n bytes.
func (s *Skimmer) number(n int) uint64 {
	at := s.pos
	if s.skip(uint64(n)); s.failed {
		return 0
	}
	v := uint64(0)
	for i := n - 1; i >= 0; i-- {
		v = v<<8 | uint64(s.info[at+i])
	}
	return v
}

// formSizes are the forms of a fixed size: DWARF 5, section 7.5.6.
var formSizes = [...]int8{
	0x05: 2, 0x06: 4, 0x07: 8, 0x0b: 1, 0x0c: 1, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x1c: 4, 0x1e: 16, 0x20: 8, 0x24: 8,
	0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2a: 2, 0x2b: 3, 0x2c: 4,
}

// pass goes behind a value.
func (s *Skimmer) pass(form uint64) {
	if form < uint64(len(formSizes)) && formSizes[form] > 0 {
		s.skip(uint64(formSizes[form]))
		return
	}
	switch form {
	case 0x19, implicitConst: // flag_present
	case 0x01: // addr
		s.skip(uint64(s.address))
	case 0x0e, 0x17, 0x1d, 0x1f, 0x1f20, 0x1f21: // strp, sec_offset, strp_sup, line_strp, GNU_ref_alt, GNU_strp_alt
		s.skip(uint64(s.offset))
	case 0x10: // ref_addr
		s.skip(uint64(s.refAddr))
	case 0x0d, 0x0f, 0x15, 0x1a, 0x1b, 0x22, 0x23: // sdata, udata, ref_udata, strx, addrx, loclistx, rnglistx
		s.uleb()
	case 0x09, 0x18: // block, exprloc
		s.skip(s.uleb())
	case 0x0a: // block1
		s.skip(s.number(1))
	case 0x03: // block2
		s.skip(s.number(2))
	case 0x04: // block4
		s.skip(s.number(4))
	case 0x08: // string
		for s.pos < s.end && s.info[s.pos] != 0 {
			s.pos++
		}
		s.skip(1)
	default:
		s.failed = true
	}
}
