package finding

import "github.com/tracepredict/tracepredict/observer/event"

// LockOrderEdge is one or several lock-order edges: a lock that is requested while other locks are
// held. Analyses pass it to each other while the program runs.
type LockOrderEdge struct {
	ID        int    // unique among the edges that exist at the same time
	Requested Mode   // the requested lock
	Held      []Mode // in order of lock
}

// Mode is a lock that is held or requested, and whether for reading.
type Mode struct {
	Lock   event.ObjectID
	Shared bool
}
