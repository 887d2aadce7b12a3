package dwarf

import (
	"debug/dwarf"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// Type is a type as its entry describes it. A Tree reads each type once, and its members or
// dimensions when they are first used. What is read while the tree's budget runs out is not kept.
type Type struct {
	Offset   dwarf.Offset
	Tag      dwarf.Tag
	Name     string       // without the scopes that enclose it; "" if it has none
	Bytes    int64        // the size that the entry states; 0 if it states none
	Of       dwarf.Offset // the type that it names, qualifies, points to or consists of; 0: void or none
	Encoding int64        // of a base type: DWARF 5, section 7.8; 0 for any other type
	Calling  int64        // the calling convention of a class: DWARF 5, section 7.16; 0: none stated
	Declared bool         // the entry is a declaration: another one may define the type

	tree      *Tree        // nil: it has no other data than the above
	signature dwarf.Offset // the definition to which a signature refers; 0: none
	children  bool
	actual    *Type    // see Tree.Type; nil until first used
	members   []Member // nil until first used
	counts    []int64  // nil until first used
	size      int64    // negative until first used
}

// maxTypeChain bounds chains of typedefs and qualifiers, and the nesting of types.
const maxTypeChain = 64

// TypeAt returns the type whose entry is at an offset, which may be a typedef, a qualified type or
// a declaration; nil if there is none.
func (t *Tree) TypeAt(off dwarf.Offset) *Type {
	if x := t.types[off]; x != nil {
		return x
	}
	e := t.Entry(off)
	if e == nil {
		return nil
	}
	x := &Type{
		Offset: e.Offset, Tag: e.Tag, Name: Name(e), Bytes: Number(e, dwarf.AttrByteSize), Of: TypeOf(e),
		Encoding: Number(e, dwarf.AttrEncoding), Calling: Number(e, dwarf.AttrCalling), Declared: Flag(e, dwarf.AttrDeclaration),
		tree: t, signature: Reference(e, dwarf.AttrSignature), children: e.Children, size: -1,
	}
	t.types[off] = x
	return x
}

// Type returns the type at an offset without typedefs and qualifiers, with its definition; nil if
// there is none.
func (t *Tree) Type(off dwarf.Offset) *Type {
	x := t.TypeAt(off)
	if x == nil {
		return nil
	}
	if x.actual != nil {
		return x.actual
	}
	actual := x.Unqualified().Complete()
	if t.Budget >= 0 {
		x.actual = actual
	}
	return actual
}

// Size returns the size of the type at an offset, in bytes; 0 if it is not known.
func (t *Tree) Size(off dwarf.Offset) int64 { return t.Type(off).Size() }

// IsName reports whether the type is a typedef or a qualified type.
func (x *Type) IsName() bool {
	switch x.Tag {
	case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
		return true
	}
	return false
}

// IsPointer reports whether the values of the type are addresses: those of pointers and references.
func (x *Type) IsPointer() bool {
	return x.Tag == dwarf.TagPointerType || x.Tag == dwarf.TagReferenceType || x.Tag == dwarf.TagRvalueReferenceType
}

// IsStructure reports whether the type has members: a structure, a class or a union.
func (x *Type) IsStructure() bool {
	return x.Tag == dwarf.TagStructType || x.Tag == dwarf.TagClassType || x.Tag == dwarf.TagUnionType
}

// Unqualified follows typedefs and qualifiers to the underlying type; nil if there is none.
func (x *Type) Unqualified() *Type {
	for range maxTypeChain {
		if x == nil || !x.IsName() {
			return x
		}
		x = x.tree.TypeAt(x.Of)
	}
	return nil
}

// Complete returns the type that defines a type which x only declares; x itself if there is none.
func (x *Type) Complete() *Type {
	if x == nil {
		return nil
	}
	// The signature refers to the definition. gcc does not always mark such an entry as a
	// declaration.
	if x.signature != 0 {
		if full := x.tree.TypeAt(x.signature); full != nil {
			return full
		}
	}
	if x.Declared && x.tree.Definition != nil {
		if full := x.tree.TypeAt(x.tree.Definition(x)); full != nil {
			return full
		}
	}
	return x
}

// Member is a member of each instance of a structure, or a base class.
type Member struct {
	Name string       // "" for a base class, or an anonymous structure or union
	Type dwarf.Offset // 0: unknown
	Base bool         // a base class
	// Known reports whether the position is the same in each instance. That of a virtual base class
	// is not.
	Known bool
	// InBits reports that the entry states the position as a number of bits.
	InBits bool
	Start  int64 // bytes from the structure's beginning
	Bits   int64 // size of a bit field, at most 64; 0 for any other member
	Bit    int64 // the first bit, counted from the structure's beginning
}

// MaxOffset bounds offsets within a variable, and sizes, in bytes.
const MaxOffset = 1 << 40

// Members returns the members and base classes of a structure. The slice must not be changed.
func (x *Type) Members() []Member {
	if x.members != nil || !x.children || !x.IsStructure() {
		return x.members
	}
	ms := []Member{}
	x.tree.Children(x.Offset, func(c *dwarf.Entry) bool {
		static := Flag(c, dwarf.AttrExternal) || Flag(c, dwarf.AttrDeclaration)
		if c.Tag == dwarf.TagInheritance || c.Tag == dwarf.TagMember && !static {
			ms = append(ms, x.tree.member(c))
		}
		return true
	})
	if x.tree.Budget >= 0 {
		x.members = ms
	}
	return ms
}

// member returns a member with its position: DWARF 5, section 5.7.6, and DWARF 3, 5.5.6, for bit
// fields that count from the highest bit of a storage unit.
func (t *Tree) member(e *dwarf.Entry) Member {
	m := Member{Type: TypeOf(e), Base: e.Tag == dwarf.TagInheritance, Known: true}
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
	m.InBits = e.AttrField(dwarf.AttrDataBitOffset) != nil
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

// Storage is where a bit field lies: in Size bytes at At, from bit Bit on, counted from the lowest.
type Storage struct{ At, Size, Bit int64 }

// StorageOf returns the smallest aligned storage of 1, 2, 4 or 8 bytes that holds a bit field whose
// first bit is the one with the given number, counted from base; if there is none, any 8 bytes. ok
// is false if the bit field lies across more than 8 bytes.
func StorageOf(base, bit, bits int64) (s Storage, ok bool) {
	first, low := base+bit/8, bit%8
	for _, size := range []int64{1, 2, 4, 8} {
		at := first &^ (size - 1)
		if off := 8*(first-at) + low; off+bits <= 8*size {
			return Storage{at, size, off}, true
		}
	}
	return Storage{first, 8, low}, low+bits <= 64
}

// maxDimensions bounds the dimensions of an array.
const maxDimensions = 16

// Counts returns the number of elements in each dimension of an array, outermost first; negative
// where it is not known. The slice must not be changed.
func (x *Type) Counts() []int64 {
	if x.counts != nil || !x.children {
		return x.counts
	}
	counts := []int64{}
	x.tree.Children(x.Offset, func(c *dwarf.Entry) bool {
		if c.Tag != dwarf.TagSubrangeType {
			return true
		}
		n := int64(-1)
		if count, ok := c.Val(dwarf.AttrCount).(int64); ok {
			n = count
		} else if upper, ok := c.Val(dwarf.AttrUpperBound).(int64); ok {
			n = upper - Number(c, dwarf.AttrLowerBound) + 1
		}
		counts = append(counts, min(n, MaxOffset))
		return len(counts) < maxDimensions
	})
	if x.tree.Budget >= 0 {
		x.counts = counts
	}
	return counts
}

// Size returns the size of the type in bytes; 0 if it is not known, or x is nil.
func (x *Type) Size() int64 {
	if x == nil {
		return 0
	}
	if x.tree != nil && x.size >= 0 {
		return x.size
	}
	n := x.sizeOf(0)
	if x.tree != nil && x.tree.Budget >= 0 {
		x.size = n
	}
	return n
}

func (x *Type) sizeOf(depth int) int64 {
	switch {
	case x == nil || depth > maxTypeChain/4:
		return 0
	case x.Bytes > 0:
		return min(x.Bytes, MaxOffset)
	case x.IsPointer():
		return 8
	case x.Tag != dwarf.TagArrayType:
		return 0
	}
	n := x.tree.Type(x.Of).sizeOf(depth + 1)
	for _, count := range x.Counts() {
		if count = max(count, 0); count > 0 && n > MaxOffset/count {
			return MaxOffset
		}
		n *= count
	}
	return n
}
