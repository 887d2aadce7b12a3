package variable

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"slices"
	"sort"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Arrays whose elements are selected at run time. The census records such an array as one object:
// each of its accesses, also one by a constant index, is recorded with its offset in the array, and
// the layout of the array determines which element that is. An access belongs to an array if its
// address is made from one within the array or just before it: compilers compute a[i-1] from the
// address before the first element. Such an address may lead to another object all the same, so it
// is compared at run time.

// IndexedArray is an array in static storage, or an array that is a member of a variable, whose
// elements code selects by an index at run time.
type IndexedArray struct {
	Variable Variable // its Size is that of the whole array
	Layout   *Layout  // nil where the debug information has none
	Accesses []Access // by address; each accesses Base + Index*Scale + Disp, as with Inside
}

// Layout describes the elements of an array.
type Layout struct {
	Counts []int64 // number of elements of each dimension, outermost first; -1: not known
	Stride int64   // bytes of an element of the innermost dimension
	Leaves []Leaf  // the scalars of an element, by offset
}

// Leaf is a scalar within each element of an array.
type Leaf struct {
	Path   string // ".state"; "" where the element is a scalar
	Offset int64  // from the element's beginning
	Scalar Variable
}

// Part is a part of an array that one access touches.
type Part struct {
	Offset int64 // from the array's beginning
	Size   int
	Name   string // "slots[3].state"
	Leaf   *Leaf  // nil where no scalar is known there
}

// Parts returns the parts of the array that an access of width bytes at offset touches, at most
// maxTouched: scalars that it covers partly or completely, and bytes where no scalar is known
// (unions, padding).
func (a *IndexedArray) Parts(offset int64, width int) []Part {
	var out []Part
	end := min(offset+int64(max(width, 1)), int64(a.Variable.Size))
	for at := max(offset, 0); at < end && len(out) < maxTouchedParts; {
		p := a.part(at, end)
		out = append(out, p)
		at = max(p.Offset+int64(p.Size), at+1)
	}
	return out
}

// part returns the part at an offset. End is where the access ends.
func (a *IndexedArray) part(at, end int64) Part {
	l := a.Layout
	if l == nil {
		return Part{Offset: at, Size: int(end - at), Name: fmt.Sprintf("%s+%d", a.Variable.Name, at)}
	}
	i := at / l.Stride
	begin := i * l.Stride
	name := a.Variable.Name + subscripts(l.Counts, i)
	next := begin + l.Stride
	for k := range l.Leaves {
		f := &l.Leaves[k]
		lo := begin + f.Offset
		if at < lo {
			next = lo
			break
		}
		if at < lo+int64(f.Scalar.Size) {
			return Part{Offset: lo, Size: f.Scalar.Size, Name: name + f.Path, Leaf: f}
		}
	}
	return Part{Offset: at, Size: int(min(next, end) - at), Name: fmt.Sprintf("%s+%d", name, at-begin)}
}

// subscripts returns the subscripts of element i of an array, counted in the innermost dimension.
func subscripts(counts []int64, i int64) string {
	text := ""
	for d := len(counts) - 1; d >= 0; d-- {
		n := max(counts[d], 1)
		if d == 0 {
			n = i + 1 // an index beyond the array counts in the outermost dimension
		}
		text = fmt.Sprintf("[%d]", i%n) + text
		i /= n
	}
	return text
}

// atomic reports whether an element contains a scalar of atomic type.
func (l *Layout) atomic() bool {
	return l != nil && slices.ContainsFunc(l.Leaves, func(f Leaf) bool { return f.Scalar.Atomic })
}

// indexedAccess is an access of an element that is selected at run time.
type indexedAccess struct {
	Access
	from []uint64 // known addresses from which the accessed address is computed
	made []uint64 // the instructions that made the other addresses it is computed from
}

// recordIndexed records an access that may be of any part of several objects; false if it is of a
// kind that is not followed.
func (f *flow) recordIndexed(s *state, in *insn.Inst, m *insn.Mem) bool {
	if in.Repeats > 0 || in.BitIndex != insn.NoReg || m.Size <= 0 {
		return false
	}
	p := indexedAccess{Access: Access{
		Addr: in.Addr, Len: in.Len, Kind: kindOf(m), Atomic: in.Locked, Width: m.Size,
		Base: m.Base, Index: m.Index, Scale: m.Scale, Disp: m.Disp, Func: f.fn, Value: ValueOf(kindOf(m), in), New: insn.NoReg,
	}}
	if m.Index == insn.NoReg {
		p.Scale = 0
	}
	for _, r := range []insn.Reg{m.Base, m.Index} {
		if r >= numRegs {
			continue
		}
		h := s.regs[r]
		switch {
		case h.exact() && (r == m.Base || m.Scale == 1) && f.isNear(h.addr+uint64(m.Disp)):
			p.from = append(p.from, h.addr+uint64(m.Disp))
		case h.kind == inside:
			p.made = append(p.made, h.makers...)
		}
	}
	if f.fixed && f.isNear(uint64(m.Disp)) {
		p.from = append(p.from, uint64(m.Disp))
	}
	if len(p.from)+len(p.made) == 0 {
		return false
	}
	f.target.indexedAccesses = append(f.target.indexedAccesses, p)
	return true
}

// findArrays finds the arrays that code indexes. It returns the addresses that are accessed by an
// index but belong to no array.
func (t *surveyor) findArrays(all []indexedAccess, direct []Access, span Variable) (left []uint64) {
	by := map[uint64]*IndexedArray{}
	from := make([][]uint64, len(all))
	for i, p := range all {
		from[i] = p.from
		for _, at := range p.made {
			for _, addr := range t.mentioned(at) {
				from[i] = append(from[i], addr, addr+uint64(p.Disp))
			}
		}
	}
	t.structures(direct, span)
	atomic := t.atomicArrays(all, from, direct, span)
	for i, p := range all {
		found := false
		for _, a := range t.arraysAt(from[i]) {
			if atomic[a.Variable.Addr] || a.Layout.atomic() {
				continue
			}
			if by[a.Variable.Addr] == nil {
				by[a.Variable.Addr] = a
			}
			known := by[a.Variable.Addr]
			known.Accesses, found = append(known.Accesses, p.Access), true
		}
		if !found {
			left = append(left, from[i]...)
		}
	}
	for _, a := range by {
		t.arrays = append(t.arrays, *a)
	}
	slices.SortFunc(t.arrays, func(a, b IndexedArray) int { return cmp.Compare(a.Variable.Addr, b.Variable.Addr) })
	return left
}

// maxConstantAddresses is the maximum number of distinct addresses in an array that code accesses
// by a constant index. Without debug information, an object with more is considered a structure.
const maxConstantAddresses = 8

// structures finds the objects without debug information that are considered structures, not
// arrays.
func (t *surveyor) structures(direct []Access, span Variable) {
	named := map[uint64]map[uint64]bool{}
	for _, d := range direct {
		addr := span.Addr + uint64(d.Offset)
		for _, o := range t.objectsIn(addr, addr+1) {
			if named[o.lo] == nil {
				named[o.lo] = map[uint64]bool{}
			}
			named[o.lo][addr] = true
		}
	}
	t.structured = map[uint64]bool{}
	for lo, at := range named {
		t.structured[lo] = len(at) > maxConstantAddresses
	}
}

// atomicArrays returns the arrays, by address, whose elements are accessed by atomic instructions.
// They order threads, so the census leaves them out.
func (t *surveyor) atomicArrays(all []indexedAccess, from [][]uint64, direct []Access, span Variable) map[uint64]bool {
	atomic := map[uint64]bool{}
	for _, d := range direct {
		if d.Atomic {
			if a := t.arrayAt(span.Addr + uint64(d.Offset)); a != nil {
				atomic[a.Variable.Addr] = true
			}
		}
	}
	for i, p := range all {
		if p.Atomic {
			for _, a := range t.arraysAt(from[i]) {
				atomic[a.Variable.Addr] = true
			}
		}
	}
	return atomic
}

// arrayOver returns the indexed array that contains an address; nil if there is none.
func (t *surveyor) arrayOver(addr uint64) *IndexedArray {
	i := sort.Search(len(t.arrays), func(i int) bool { return t.arrays[i].Variable.Addr+uint64(t.arrays[i].Variable.Size) > addr })
	if i == len(t.arrays) || addr < t.arrays[i].Variable.Addr {
		return nil
	}
	return &t.arrays[i]
}

// add adds to the array an access whose address is a constant of the code.
func (a *IndexedArray) add(d Access, addr uint64) {
	d.Base, d.Index, d.Scale, d.Disp, d.Offset, d.Partial, d.If = insn.NoReg, insn.NoReg, 0, int64(addr), 0, false, 0
	a.Accesses = append(a.Accesses, d)
}

// beforeArray is the maximum distance, in bytes, between an address that is computed for an array
// and the array's beginning behind it.
const beforeArray = 16

// arraysAt returns the arrays that contain the addresses, or begin just behind them.
func (t *surveyor) arraysAt(from []uint64) []*IndexedArray {
	var out []*IndexedArray
	add := func(a *IndexedArray) {
		if a != nil && !slices.ContainsFunc(out, func(b *IndexedArray) bool { return a.Variable.Addr == b.Variable.Addr }) {
			out = append(out, a)
		}
	}
	for _, addr := range from {
		for at := addr; at <= addr+beforeArray; at++ {
			if a := t.arrayAt(at); a != nil {
				add(a)
				at = a.Variable.Addr + uint64(a.Variable.Size) - 1
			}
		}
	}
	return out
}

// arrayAt returns the outermost array at an address, from the debug information. Without debug
// information, any object larger than a scalar (8 bytes) that is not considered a structure is an
// array.
func (t *surveyor) arrayAt(addr uint64) *IndexedArray {
	objects := t.objectsIn(addr, addr+1)
	if len(objects) == 0 {
		return nil
	}
	o := objects[0]
	if o.v == nil {
		if o.hi-o.lo <= 8 || t.structured[o.lo] {
			return nil
		}
		return &IndexedArray{Variable: Variable{Name: o.name, File: t.file, Addr: o.lo, Size: int(o.hi - o.lo)}}
	}
	t.index.Budget = maxTypeEntries
	m, array := t.index.arrayAt(o.v.typ, int64(addr-o.lo))
	if array == nil {
		return nil
	}
	lo := o.lo + uint64(m.start)
	a := &IndexedArray{Variable: Variable{Name: o.name + m.path, File: t.file, Addr: lo}}
	size := array.Size()
	if size <= 0 || lo+uint64(size) > o.hi {
		size = int64(o.hi - lo)
	}
	a.Variable.Size = int(size)
	if a.Layout = t.layout(array, o.v.typUnit); a.Layout == nil || size > maxArray {
		return nil
	}
	return a
}

// maxArray bounds the size of an array, in bytes: a site has 31 bits for it.
const maxArray = 1<<31 - 1

// arrayAt descends into a type as memberAt does, down to the first array; nil if there is none.
func (x *index) arrayAt(typ dwarf.Offset, at int64) (m innerScalar, array *dw.Type) {
	for range 4 * maxChain {
		t := x.TypeAt(typ).Unqualified()
		switch {
		case t == nil:
			return m, nil
		case t.Tag == dwarf.TagArrayType:
			return m, t
		case t.Tag != dwarf.TagStructType && t.Tag != dwarf.TagClassType:
			return m, nil
		}
		var ok bool
		if typ, ok = x.fieldAt(t, at, &m); !ok {
			return m, nil
		}
	}
	return m, nil
}

// elementLeaves bounds the scalars of an element that are distinguished; the rest are bytes.
const elementLeaves = 256

// layout returns the layout of an array type; nil if it is not known.
func (t *surveyor) layout(array *dw.Type, u *dw.CompileUnit) *Layout {
	stride := t.index.Size(array.Of)
	if stride <= 0 {
		return nil
	}
	l := &Layout{Counts: array.Counts(), Stride: stride}
	for at, tries := int64(0), 0; at < stride && len(l.Leaves) < elementLeaves && tries < 2*elementLeaves; tries++ {
		m, ok := t.index.memberAt(array.Of, u, at)
		if !ok {
			at++
			continue
		}
		l.Leaves = append(l.Leaves, Leaf{Path: m.path, Offset: m.start, Scalar: t.variable(leaf{size: int(m.info.size), info: m.info, ok: true})})
		at = m.start + m.info.size
	}
	return l
}
