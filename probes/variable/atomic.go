package variable

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"slices"

	bin "github.com/tracepredict/tracepredict/probes/binary"
)

// MaxAtomicTyped bounds what AtomicTyped gives, but for the members of the last
// variable: tables of structures would have tens of thousands.
const MaxAtomicTyped = 1 << 12

// AtomicTyped gives the variables of a file whose type says that their accesses
// synchronise (C's _Atomic, std::atomic, Rust's Atomic types), as its debug
// information describes them, and members of structures whose type does: of 1, 2, 4
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
	seeker := atomicSeeker{x: x, known: map[dwarf.Offset][][]part{}}
	for _, v := range x.all(func([]component) bool { return true }) {
		if v.storage != inMemory {
			continue
		}
		if len(vars) >= MaxAtomicTyped {
			break
		}
		for _, path := range seeker.paths(v.typ, v.typUnit) {
			c := candidate{file: f, found: &v, parts: 1}
			q := query{parts: append([]part{{}}, path...)}
			if got, err := c.variable(q); err == nil && got.Atomic {
				vars = append(vars, fd.copied(got))
			}
		}
	}
	slices.SortStableFunc(vars, func(a, b Variable) int { return cmp.Compare(a.Addr, b.Addr) })
	return slices.CompactFunc(vars, func(a, b Variable) bool { return a.Addr == b.Addr }), nil
}

// atomicSeeker finds the atomic members of types.
type atomicSeeker struct {
	x     *index
	known map[dwarf.Offset][][]part // of structures: the paths to their atomic members
}

// Bounds of the atomic members of one type.
const (
	maxAtomicMembers = 64
	maxAtomicDepth   = 8
)

// paths gives what is atomic of a variable of a type: an empty path if it is the
// variable, the paths to its members if it is a structure. Elements of arrays are
// no part of it: their accesses go through an index.
func (a *atomicSeeker) paths(typ dwarf.Offset, u *unit) [][]part {
	switch t := a.x.typeOf(typ, u); {
	case t.bad == "" && t.atomic:
		return [][]part{nil}
	case t.bad == "":
		return nil
	}
	return a.members(typ, u, 0)
}

func (a *atomicSeeker) members(typ dwarf.Offset, u *unit, depth int) [][]part {
	e := a.x.complete(a.x.bare(a.x.typeEntry(typ)))
	if e == nil || e.Tag != dwarf.TagStructType && e.Tag != dwarf.TagClassType || depth > maxAtomicDepth {
		return nil
	}
	if out, ok := a.known[e.Offset]; ok {
		return out
	}
	a.known[e.Offset] = nil // before the members: one that has itself is damaged
	var out [][]part
	a.x.members(e, func(f field) bool {
		typ, ok := f.entry.Val(dwarf.AttrType).(dwarf.Offset)
		if ok && f.known && f.bits == 0 {
			out = append(out, a.member(text(f.entry, dwarf.AttrName), typ, u, depth)...)
		}
		return len(out) < maxAtomicMembers
	})
	a.known[e.Offset] = out[:min(len(out), maxAtomicMembers)]
	return a.known[e.Offset]
}

// member gives the paths that begin with a member; without a name, as a base class
// has none, what is in it is named as if it were outside.
func (a *atomicSeeker) member(name string, typ dwarf.Offset, u *unit, depth int) (out [][]part) {
	inner := [][]part{nil}
	if t := a.x.typeOf(typ, u); t.bad != "" {
		inner = a.members(typ, u, depth+1)
	} else if !t.atomic {
		return nil
	}
	for _, path := range inner {
		if name != "" {
			path = append([]part{{sep: ".", name: name}}, path...)
		}
		out = append(out, path)
	}
	return out
}
