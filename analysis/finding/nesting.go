package finding

import "github.com/tracepredict/tracepredict/observer/event"

// Nesting is what threads want while they hold other locks, for analyses that tell
// each other of it while the program runs.
type Nesting struct {
	ID     int // of two at a time no other has it
	Wanted Mode
	Held   []Mode // by lock
}

// Mode is a lock held or wanted, and whether for reading.
type Mode struct {
	Lock   event.ObjectID
	Shared bool
}
