package variable

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"slices"
	"strings"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	bin "github.com/tracepredict/tracepredict/probes/elf"
)

// MaxAtomicTyped bounds the number of variables that AtomicTyped returns, except that the members
// of the last one are all returned: tables of structures could have tens of thousands.
const MaxAtomicTyped = 1 << 12

// AtomicTyped returns the variables of a file whose type makes accesses synchronise (C's _Atomic,
// std::atomic, Rust's Atomic types), according to the debug information. They include members of
// structures and unions of such a type. The elements of an array, or the same members of its
// elements, are one variable. All have 1, 2, 4 or 8 bytes and an address, by which they are sorted.
// Without debug information the result is empty, and there is no error. If there are more than
// MaxAtomicTyped, some are left out. Large are the names of variables with such members in arrays within
// elements of other arrays, both with more than eight elements: these are left out.
func AtomicTyped(f *bin.File) (vars []Variable, large []string, err error) {
	defer func() { // the standard library's reader of debug information can panic
		if r := recover(); r != nil {
			vars, large, err = nil, nil, fmt.Errorf("look for atomic variables of %s: the debug information is damaged: %v", f.Name(), r)
		}
	}()
	fd := newFinder([]*bin.File{f})
	x := fd.index(f)
	if x == nil {
		return nil, nil, nil
	}
	seeker := atomicSeeker{x: x, known: map[dwarf.Offset][]atomicPath{}}
	for _, v := range x.all(func([]component) bool { return true }) {
		if v.storage != inMemory {
			continue
		}
		if len(vars) >= MaxAtomicTyped {
			break
		}
		for _, path := range seeker.paths(v.typ, v.typUnit) {
			c := candidate{file: f, found: &v, parts: 1}
			got, err := c.variable(path.query())
			switch {
			case err != nil || !got.Atomic:
			case path.large:
				large = append(large, strings.ReplaceAll(got.Name, "[0]", "[]"))
			case path.spread(&got):
				vars = append(vars, fd.copied(got))
			}
		}
	}
	slices.SortStableFunc(vars, func(a, b Variable) int { return cmp.Compare(a.Addr, b.Addr) })
	return slices.CompactFunc(vars, func(a, b Variable) bool { return a.Addr == b.Addr }), large, nil
}

// atomicPath is the path from a variable to an atomic part of it. A part without a name is a
// subscript of the part before it.
type atomicPath struct {
	parts []part
	array *Array // the array that the path goes through at its first element; nil if none
	after int    // number of subscripts after those of the array
	large bool   // the path leads through two arrays with too many elements
}

// query returns the path in the form of a parsed user query.
func (p atomicPath) query() query {
	q := query{parts: []part{{}}}
	for _, x := range p.parts {
		if last := &q.parts[len(q.parts)-1]; x.name == "" {
			last.index = append(last.index, x.index...)
			continue
		}
		q.parts = append(q.parts, x)
	}
	return q
}

// spread changes the variable of the first element to that of all elements; false if the variable
// is larger than an element.
func (p atomicPath) spread(v *Variable) bool {
	if p.array == nil {
		return true
	}
	first, at := strings.Repeat("[0]", len(p.array.Dims)), len(v.Name)
	for range p.after {
		at = max(strings.LastIndexByte(v.Name[:at], '['), 0)
	}
	at = strings.LastIndex(v.Name[:at], first)
	if at < 0 || uint64(v.Size) > p.array.Stride {
		return false
	}
	v.Name, v.Array = v.Name[:at]+"[]"+v.Name[at+len(first):], p.array
	return true
}

// atomicSeeker finds the atomic members of types.
type atomicSeeker struct {
	x     *index
	known map[dwarf.Offset][]atomicPath // of structures: the paths to their atomic members
}

// Bounds of the number of atomic members of one type, of the nesting of types, and of the size of
// an array of atomic members, in bytes.
const (
	maxAtomicMembers = 64
	maxAtomicDepth   = 8
	maxAtomicArray   = 1 << 30
	// maxUnfolded bounds the elements of an array that are variables of their own, since another
	// array is within or around them. An instruction may access any of them, with a site for each.
	maxUnfolded = 8
)

// paths returns the paths to the atomic parts of a variable of a type: an empty path if the
// variable itself is atomic, paths to members and elements if it is a structure or array. Arrays
// inside the elements of another array are left out.
func (a *atomicSeeker) paths(typ dwarf.Offset, u *dw.CompileUnit) []atomicPath {
	return a.within(typ, u, 0)
}

func (a *atomicSeeker) within(typ dwarf.Offset, u *dw.CompileUnit, depth int) []atomicPath {
	switch t := a.x.typeOf(typ, u); {
	case t.refusal == "" && t.atomic:
		return []atomicPath{{}}
	case t.refusal == "" || depth > maxAtomicDepth:
		return nil
	}
	t := a.x.Type(typ)
	if t == nil {
		return nil
	}
	if t.Tag == dwarf.TagArrayType {
		return a.elements(t, u, depth)
	}
	return a.members(t, u, depth)
}

// elements returns the paths into an array.
func (a *atomicSeeker) elements(of *dw.Type, u *dw.CompileUnit, depth int) (out []atomicPath) {
	stride := a.x.Size(of.Of)
	array := &Array{Stride: uint64(max(stride, 1))}
	for _, n := range of.Counts() {
		if n <= 0 || uint64(n) > maxAtomicArray/array.Span() {
			return nil
		}
		array.Dims = append(array.Dims, uint64(n))
	}
	if stride <= 0 || len(array.Dims) == 0 {
		return nil
	}
	for _, p := range a.within(of.Of, u, depth+1) {
		out = append(out, p.inElements(array)...)
	}
	return out
}

// inElements returns the paths that lead through the elements of an array and go on as p. If p goes
// through an array itself, there is one path for each element of the smaller one of the two.
func (p atomicPath) inElements(array *Array) (out []atomicPath) {
	inner := p.array
	if inner == nil && !p.large {
		p.parts, p.array = p.below(make([]uint64, len(array.Dims))), array
		return []atomicPath{p}
	}
	zeros := make([]uint64, len(array.Dims))
	if p.large || min(array.length(), inner.length()) > maxUnfolded {
		return []atomicPath{{parts: p.below(zeros), large: true}}
	}
	if array.length() <= inner.length() {
		for i := range array.length() {
			out = append(out, atomicPath{parts: p.below(array.subscripts(i)), array: inner, after: p.after})
		}
		return out
	}
	for i := range inner.length() {
		q := atomicPath{parts: p.below(zeros), array: array}
		for _, x := range p.parts {
			q.after += len(x.index)
		}
		q.parts[1+p.arrayPart()].index = inner.subscripts(i)
		out = append(out, q)
	}
	return out
}

// below returns the parts of p after subscripts of an enclosing array.
func (p atomicPath) below(subscripts []uint64) []part {
	return append([]part{{index: subscripts}}, p.parts...)
}

// arrayPart returns the index of the part that has the subscripts of p.array.
func (p atomicPath) arrayPart() int {
	for i, after := len(p.parts)-1, 0; i >= 0; i-- {
		if len(p.parts[i].index) > 0 && after == p.after {
			return i
		}
		after += len(p.parts[i].index)
	}
	return 0
}

func (a *atomicSeeker) members(t *dw.Type, u *dw.CompileUnit, depth int) []atomicPath {
	if out, ok := a.known[t.Offset]; ok {
		return out
	}
	a.known[t.Offset] = nil // set first: a type that contains itself is damaged
	var out []atomicPath
	for _, m := range t.Members() {
		if len(out) >= maxAtomicMembers {
			break
		}
		if m.Type != 0 && m.Known && m.Bits == 0 {
			out = append(out, a.member(m.Name, m.Type, u, depth)...)
		}
	}
	a.known[t.Offset] = out[:min(len(out), maxAtomicMembers)]
	return a.known[t.Offset]
}

// member returns the paths that begin with a member. If the member has no name, as a base class,
// the paths inside it begin without one.
func (a *atomicSeeker) member(name string, typ dwarf.Offset, u *dw.CompileUnit, depth int) (out []atomicPath) {
	for _, p := range a.within(typ, u, depth+1) {
		if name != "" {
			p.parts = append([]part{{sep: ".", name: name}}, p.parts...)
		}
		out = append(out, p)
	}
	return out
}
