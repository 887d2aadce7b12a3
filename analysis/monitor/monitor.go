// Package monitor turns properties of runs into automata that read a run
// letter by letter. A monitor enters a bad state exactly when what it has read
// violates the property, and never leaves it. It knows propositions by number
// alone: bit i of a letter tells whether proposition i holds.
//
// Temporal logic and extended regular expressions become a Deterministic; a
// non-deterministic Automaton is taken as it is given. All of them are
// complete when made and never change after, so that any number of goroutines
// may step one monitor. What reads words needs no more than the interface
// Monitor, which other formalisms can satisfy too.
package monitor

import "fmt"

// State is a state of a monitor. States are numbered densely from 0.
type State = uint32

// Letter is one state of the run: bit i tells whether proposition i holds.
type Letter = uint64

// Monitor reads words. It may be non-deterministic; then it is in a set of
// states, and the word is bad when one of them is.
type Monitor interface {
	// Start appends the states before the first letter.
	Start(into []State) []State
	// Step appends the states after letter l from a state; none means that the
	// run of the automaton that was there ends, which is no violation.
	Step(into []State, from State, l Letter) []State
	// Bad reports whether a state is a violation. A bad state is never left.
	Bad(s State) bool
}

// DefaultLimit is how many states a monitor may have if the options do not
// say.
const DefaultLimit = 100_000

// SizeError tells that a monitor would have more states than the limit.
type SizeError struct {
	Limit int
	// Part is what made it grow: an *ltl.Formula or an *ere.Regexp, the very
	// part of what was given; nil if no part can be blamed.
	Part fmt.Stringer
}

// Error names the limit and the part.
func (e *SizeError) Error() string {
	if e.Part == nil {
		return fmt.Sprintf("the monitor would have more than %d states", e.Limit)
	}
	return fmt.Sprintf("the monitor would have more than %d states, because of %v", e.Limit, e.Part)
}
