package part

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Known answers questions about the program, from its code, its names and its memory. It is set when the run has ended. A
// question whose function is nil has no answer.
type Known struct {
	// DecidesNothing reports whether the code which a thread executed between two consecutive events, at these call
	// stacks, comes from the first to the second whatever other threads have written. Without it, no candidate that
	// depends on this becomes a finding.
	DecidesNothing func(from, to event.StackID) bool
	// Differs reports whether the code that made a read, at a call stack, certainly takes another branch where it reads
	// another value than the one that it has seen: other or, if initially, the value which the variable has when the
	// program begins. Course answers a Detour. Without them, no schedule is used in which a read of data sees another
	// value.
	Differs func(read event.StackID, seen, other uint64, initially bool) bool
	Course  func(event.Detour) event.Course
	// Elsewhere reports whether two waits on conditions are at different places of the program's code, and
	// PassesNothingOn whether the code of a wait, if it is woken for something else, can only wait again. Without them, no
	// signal is assumed to be lost because another thread takes it.
	Elsewhere       func(a, b event.StackID) bool
	PassesNothingOn func(wait event.StackID) bool
	// AtomicWait reports whether the load of an atomic variable at a call stack is one of a wait until the variable has
	// another value, or one that finds out whether there are such threads, to notify them. Without it, no store is assumed
	// to lack a notification.
	AtomicWait func(load event.StackID) (waits, notifies bool)
	// Static reports whether an object lies in static memory.
	Static func(event.ObjectID) bool
	// Unseen reports whether the threads of a finding may have synchronised without a record.
	Unseen func(*finding.Finding) bool
	// Block returns the addresses, from lo to hi, of the allocated memory that an object lies in; 0 and 0 if it is not
	// known, or not allocated.
	Block func(event.ObjectID) (lo, hi uint64)
	// Named reports whether an object has a name or a type. Races on such objects are searched for before those on other
	// memory.
	Named func(event.ObjectID) bool
}
