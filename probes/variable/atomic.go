package variable

import (
	"cmp"
	"fmt"
	"slices"

	bin "github.com/tracepredict/tracepredict/probes/binary"
)

// AtomicTyped gives the variables of a file whose type says that their accesses
// synchronise (C's _Atomic, std::atomic, Rust's Atomic types), as its debug
// information describes them: of 1, 2, 4 or 8 bytes, with an address, sorted by
// it. Without debug information there are none, and no error.
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
	for _, v := range x.all(func([]component) bool { return true }) {
		if v.storage != inMemory || !x.mayBeAtomic(&v) {
			continue
		}
		c := candidate{file: f, found: &v}
		if got, err := c.variable(query{}); err == nil && got.Atomic {
			vars = append(vars, fd.copied(got))
		}
	}
	slices.SortStableFunc(vars, func(a, b Variable) int { return cmp.Compare(a.Addr, b.Addr) })
	return slices.CompactFunc(vars, func(a, b Variable) bool { return a.Addr == b.Addr }), nil
}

// mayBeAtomic looks at a variable's type without describing it whole.
func (x *index) mayBeAtomic(v *found) bool {
	t := x.typeOf(v.typ, v.typUnit)
	return t.bad == "" && t.atomic
}
