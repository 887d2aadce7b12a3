package lattice

// State is a state of a monitor: dense, from 0.
type State = uint32

// Letter is what a monitor reads: bit i says that proposition i holds.
type Letter = uint64

// Monitor is a non-deterministic automaton over letters. The bad states are
// absorbing: a run that reaches one violates the property, whatever follows.
//
// It reads the initial state of the program first, so that the states of a run that
// has just begun are those that Step gives for Start and the initial letter.
type Monitor interface {
	// Start appends the states before the first letter.
	Start(into []State) []State
	// Step appends the states that follow from one state by a letter: none where
	// the automaton is stuck (a dead run, which violates nothing). It may append a
	// state twice.
	Step(into []State, from State, l Letter) []State
	// Bad reports whether a state is bad.
	Bad(s State) bool
}

// Counted is a Monitor that tells how many states it has, the bad ones included. Few of
// them make all quicker.
type Counted interface {
	Monitor
	States() int
}

// Labels returns the letter of an edge of the lattice: of the values that the variables
// have at the cut where the edge ends, and of the declared events that the event of
// the edge is (bit i: event i; 0 for the initial letter). It has no other input: equal
// arguments give equal letters. It keeps nothing of values. Several cores may ask at once.
type Labels interface {
	Letter(values []uint64, events uint64) Letter
}
