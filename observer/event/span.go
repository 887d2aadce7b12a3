package event

// Span is the code that a thread executed between two events, at these call stacks. Of what it executes between
// the two, only Releases are events.
type Span struct {
	From StackID
	To   StackID // 0: the next event, whichever it is, as releases have no call stacks
	// Last reports that the thread executes nothing after the second event.
	Last bool
	// Releases is the number of releases of locks between the two.
	Releases int
	// Since and Until are the times of the two events (CLOCK_MONOTONIC, ns). Code that was executed several times
	// is one Span, from the first time to the last.
	Since, Until uint64
}
