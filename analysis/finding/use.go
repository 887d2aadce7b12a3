package finding

import "github.com/tracepredict/tracepredict/observer/event"

// Use is how threads used a variable.
type Use struct {
	Variable event.ObjectID
	Threads  int    // at most MaxUsers, which stands for so many or more
	Accesses uint64 // events
	Writes   uint64 // of these
	// Conflicts: some accesses of two threads, one of them a write, are ordered by
	// nothing but locks, if by anything.
	Conflicts bool
	// Guards are the locks that keep all such accesses apart, sorted.
	Guards []event.ObjectID
	// Steady is how many accesses there were since Guards last changed, Turns how
	// often another thread than before made them.
	Steady, Turns uint64
}

// MaxUsers is how many threads of one variable are told apart.
const MaxUsers = 64
