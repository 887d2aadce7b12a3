// Package monitor turns properties of runs into automata that read a run
// letter by letter. A monitor enters a bad state exactly when the word read so far violates
// the property, and never leaves it. Propositions are numbers: bit i of a letter is set if
// proposition i holds.
//
// Temporal logic and extended regular expressions become a Deterministic; a
// non-deterministic Automaton is used as the user wrote it. Monitors are never changed once
// made, so that any number of goroutines may step one monitor. Readers of words need only
// the interface Monitor, which other formalisms can implement too.
package monitor

import "fmt"

// State is a state of a monitor. States are numbered densely from 0.
type State = uint32

// Letter is one state of the run: bit i is set if proposition i holds.
type Letter = uint64

// Monitor reads words. It may be non-deterministic; then it is in a set of
// states, and the word is bad when one of them is.
type Monitor interface {
	// Start appends the states before the first letter.
	Start(into []State) []State
	// Step appends the states after letter l from a state. If there are none, the run of the
	// automaton ends, which is no violation.
	Step(into []State, from State, l Letter) []State
	// Bad reports whether a state is a violation. A bad state is never left.
	Bad(s State) bool
}

// DefaultLimit is the number of states that a monitor may have if Options.Limit is 0.
const DefaultLimit = 100_000

// SizeError reports that a monitor would have more states than the limit.
type SizeError struct {
	Limit int
	// Part is the part that makes the monitor too large: an *ltl.Formula or an
	// *ere.Regexp, a pointer into the caller's tree; nil if no part alone does.
	Part fmt.Stringer
}

// Error names the limit and the part.
func (e *SizeError) Error() string {
	if e.Part == nil {
		return fmt.Sprintf("the monitor would have more than %d states", e.Limit)
	}
	return fmt.Sprintf("the monitor would have more than %d states, because of %v", e.Limit, e.Part)
}
