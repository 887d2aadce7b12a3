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

type certainty uint8

const (
	unreached certainty = iota
	known
	framed
	maybe
	inside
	unknown
)

// held is the abstract value of a register or stack word.
type held struct {
	how  certainty
	addr uint64 // the value, for known, maybe and, as a signed number, framed
	// made are the addresses, sorted, of the instructions that made the address near the object;
	// empty for other values.
	made []uint64
	sure bool // for inside: on every path
}

// points reports whether the value is, or may be, an address made from one near the
// object.
func (h held) points() bool { return len(h.made) > 0 }

// exact reports whether the value, if it is an address near the object, equals h.addr.
func (h held) exact() bool { return h.how == known || h.how == maybe }

// weaken returns the value that remains if another path may have another value.
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

// leads reports whether the value is an address made from one near the object on every path.
func (h held) leads() bool { return h.points() && (h.how == known || h.sure) }

// join returns the value where two paths join.
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

// stays reports whether a join of h with o leaves h unchanged for certain. That is so for most
// joins, and the test is cheap.
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
func (h held) same(o held) bool {
	return h.how == o.how && h.addr == o.addr && h.sure == o.sure && slices.Equal(h.made, o.made)
}

// numRegs is the number of general registers that the flow follows.
const numRegs = 32

// state is the abstract state at one instruction.
type state struct {
	regs [numRegs]held
	// slots are the words of the stack that point near the object, by their offset from the stack
	// pointer at the function's entry.
	slots code.Frame[held]
}

func (s *state) reached() bool { return s.regs[0].how != unreached }

func nothing() (s state) {
	for r := range s.regs {
		s.regs[r].how = unknown
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
		if s.regs[r].stays(&from.regs[r]) {
			continue
		}
		if h := join(s.regs[r], from.regs[r]); !h.same(s.regs[r]) {
			s.regs[r], changed = h, true
		}
	}
	return s.slots.Join(from.slots, joinSlots, held.same) || changed
}

// joinSlots joins a word of the stack of two paths. A word that is missing on one of them may be
// anything there.
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

// slotAt returns the value of the eight bytes of the stack at an offset.
func (s *state) slotAt(at int64) held {
	if h, ok := s.slots.Get(at); ok {
		return h
	}
	return held{how: unknown}
}
