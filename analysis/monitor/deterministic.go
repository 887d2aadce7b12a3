package monitor

import (
	"math/bits"

	"github.com/tracepredict/tracepredict/analysis/monitor/decision"
)

// Deterministic is a complete deterministic automaton with at most one bad state. State 0 is
// the initial one, and the others are numbered in the order of a breadth-first search. The
// edges of a state are a decision diagram over the propositions. If the propositions are few,
// there is also a table of the edges of all states, by state and letter.
type Deterministic struct {
	choices []choice // the inner nodes of all diagrams
	roots   []ref    // by state: the root of its diagram
	bad     State    // the bad state; noState if there is none
	minimal bool
	mask    uint64 // the propositions that some edge depends on

	shift uint8   // number of the table's lowest proposition
	width uint8   // number of the table's propositions
	table []State // the next state, by state and letter; empty without a table
}

// ref is a node of a diagram: the index of a choice or, with the bit isState, a state.
type ref = uint32

const (
	isState ref   = 1 << 31
	noState State = 1<<31 - 1
)

// choice is an inner node of a diagram: low is where the proposition does not hold, high where
// it does.
type choice struct {
	low, high   ref
	proposition uint8
}

// Start appends the state before the first letter.
func (d *Deterministic) Start(into []State) []State { return append(into, 0) }

// Step appends the one state after letter l.
func (d *Deterministic) Step(into []State, from State, l Letter) []State {
	return append(into, d.next(from, l))
}

// next returns the state after letter l. It allocates nothing.
func (d *Deterministic) next(from State, l Letter) State {
	if len(d.table) > 0 {
		return d.table[uint64(from)<<d.width|l>>d.shift&(1<<d.width-1)]
	}
	at := d.roots[from]
	for at&isState == 0 {
		c := &d.choices[at]
		if l>>c.proposition&1 == 1 {
			at = c.high
		} else {
			at = c.low
		}
	}
	return at &^ isState
}

// Bad reports whether s is the bad state.
func (d *Deterministic) Bad(s State) bool { return s == d.bad }

// States returns the number of states, the bad one included.
func (d *Deterministic) States() int { return len(d.roots) }

// Choices returns the number of inner nodes of the decision diagrams.
func (d *Deterministic) Choices() int { return len(d.choices) }

// ViolatedAtOnce reports whether every word is bad, by its first letter at the
// latest.
func (d *Deterministic) ViolatedAtOnce() bool {
	return d.Bad(0) || d.roots[0] == isState|d.bad
}

// tableEntries bounds the number of entries of a monitor's table. A larger table is less likely
// than the diagrams to stay in the processor's caches.
const tableEntries = 1 << 16

// tabulate makes the table if the propositions have adjacent numbers and are few.
func (d *Deterministic) tabulate() {
	if d.mask == 0 {
		return
	}
	shift := bits.TrailingZeros64(d.mask)
	width := bits.Len64(d.mask) - shift
	if width > 16 || len(d.roots)<<width > tableEntries {
		return
	}
	table := make([]State, len(d.roots)<<width)
	for i := range table {
		table[i] = d.next(State(i>>width), Letter(i&(1<<width-1))<<shift)
	}
	d.table, d.shift, d.width = table, uint8(shift), uint8(width)
}

// draft is an automaton under construction. State 0 is the initial one. The edges of a state
// are a diagram whose leaves are states.
type draft struct {
	table *decision.Table // of the diagrams
	roots []decision.Node // by state: the root of its diagram
	bad   []bool          // by state
}

// finish returns the automaton, minimised if that visits no more than work nodes and states.
func (d *draft) finish(work int) *Deterministic {
	m := newMinimiser(d)
	minimal := m.refine(work)
	result := m.quotient(d)
	result.minimal = minimal
	result.tabulate()
	return result
}
