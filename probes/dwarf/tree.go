package dwarf

import (
	"debug/dwarf"
	"sort"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// Tree reads entries by their offsets. Debug information comes in parts, each with
// offsets of its own (see Part). A Tree has one space of offsets for all: the parts lie
// in it one after the other, the program's own first, and entries are put into it as
// they are read, so that what refers to an entry names one, wherever it lies.
//
// It knows types as far as they are the same whoever asks: names and qualifiers, the
// members of structures, the dimensions of arrays, sizes. Not for concurrent use.
type Tree struct {
	Parts []TreePart // by Base
	// Left is how many entries may still be read by Entry and what is built on it:
	// structures in structures would take a time exponential in their depth. What lies
	// beyond is not there.
	Left int
	// Definition returns the offset of the type that a declaration stands for, 0 if
	// there is none. A nil Definition knows none.
	Definition func(*dwarf.Entry) dwarf.Offset

	signatures map[uint64]dwarf.Offset // of types → their entries
}

// TreePart is a part in the space of all.
type TreePart struct {
	Part
	Base dwarf.Offset
}

// maxTypeChain bounds chains of names and qualifiers, and types within types.
const maxTypeChain = 64

// NewTree makes a tree of parts. What does not fit into the space of 4 GiB is left out,
// and all is false then.
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

// Tree returns a tree of the file's own part alone, whose offsets are those of
// .debug_info.
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

// PartAt returns the number of the part that an offset is in; -1 if there is none.
func (t *Tree) PartAt(off dwarf.Offset) int {
	return sort.Search(len(t.Parts), func(i int) bool { return t.Parts[i].Base > off }) - 1
}

// Adopt puts an entry of a part into the space of all.
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

// treeReader reads entries one after the other.
type treeReader struct {
	t       *Tree
	part    *TreePart
	r       *dwarf.Reader
	entries *Entries
}

// readAt begins at an offset; ok is false if nothing is there.
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

// next returns the next entry; nil at the end, where the data is damaged, and where no
// more may be read.
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

// Children calls visit for the entries directly below e until it says no.
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

// Complete returns the entry that describes a type which e only declares; e if there is
// none.
func (t *Tree) Complete(e *dwarf.Entry) *dwarf.Entry {
	if e == nil {
		return nil
	}
	if off, ok := e.Val(dwarf.AttrSignature).(dwarf.Offset); ok { // a declaration, though gcc calls only some so
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

// IsName reports whether a type is another one with a name or a qualifier.
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

// Bare follows names and qualifiers to the type itself; nil if there is none.
func (t *Tree) Bare(e *dwarf.Entry) *dwarf.Entry {
	for range maxTypeChain {
		if e == nil || !IsName(e.Tag) {
			return e
		}
		e = t.Entry(TypeOf(e))
	}
	return nil
}

// Type returns the type at an offset without names and qualifiers, and complete; nil if
// there is none.
func (t *Tree) Type(off dwarf.Offset) *dwarf.Entry { return t.Complete(t.Bare(t.Entry(off))) }

// Member is a member of each instance of a structure, or a base class.
type Member struct {
	Entry *dwarf.Entry
	Name  string       // "" of a base class, and of an anonymous structure or union
	Type  dwarf.Offset // 0: unknown
	Base  bool         // a base class
	// Known: the place is the same in each instance. That of a virtual base class is not.
	Known bool
	Start int64 // bytes from the structure's beginning
	Bits  int64 // of a bit field, at most 64; 0 of anything else
	Bit   int64 // the first bit, from the structure's beginning
}

// MaxOffset bounds distances within a variable, in bytes: there is no larger one.
const MaxOffset = 1 << 40

// Members calls visit for the members and bases of a structure until it says no.
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

// member reads where a member begins: DWARF 5, section 5.7.6, and DWARF 3, 5.5.6, for bit
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

// plusConstant evaluates what old compilers write for a constant: DW_OP_plus_uconst.
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

// Counts returns the number of elements in each dimension of an array, negative where it
// is not known.
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

// Size returns the size of a type in bytes, 0 if it is not known.
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
