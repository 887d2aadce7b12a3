package finding

import "github.com/tracepredict/tracepredict/observer/event"

// Nesting is a lock-order edge or several: a lock that is requested while other locks are
// held. Analyses pass it to each other while the program runs.
type Nesting struct {
	ID     int // no other nesting that exists at the same time has it
	Wanted Mode
	Held   []Mode // by lock
}

// Mode is a lock that is held or requested, and whether for reading.
type Mode struct {
	Lock   event.ObjectID
	Shared bool
}
