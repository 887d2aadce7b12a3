package monitor

import (
	"math/bits"

	"github.com/tracepredict/tracepredict/analysis/monitor/decision"
)

// Deterministic is a complete deterministic automaton with at most one bad
// state. State 0 is the initial one, the others are numbered in the order of a breadth-first
// search. The edges of a state are a decision diagram over the
// propositions; where these are few, all diagrams are also one table, looked
// up by state and letter.
type Deterministic struct {
	choices []choice
	roots   []ref // by state
	bad     State // or noState
	minimal bool
	mask    uint64 // the propositions that some step depends on

	shift uint8   // of the table's lowest proposition
	width uint8   // propositions of the table
	table []State // empty if there is none
}

// ref is the target of a step: a choice or, with isState, a state.
type ref = uint32

const (
	isState ref   = 1 << 31
	noState State = 1<<31 - 1
)

type choice struct {
	low, high   ref
	proposition uint8
}

// Start appends the state before the first letter.
func (d *Deterministic) Start(into []State) []State { return append(into, 0) }

// Step appends the one state after letter l.
func (d *Deterministic) Step(into []State, from State, l Letter) []State {
	return append(into, d.Next(from, l))
}

// Next returns the state after letter l. It allocates nothing.
func (d *Deterministic) Next(from State, l Letter) State {
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

// Minimal reports whether no automaton with fewer states reads the same words
// as bad. It is false only for monitors so large that the time was bounded.
func (d *Deterministic) Minimal() bool { return d.minimal }

// Propositions returns the propositions that a step may look at, bit i for
// proposition i.
func (d *Deterministic) Propositions() uint64 { return d.mask }

// CanBeViolated reports whether some word is bad.
func (d *Deterministic) CanBeViolated() bool { return d.bad != noState }

// ViolatedAtOnce reports whether every word is bad, by its first letter at the
// latest.
func (d *Deterministic) ViolatedAtOnce() bool {
	return d.Bad(0) || d.roots[0] == isState|d.bad
}

// tableEntries bounds the table of a monitor: diagrams are more likely to stay in the
// processor's caches than a larger table.
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
		table[i] = d.Next(State(i>>width), Letter(i&(1<<width-1))<<shift)
	}
	d.table, d.shift, d.width = table, uint8(shift), uint8(width)
}

// draft is an automaton under construction: the edges of each state are a
// diagram whose leaves are states.
type draft struct {
	table   *decision.Table
	roots   []decision.Node
	bad     []bool
	initial State
}

// finish returns the automaton, minimal if that takes no more than work steps.
func (d *draft) finish(work int) *Deterministic {
	m := newMinimiser(d)
	minimal := m.refine(work)
	result := m.quotient(d)
	result.minimal = minimal
	result.tabulate()
	return result
}
