package dwarf

import (
	"debug/dwarf"
	"sort"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// Tree reads entries by their offsets. Debug information has several parts, each with offsets of
// its own (see Part). A Tree has one offset space for all parts: they follow one another in it, the
// program's own part first. The offsets and references of entries are converted to this space when
// they are read, so that a reference may lead to any part.
//
// A Tree also implements the operations on types that do not depend on the caller: following
// typedefs and qualifiers, the members of structures, the dimensions of arrays, sizes. It is not
// safe for concurrent use.
type Tree struct {
	Parts []TreePart // by Base
	// Left is the number of entries that Entry, and the methods that use it, may still read: nested
	// structures could take time exponential in their depth. When it is used up, no more entries
	// are found.
	Left int
	// Definition returns the offset of the type that defines a declaration; 0 if there is none. If
	// it is nil, no definitions are known.
	Definition func(*dwarf.Entry) dwarf.Offset

	signatures map[uint64]dwarf.Offset // of types → their entries
}

// TreePart is a part and its position in the offset space of the tree.
type TreePart struct {
	Part
	Base dwarf.Offset
}

// maxTypeChain bounds chains of typedefs and qualifiers, and the nesting of types.
const maxTypeChain = 64

// NewTree returns a tree of parts. all is false if some parts were left out because the offset
// space of 4 GiB was full.
func NewTree(parts []Part) (t *Tree, all bool) {
	t = &Tree{signatures: map[uint64]dwarf.Offset{}}
	at := uint64(0)
	for i := range parts {
		p := TreePart{parts[i], dwarf.Offset(at)}
		if at += uint64(p.Size); at > 1<<32-1 {
			return t, false
		}
		t.Parts = append(t.Parts, p)
		for _, u := range p.Units {
			if u.IsType() && int(u.Type) < p.Size {
				t.signatures[u.Signature] = u.Type + p.Base
			}
		}
	}
	return t, true
}

// Tree returns a tree of the file's own part only. Its offsets are those of .debug_info.
func (i *Info) Tree() (*Tree, error) {
	d, err := i.Data()
	if err != nil {
		return nil, err
	}
	info, err := i.Section("info")
	if err != nil {
		return nil, err
	}
	t, _ := NewTree([]Part{{Data: d, Size: len(info)}})
	return t, nil
}

// PartAt returns the index of the part that contains an offset; -1 if there is none.
func (t *Tree) PartAt(off dwarf.Offset) int {
	return sort.Search(len(t.Parts), func(i int) bool { return t.Parts[i].Base > off }) - 1
}

// Adopt converts the offsets in an entry of a part to the offset space of the tree.
func (t *Tree) Adopt(p *TreePart, e *dwarf.Entry) *dwarf.Entry {
	if e.Tag == 0 {
		return e
	}
	e.Offset += p.Base
	for i := range e.Field {
		f := &e.Field[i]
		switch v := f.Val.(type) {
		case dwarf.Offset:
			f.Val = v + p.Base
		case uint64:
			if f.Class == dwarf.ClassReferenceSig {
				if off, ok := t.signatures[v]; ok {
					f.Val, f.Class = off, dwarf.ClassReference
				}
			}
		}
	}
	return e
}

// treeReader reads consecutive entries.
type treeReader struct {
	t       *Tree
	part    *TreePart
	r       *dwarf.Reader
	entries *Entries
}

// readAt returns a reader at an offset; ok is false if there is no entry there.
func (t *Tree) readAt(off dwarf.Offset) (r treeReader, ok bool) {
	i := t.PartAt(off)
	if i < 0 || int(off-t.Parts[i].Base) >= t.Parts[i].Size {
		return r, false
	}
	p := &t.Parts[i]
	at := p.Data.Reader()
	at.Seek(off - p.Base)
	return treeReader{t, p, at, NewEntries(at, p.Size)}, true
}

// next returns the next entry; nil at the end, if the data is damaged, or if no more entries may be
// read.
func (r *treeReader) next() *dwarf.Entry {
	if r.t.Left--; r.t.Left < 0 {
		return nil
	}
	e, err := r.entries.Next()
	if err != nil || e == nil {
		return nil
	}
	return r.t.Adopt(r.part, e)
}

// Entry returns the entry at an offset; nil if there is none.
func (t *Tree) Entry(off dwarf.Offset) *dwarf.Entry {
	if off == 0 {
		return nil
	}
	r, ok := t.readAt(off)
	if !ok {
		return nil
	}
	if e := r.next(); e != nil && e.Tag != 0 {
		return e
	}
	return nil
}

// Children calls visit for the entries directly below e until visit returns false.
func (t *Tree) Children(e *dwarf.Entry, visit func(*dwarf.Entry) bool) {
	if !e.Children {
		return
	}
	r, ok := t.readAt(e.Offset)
	if !ok || r.next() == nil {
		return
	}
	for level := 0; level >= 0; {
		c := r.next()
		switch {
		case c == nil || c.Tag != 0 && level == 0 && !visit(c):
			return
		case c.Tag == 0:
			level--
		case c.Children:
			if next := Reference(c, dwarf.AttrSibling); next > c.Offset && level == 0 {
				r.r.Seek(next - r.part.Base)
			} else {
				level++
			}
		}
	}
}

// Complete returns the entry that defines a type which e only declares; e itself if there is none.
func (t *Tree) Complete(e *dwarf.Entry) *dwarf.Entry {
	if e == nil {
		return nil
	}
	// The signature refers to the definition. gcc does not always mark such an entry as a
	// declaration.
	if off, ok := e.Val(dwarf.AttrSignature).(dwarf.Offset); ok {
		if full := t.Entry(off); full != nil {
			return full
		}
	}
	if t.Definition != nil && Flag(e, dwarf.AttrDeclaration) {
		if full := t.Entry(t.Definition(e)); full != nil && full.Tag == e.Tag {
			return full
		}
	}
	return e
}

// IsName reports whether a type is a typedef or a qualified type.
func IsName(tag dwarf.Tag) bool {
	switch tag {
	case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
		return true
	}
	return false
}

// IsStructure reports whether a type has members: a structure, a class or a union.
func IsStructure(tag dwarf.Tag) bool {
	return tag == dwarf.TagStructType || tag == dwarf.TagClassType || tag == dwarf.TagUnionType
}

// Bare follows typedefs and qualifiers to the underlying type; nil if there is none.
func (t *Tree) Bare(e *dwarf.Entry) *dwarf.Entry {
	for range maxTypeChain {
		if e == nil || !IsName(e.Tag) {
			return e
		}
		e = t.Entry(TypeOf(e))
	}
	return nil
}

// Type returns the type at an offset without typedefs and qualifiers, with its definition; nil if
// there is none.
func (t *Tree) Type(off dwarf.Offset) *dwarf.Entry { return t.Complete(t.Bare(t.Entry(off))) }

// Member is a member of each instance of a structure, or a base class.
type Member struct {
	Entry *dwarf.Entry
	Name  string       // "" for a base class, or an anonymous structure or union
	Type  dwarf.Offset // 0: unknown
	Base  bool         // a base class
	// Known reports whether the position is the same in each instance. That of a virtual base class
	// is not.
	Known bool
	Start int64 // bytes from the structure's beginning
	Bits  int64 // size of a bit field, at most 64; 0 for any other member
	Bit   int64 // the first bit, counted from the structure's beginning
}

// MaxOffset bounds offsets within a variable, and sizes, in bytes.
const MaxOffset = 1 << 40

// Members calls visit for the members and base classes of a structure until visit returns false.
func (t *Tree) Members(e *dwarf.Entry, visit func(Member) bool) {
	if !IsStructure(e.Tag) {
		return
	}
	t.Children(e, func(c *dwarf.Entry) bool {
		static := Flag(c, dwarf.AttrExternal) || Flag(c, dwarf.AttrDeclaration)
		if c.Tag != dwarf.TagInheritance && (c.Tag != dwarf.TagMember || static) {
			return true
		}
		return visit(t.member(c))
	})
}

// member returns a member with its position: DWARF 5, section 5.7.6, and DWARF 3, 5.5.6, for bit
// fields that count from the highest bit of a storage unit.
func (t *Tree) member(e *dwarf.Entry) Member {
	m := Member{Entry: e, Type: TypeOf(e), Base: e.Tag == dwarf.TagInheritance, Known: true}
	if !m.Base {
		m.Name = Name(e)
	}
	switch at := e.Val(dwarf.AttrDataMemberLoc).(type) {
	case nil:
	case int64:
		m.Start = at
	case []byte:
		m.Start, m.Known = plusConstant(at)
	default:
		m.Known = false
	}
	m.Bits = min(max(Number(e, dwarf.AttrBitSize), 0), 64)
	m.Bit = 8 * m.Start
	if first, ok := e.Val(dwarf.AttrDataBitOffset).(int64); ok {
		m.Bit = first
	} else if high, ok := e.Val(dwarf.AttrBitOffset).(int64); ok && m.Bits > 0 {
		storage := Number(e, dwarf.AttrByteSize)
		if storage == 0 {
			storage = t.Size(m.Type)
		}
		m.Bit += 8*storage - high - m.Bits
	}
	if m.Start < 0 || m.Start > MaxOffset || m.Bit < 0 || m.Bit > 8*MaxOffset {
		m.Known, m.Start, m.Bit = false, 0, 0
	}
	return m
}

// plusConstant evaluates the expression that old compilers write for a constant offset:
// DW_OP_plus_uconst.
func plusConstant(expr []byte) (int64, bool) {
	const plusUconst, longest = 0x23, 7
	if len(expr) < 2 || len(expr) > longest || expr[0] != plusUconst {
		return 0, false
	}
	r := elf.NewCursor(expr[1:], 0, 0)
	n := r.LEB(false)
	return int64(n), !r.Failed() && r.Left() == 0
}

// maxDimensions bounds the dimensions of an array.
const maxDimensions = 16

// Counts returns the number of elements in each dimension of an array; negative where it is not
// known.
func (t *Tree) Counts(e *dwarf.Entry) []int64 {
	var out []int64
	t.Children(e, func(c *dwarf.Entry) bool {
		if c.Tag != dwarf.TagSubrangeType {
			return true
		}
		n := int64(-1)
		if count, ok := c.Val(dwarf.AttrCount).(int64); ok {
			n = count
		} else if upper, ok := c.Val(dwarf.AttrUpperBound).(int64); ok {
			n = upper - Number(c, dwarf.AttrLowerBound) + 1
		}
		out = append(out, min(n, MaxOffset))
		return len(out) < maxDimensions
	})
	return out
}

// Size returns the size of a type in bytes; 0 if it is not known.
func (t *Tree) Size(off dwarf.Offset) int64 { return t.size(off, 0) }

func (t *Tree) size(off dwarf.Offset, depth int) int64 {
	e := t.Type(off)
	if e == nil || depth > maxTypeChain/4 {
		return 0
	}
	if n := Number(e, dwarf.AttrByteSize); n > 0 {
		return min(n, MaxOffset)
	}
	switch e.Tag {
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		return 8
	case dwarf.TagArrayType:
		n := t.size(TypeOf(e), depth+1)
		for _, count := range t.Counts(e) {
			if count = max(count, 0); count > 0 && n > MaxOffset/count {
				return MaxOffset
			}
			n *= count
		}
		return n
	}
	return 0
}
