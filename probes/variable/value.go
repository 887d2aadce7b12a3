package variable

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
)

// The value of a register, or of a word of the function's own stack, as far as it concerns the
// watched variable. The addresses that matter are those near the object that encloses the variable:
// inside it, or so close to it that arithmetic may lead into it. The lattice, from the top:
//
//	unreached    no path to here has been found yet
//	known c      on every path, the value is c
//	framed k     on every path, the value is the stack pointer at the function's entry plus k
//	maybe c      on some path the value is c, near the object; on others nothing near it
//	inside       on some path the value is an address near the object plus an unknown
//	             value; on the others anything, unless sure is set
//	unknown      anything, but nothing made from an address near the object
//
// So an access through a value that may be the variable's address is not missed. It is marked for a
// comparison at run time.

type valueKind uint8

const (
	unreached valueKind = iota
	known
	framed
	maybe
	inside
	unknown
)

// value is the abstract value of a register or stack word.
type value struct {
	kind valueKind
	addr uint64 // the value, for known, maybe and, as a signed number, framed
	// makers are the addresses, sorted, of the instructions that makers the address near the
	// object; empty for other values.
	makers  []uint64
	certain bool // for inside: on every path
}

// points reports whether the value is, or may be, an address made from one near the
// object.
func (h value) points() bool { return len(h.makers) > 0 }

// exact reports whether the value, if it is an address near the object, equals h.addr.
func (h value) exact() bool { return h.kind == known || h.kind == maybe }

// weaken returns the value that remains if another path may have another value.
func (h value) weaken() value {
	switch {
	case !h.points():
		return value{kind: unknown}
	case h.kind == known:
		h.kind = maybe
	}
	h.certain = false
	return h
}

// alwaysPoints reports whether the value is an address made from one near the object on every path.
func (h value) alwaysPoints() bool { return h.points() && (h.kind == known || h.certain) }

// join returns the value where two paths join.
func join(a, b value) value {
	switch {
	case a.kind == unreached:
		return b
	case b.kind == unreached:
		return a
	case (a.kind == known || a.kind == framed) && a.kind == b.kind && a.addr == b.addr:
		a.makers = union(a.makers, b.makers)
		return a
	}
	sure := a.alwaysPoints() && b.alwaysPoints()
	a, b = a.weaken(), b.weaken()
	switch {
	case a.kind == unknown:
		return b
	case b.kind == unknown:
		return a
	case a.kind == maybe && b.kind == maybe && a.addr == b.addr:
		a.makers = union(a.makers, b.makers)
		return a
	}
	return value{kind: inside, makers: union(a.makers, b.makers), certain: sure}
}

// unchangedBy reports whether a join of h with o leaves h unchanged for certain. That is so for
// most joins, and the test is cheap.
func (h *value) unchangedBy(o *value) bool {
	if len(h.makers)+len(o.makers) > 0 {
		return false
	}
	switch h.kind {
	case unknown:
		return h.addr == 0
	case known, framed:
		return h.kind == o.kind && h.addr == o.addr
	}
	return false
}

// maxMade bounds the number of instructions recorded as makers of one address, since each may cost
// the flow one more iteration. Those at the highest addresses are dropped.
const maxMade = 8

func union(a, b []uint64) []uint64 {
	if len(b) == 0 || slices.Equal(a, b) {
		return a
	}
	u := slices.Concat(a, b)
	slices.Sort(u)
	u = slices.Compact(u)
	return u[:min(len(u), maxMade)]
}

// same reports whether two values are equal.
func (h value) same(o value) bool {
	return h.kind == o.kind && h.addr == o.addr && h.certain == o.certain && slices.Equal(h.makers, o.makers)
}

// numRegs is the number of general registers that the flow follows.
const numRegs = 32

// state is the abstract state at one instruction.
type state struct {
	regs [numRegs]value
	// slots are the words of the stack that point near the object, by their offset from the stack
	// pointer at the function's entry.
	slots code.Frame[value]
}

func (s *state) reached() bool { return s.regs[0].kind != unreached }

func nothing() (s state) {
	for r := range s.regs {
		s.regs[r].kind = unknown
	}
	return s
}

// join joins the state of another path into s, and reports whether s changed.
func (s *state) join(from *state) (changed bool) {
	if !s.reached() {
		*s = *from
		return true
	}
	for r := range s.regs {
		if s.regs[r].unchangedBy(&from.regs[r]) {
			continue
		}
		if h := join(s.regs[r], from.regs[r]); !h.same(s.regs[r]) {
			s.regs[r], changed = h, true
		}
	}
	return s.slots.Join(from.slots, joinSlots, value.same) || changed
}

// joinSlots joins a word of the stack of two paths. A word that is missing on one of them may be
// anything there.
func joinSlots(a, b *value) (value, bool) {
	switch {
	case a == nil:
		return b.weaken(), true
	case b == nil:
		return a.weaken(), true
	}
	return join(*a, *b), true
}

// points reports whether anything in the state points near the object.
func (s *state) points() bool {
	for r := range s.regs {
		if s.regs[r].points() {
			return true
		}
	}
	return len(s.slots) > 0
}

// slotAt returns the value of the eight bytes of the stack at an offset.
func (s *state) slotAt(at int64) value {
	if h, ok := s.slots.Get(at); ok {
		return h
	}
	return value{kind: unknown}
}
