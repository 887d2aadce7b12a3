package variable

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
)

// What a register, or a word of the function's own stack, holds, as far as it
// concerns the watched variable. The addresses that matter are those near the
// object that encloses it: inside, or so near beside it that arithmetic may
// lead in. The lattice, from the top:
//
//	unreached    no path is known yet
//	known c      on every path, it holds c
//	framed k     on every path, the stack pointer at the function's entry plus k
//	maybe c      on some path it holds c, near the object; on others nothing near it
//	inside       on some path it holds an address made from one near the object by
//	             adding what is not known; on others anything, unless sure
//	unknown      anything, but nothing made from an address near the object
//
// So an access through what may hold the variable's address is not lost, but is
// marked for a comparison at run time.

type certainty uint8

const (
	unreached certainty = iota
	known
	framed
	maybe
	inside
	unknown
)

// held is what a register holds.
type held struct {
	how  certainty
	addr uint64 // of known, maybe and, as a signed number, framed
	// made are the instructions that made the address near the object, sorted:
	// none of other values.
	made []uint64
	sure bool // of inside: on every path
}

// points reports whether the value is, or may be, an address made from one near the
// object.
func (h held) points() bool { return len(h.made) > 0 }

// exact reports whether the value, if it is such an address, is h.addr.
func (h held) exact() bool { return h.how == known || h.how == maybe }

// weaken returns what is left of a value where another path may have another.
func (h held) weaken() held {
	switch {
	case !h.points():
		return held{how: unknown}
	case h.how == known:
		h.how = maybe
	}
	h.sure = false
	return h
}

// leads reports whether the value certainly is an address made from one near the object.
func (h held) leads() bool { return h.points() && (h.how == known || h.sure) }

// join returns what is known where two paths join.
func join(a, b held) held {
	switch {
	case a.how == unreached:
		return b
	case b.how == unreached:
		return a
	case (a.how == known || a.how == framed) && a.how == b.how && a.addr == b.addr:
		a.made = union(a.made, b.made)
		return a
	}
	sure := a.leads() && b.leads()
	a, b = a.weaken(), b.weaken()
	switch {
	case a.how == unknown:
		return b
	case b.how == unknown:
		return a
	case a.how == maybe && b.how == maybe && a.addr == b.addr:
		a.made = union(a.made, b.made)
		return a
	}
	return held{how: inside, made: union(a.made, b.made), sure: sure}
}

// stays reports whether a join with another value certainly changes nothing. That is so
// of most joins, and quickly found.
func (h *held) stays(o *held) bool {
	if len(h.made)+len(o.made) > 0 {
		return false
	}
	switch h.how {
	case unknown:
		return h.addr == 0
	case known, framed:
		return h.how == o.how && h.addr == o.addr
	}
	return false
}

// maxMade bounds how many instructions are kept that made one address: the flow may go
// round once more for each. Those at the highest addresses are dropped.
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
func (h held) same(o held) bool {
	return h.how == o.how && h.addr == o.addr && h.sure == o.sure && slices.Equal(h.made, o.made)
}

// numRegs is the number of general registers that the flow follows.
const numRegs = 32

// state is what is known at one place of the code.
type state struct {
	regs [numRegs]held
	// slots are the words of the stack that point near the object, by their distance
	// from the stack pointer at the function's entry.
	slots code.Frame[held]
}

func (s *state) reached() bool { return s.regs[0].how != unreached }

func nothing() (s state) {
	for r := range s.regs {
		s.regs[r].how = unknown
	}
	return s
}

// join takes the state of another path in, and reports whether that changed it.
func (s *state) join(from *state) (changed bool) {
	if !s.reached() {
		*s = *from
		return true
	}
	for r := range s.regs {
		if s.regs[r].stays(&from.regs[r]) {
			continue
		}
		if h := join(s.regs[r], from.regs[r]); !h.same(s.regs[r]) {
			s.regs[r], changed = h, true
		}
	}
	return s.slots.Join(from.slots, joinSlots, held.same) || changed
}

// joinSlots joins what two paths have in a word of the stack: what one of them does not
// know may be anything.
func joinSlots(a, b *held) (held, bool) {
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

// slotAt returns what is known of the eight bytes of the stack at an offset.
func (s *state) slotAt(at int64) held {
	if h, ok := s.slots.Get(at); ok {
		return h
	}
	return held{how: unknown}
}
