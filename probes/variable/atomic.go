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

// MaxAtomicTyped bounds what AtomicTyped returns, but for the members of the last
// variable: tables of structures would have tens of thousands.
const MaxAtomicTyped = 1 << 12

// AtomicTyped returns the variables of a file whose type says that their accesses
// synchronise (C's _Atomic, std::atomic, Rust's Atomic types), as its debug
// information describes them, members of structures and unions whose type does, and
// as one variable those that are elements of an array, or in them: of 1, 2, 4
// or 8 bytes, with an address, sorted by it. Without debug information there are
// none, and no error; of more than MaxAtomicTyped, not all.
func AtomicTyped(f *bin.File) (vars []Variable, err error) {
	defer func() { // the standard library's reader of debug information can panic
		if r := recover(); r != nil {
			vars, err = nil, fmt.Errorf("look for atomic variables of %s: the debug information is damaged: %v", f.Name(), r)
		}
	}()
	fd := NewFinder([]*bin.File{f})
	x := fd.index(f)
	if x == nil {
		return nil, nil
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
			if got, err := c.variable(path.query()); err == nil && got.Atomic && path.spread(&got) {
				vars = append(vars, fd.copied(got))
			}
		}
	}
	slices.SortStableFunc(vars, func(a, b Variable) int { return cmp.Compare(a.Addr, b.Addr) })
	return slices.CompactFunc(vars, func(a, b Variable) bool { return a.Addr == b.Addr }), nil
}

// atomicPath leads to what is atomic of a variable. A part without a name is a
// subscript of what is before it.
type atomicPath struct {
	parts []part
	array *Array // that it goes through, by its first element; nil if none
}

// query is the path in the form that a user's would have.
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

// spread makes the first element's variable that of all elements; false if the
// elements leave no room for it.
func (p atomicPath) spread(v *Variable) bool {
	if p.array == nil {
		return true
	}
	first := strings.Repeat("[0]", len(p.array.Dims))
	at := strings.LastIndex(v.Name, first)
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

// Bounds of the atomic members of one type, and of an array of them, in bytes.
const (
	maxAtomicMembers = 64
	maxAtomicDepth   = 8
	maxAtomicArray   = 1 << 30
)

// paths returns what is atomic of a variable of a type: an empty path if it is the
// variable, the paths to its members and elements if it is a structure or array. An
// array in an element of another is no part of it.
func (a *atomicSeeker) paths(typ dwarf.Offset, u *unit) []atomicPath { return a.within(typ, u, 0) }

func (a *atomicSeeker) within(typ dwarf.Offset, u *unit, depth int) []atomicPath {
	switch t := a.x.typeOf(typ, u); {
	case t.bad == "" && t.atomic:
		return []atomicPath{{}}
	case t.bad == "" || depth > maxAtomicDepth:
		return nil
	}
	e := a.x.Type(typ)
	if e == nil {
		return nil
	}
	if e.Tag == dwarf.TagArrayType {
		return a.elements(e, u, depth)
	}
	return a.members(e, u, depth)
}

// elements returns the paths into an array.
func (a *atomicSeeker) elements(e *dwarf.Entry, u *unit, depth int) (out []atomicPath) {
	typ := dw.TypeOf(e)
	stride := a.x.Size(typ)
	array := &Array{Stride: uint64(max(stride, 1))}
	for _, n := range a.x.Counts(e) {
		if n <= 0 || uint64(n) > maxAtomicArray/array.Span() {
			return nil
		}
		array.Dims = append(array.Dims, uint64(n))
	}
	if stride <= 0 || len(array.Dims) == 0 {
		return nil
	}
	for _, p := range a.within(typ, u, depth+1) {
		if p.array == nil {
			subscript := part{index: make([]uint64, len(array.Dims))}
			out = append(out, atomicPath{parts: append([]part{subscript}, p.parts...), array: array})
		}
	}
	return out
}

func (a *atomicSeeker) members(e *dwarf.Entry, u *unit, depth int) []atomicPath {
	if out, ok := a.known[e.Offset]; ok {
		return out
	}
	a.known[e.Offset] = nil // before the members: one that has itself is damaged
	var out []atomicPath
	a.x.Members(e, func(f dw.Member) bool {
		if f.Type != 0 && f.Known && f.Bits == 0 {
			out = append(out, a.member(f.Name, f.Type, u, depth)...)
		}
		return len(out) < maxAtomicMembers
	})
	a.known[e.Offset] = out[:min(len(out), maxAtomicMembers)]
	return a.known[e.Offset]
}

// member returns the paths that begin with a member; without a name, as a base class
// has none, what is in it is named as if it were outside.
func (a *atomicSeeker) member(name string, typ dwarf.Offset, u *unit, depth int) (out []atomicPath) {
	for _, p := range a.within(typ, u, depth+1) {
		if name != "" {
			p.parts = append([]part{{sep: ".", name: name}}, p.parts...)
		}
		out = append(out, p)
	}
	return out
}
