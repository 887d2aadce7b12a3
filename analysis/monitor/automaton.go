package monitor

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
)

// Automaton is a non-deterministic automaton that a user writes: every edge whose guard
// holds is followed. In a state without such an edge the run of the automaton ends. A bad
// state is never left, whatever its edges.
type Automaton struct {
	states []AutomatonState
}

// AutomatonState is one state of an Automaton.
type AutomatonState struct {
	Name  string
	Bad   bool
	Final bool // an accepting state: only drawings show it, it changes no verdict
	Edges []Edge
}

// Edge leads to the state with index To when its guard holds.
type Edge struct {
	Guard ere.Cube
	To    int
}

// NewAutomaton returns the automaton with these states, the first of which is the initial one.
// It returns an error if there are no states, if there are more than DefaultLimit, or if an
// edge leads to a state that does not exist.
func NewAutomaton(states []AutomatonState) (*Automaton, error) {
	switch {
	case len(states) == 0:
		return nil, fmt.Errorf("an automaton without states")
	case len(states) > DefaultLimit:
		return nil, &SizeError{Limit: DefaultLimit}
	}
	for _, s := range states {
		for _, e := range s.Edges {
			if e.To < 0 || e.To >= len(states) {
				return nil, fmt.Errorf("state %s: an edge leads to state %d of %d", s.Name, e.To, len(states))
			}
		}
	}
	return &Automaton{states}, nil
}

// States returns the states, the initial one first.
func (a *Automaton) States() []AutomatonState { return a.states }

// Start appends the initial state.
func (a *Automaton) Start(into []State) []State { return append(into, 0) }

// Step appends the states that the edges of from lead to by letter l. It may append a state
// more than once.
func (a *Automaton) Step(into []State, from State, l Letter) []State {
	s := &a.states[from]
	if s.Bad {
		return append(into, from)
	}
	for i := range s.Edges {
		if s.Edges[i].Guard.Matches(l) {
			into = append(into, State(s.Edges[i].To))
		}
	}
	return into
}

// Bad reports whether the state is marked as a violation.
func (a *Automaton) Bad(s State) bool { return a.states[s].Bad }

// Unreachable returns the states that no word leads to, in order.
func (a *Automaton) Unreachable() []int {
	reached := make([]bool, len(a.states))
	reached[0] = true
	for todo := []int{0}; len(todo) > 0; {
		s := a.states[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		for _, e := range s.Edges {
			if !s.Bad && !reached[e.To] && e.Guard.True&e.Guard.False == 0 {
				reached[e.To] = true
				todo = append(todo, e.To)
			}
		}
	}
	var missing []int
	for i, r := range reached {
		if !r {
			missing = append(missing, i)
		}
	}
	return missing
}
