package lattice

// State is a state of a monitor: dense, from 0.
type State = uint32

// Letter is the input of a step of a monitor: bit i is set if proposition i holds.
type Letter = uint64

// Monitor is a non-deterministic automaton over letters. The bad states are
// absorbing: a run that reaches one violates the property, whatever follows.
//
// It reads the initial state of the program first: the states of a run that has just begun are
// those that follow from the states of Start by the initial letter.
type Monitor interface {
	// Start appends the states before the first letter.
	Start(into []State) []State
	// Step appends the states that follow from one state by a letter. If it appends none, the
	// run of the automaton ends there, and violates nothing. It may append a state twice.
	Step(into []State, from State, l Letter) []State
	// Bad reports whether a state is bad.
	Bad(s State) bool
}

// Counted is a Monitor with a known number of states, the bad ones included. If there are at
// most 31, sets of states are bit masks, which is faster.
type Counted interface {
	Monitor
	States() int
}

// Labels computes the letter of an edge of the lattice from the values that the variables
// have at the cut where the edge ends, and from the declared events that the event of
// the edge is (bit i: event i; 0 for the initial letter). It depends on nothing else, so that
// its results can be cached. It does not keep values. It may be called concurrently.
type Labels interface {
	Letter(values []uint64, events uint64) Letter
}
