package monitor

import (
	"github.com/tracepredict/tracepredict/analysis/monitor/decision"
)

// Determinise returns the smallest deterministic monitor of the same bad words, by subset
// construction. A subset with a bad state is bad. The error is a *SizeError.
func (a *Automaton) Determinise(o Options) (*Deterministic, error) {
	table := decision.New(room(o.limit()))
	s := newSets()
	union := table.Operation(s.union)
	full := func() bool { return table.Full() || s.size > room(o.limit()) }
	bad := func(subset uint32) bool {
		for _, state := range s.elements[subset] {
			if a.states[state].Bad {
				return true
			}
		}
		return false
	}
	edges := make([]decision.Node, len(a.states))
	for i, state := range a.states {
		edges[i] = table.Leaf(noElements)
		for _, e := range state.Edges {
			to := s.of([]uint32{uint32(e.To)})
			edges[i] = union.Apply(edges[i], table.Cube(e.Guard.True, e.Guard.False, to, noElements))
		}
		if full() {
			return nil, &SizeError{Limit: o.limit()}
		}
	}
	x, ok := explore(table, s.of([]uint32{0}), func(subset uint32) decision.Node {
		if bad(subset) {
			return table.Leaf(subset)
		}
		n := table.Leaf(noElements)
		for _, state := range s.elements[subset] {
			n = union.Apply(n, edges[state])
		}
		return n
	}, full, o.limit())
	if !ok {
		return nil, &SizeError{Limit: o.limit()}
	}
	return x.draft(table, bad).finish(minimisationWork), nil
}
