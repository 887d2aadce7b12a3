// Package run is the model of one observed run: what is known of it as a whole,
// and of the threads, objects and functions that its events name. A live session,
// a trace file and a report all use these types, so that each fact has one
// definition. Where a type has JSON tags, these are the form in which traces and
// reports print it. The package holds data and decides nothing.
package run

import (
	"time"

	"github.com/tracepredict/tracepredict/observer/event"
)

// Object is what is known of an object. The zero value of a field means that it is
// unknown.
type Object struct {
	// Name is the variable as in the source, with the members that lead to the
	// object, as server.lock, or with an offset, as name+0x8; "" if no symbol holds
	// it.
	Name string
	// Member is the type's member that an object without a Name is, as struct job.mu,
	// or the function on whose stack it lies. Many objects may have the same.
	Member string
	// Class is what the object has in common with others: the member of the type that
	// declares it, the array that it is an element of, or where they were initialised.
	Class string
	// Array is the name of the array whose element the object is, where the array is
	// watched as a whole. Traces do not record it.
	Array string
	Addr  uint64
	// TGID is the kernel's id of the process that has the object at Addr. Traces
	// record 0, for the only process.
	TGID        uint32
	Kind        event.Kind
	Init        event.StackID  // where it was initialised
	First       event.StackID  // where it was first seen
	FirstThread event.ThreadID // the thread that First belongs to
	Form        *event.Form    // how the values of a variable are written; nil: as numbers
}

// Thread is what is known of a thread. The zero value of a field means that it is
// unknown.
type Thread struct {
	TID     uint32         `json:"tid"`              // the kernel's id, which may have been used again since; 0 in imported traces
	TGID    uint32         `json:"pid"`              // the kernel's id of its process
	Name    string         `json:"name"`             // the kernel's name of it, or that of an imported trace
	Start   string         `json:"start"`            // the name of its start routine
	Main    bool           `json:"main"`             // it is the first thread of its process
	Parent  event.ThreadID `json:"parent,omitempty"` // 0 if it lived when the observation began
	Created event.StackID  `json:"-"`                // where Parent created it
	// StartAddr is the address of the start routine. Traces do not record it.
	StartAddr uint64 `json:"-"`
	// Unsure is the number of the last event up to which the thread may have held locks
	// that nobody saw it acquire: it lived when the observation began. Traces record it
	// in Summary.Unsure.
	Unsure uint64 `json:"-"`
}

// Summary is what is known of a run as a whole. The first block of a trace has as
// much of it as is known then; the last block has all of it.
type Summary struct {
	Program string `json:"program"` // its path
	// Became is the path of what the first process executed last, where that is not
	// Program, as under a wrapper; "" where it is.
	Became   string        `json:"became,omitempty"`
	PID      int           `json:"pid"`
	Events   uint64        `json:"events"`       // recorded
	Lost     uint64        `json:"lost"`         // known to have been lost in the ring buffer
	Holed    int           `json:"lost_threads"` // threads whose events were lost
	Threads  int           `json:"threads"`
	Duration time.Duration `json:"duration_ns"`
	// Notes are sentences on what limits the result: synchronisation that was not
	// observed, values that contradict the order, libraries attached late.
	Notes []string `json:"notes"`
	// Cut reports that the trace ends before the run does, so that all of this but
	// Program and PID was derived from the events. Duration is then unknown.
	Cut bool `json:"-"`
	// Remedies are sentences on what would have supplied the names that the findings
	// of the live report lacked.
	Remedies []string `json:"remedies,omitempty"`
	// Unseen is the reason why any prediction from the run may be wrong, as
	// synchronisation that was not observed, or lost events; "" if there is none.
	Unseen string `json:"unseen,omitempty"`
	// Unfollowed counts calls whose return was not seen: locks may have been acquired
	// by them.
	Unfollowed uint64 `json:"unfollowed,omitempty"`
	// Unsure are the threads that lived when the observation began and may have held
	// locks then.
	Unsure []Unsure `json:"unsure,omitempty"`
	// Executed are the places in code that may have ordered threads unobserved; the
	// earliest ones, if they are many.
	Executed []Executed `json:"executed,omitempty"`
	// Processes are the observed processes, the first one first; empty if there was
	// only one.
	Processes []Process `json:"processes,omitempty"`
	// Calls are the patterns whose events were asked for, in the order given.
	Calls []Calls `json:"calls,omitempty"`
	// Watched are the variables of --watch-shared that were accessed; Untouched counts
	// those that were not.
	Watched   []Watched `json:"watched,omitempty"`
	Untouched int       `json:"untouched,omitempty"`
}

// Unsure is a thread that may have held locks that nobody saw it acquire.
type Unsure struct {
	Thread event.ThreadID `json:"thread"`
	Until  uint64         `json:"until"` // the last event up to which it may have held them
}

// Process is an observed process.
type Process struct {
	PID     int    `json:"pid"`
	Program string `json:"program"` // path of what it executed last
}

// Executed is a place in code that synchronises in a way that was not observed, and
// was executed when it could order threads.
type Executed struct {
	Number uint64 `json:"-"`     // of the place in records; 0 where it was read from a trace
	Place  string `json:"place"` // "atomic instruction in push at queue.c:12"
	// Hits are the first visits of each thread, in order, from when there were several
	// threads: what one thread does alone orders nothing.
	Hits []Hit `json:"hits,omitempty"`
	// Left is the number of the first event from which on the place was not observed any
	// more, so that any thread may have been there; 0: it was observed to the end.
	Left uint64 `json:"left,omitempty"`
}

// Threads returns the threads that were seen at the place, in order.
func (e *Executed) Threads() []event.ThreadID {
	ids := make([]event.ThreadID, len(e.Hits))
	for i, h := range e.Hits {
		ids[i] = h.Thread
	}
	return ids
}

// Hit is the first visit of a thread to a place: before the event with number Since,
// and after all earlier events of the thread.
type Hit struct {
	Thread event.ThreadID `json:"thread"`
	Since  uint64         `json:"since"`
}

// Calls counts the events that a pattern asked for.
type Calls struct {
	Pattern string `json:"pattern"`          // as given: "call queue_put"
	Return  bool   `json:"return,omitempty"` // it asks for returns
	Events  uint64 `json:"events"`
	Objects uint64 `json:"objects"` // instances that these were on
}

// Watched is a variable that --watch-shared chose and that was accessed.
type Watched struct {
	Variable string   `json:"variable"`
	Use      string   `json:"use"` // one of Use…
	Threads  int      `json:"threads"`
	Accesses uint64   `json:"accesses"` // that probes saw
	Recorded uint64   `json:"recorded"` // the accesses that became events
	Guards   []string `json:"guards"`   // locks that are held at all its conflicting accesses; never nil
	// Elements, of an array whose elements code selects by an index, is how many
	// elements are known to have been accessed; 0 of another variable. Each element is
	// a variable by itself: Threads is that of the element with the most threads, Use
	// that of the element with the weakest protection, Guards (at most 8) those of all.
	Elements uint64 `json:"elements,omitempty"`
	Fate     string `json:"fate"` // one of Fate…
	// Until is when the probes were removed, since the program was started; 0 if they
	// were kept.
	Until time.Duration `json:"until_ns,omitempty"`
}

// How threads use a variable.
const (
	UseUnshared  = "unshared"  // one thread alone
	UseReadOnly  = "read-only" // several threads read it, none writes
	UseGuarded   = "guarded"   // several threads, under a common lock
	UseOrdered   = "ordered"   // several threads, ordered by fork, join or messages
	UseUnguarded = "unguarded" // several threads, and nothing observed orders all of their accesses
	UseAtomic    = "atomic"    // it synchronises threads
)

// Use is how threads used a variable so far.
type Use struct {
	Variable event.ObjectID
	Threads  int    // at most MaxUsers, which stands for so many or more
	Accesses uint64 // events
	Writes   uint64 // of the accesses, the writes
	// Conflicts reports that accesses of two threads, one of them a write, are ordered by
	// nothing but locks, if by anything.
	Conflicts bool
	// Guards are the locks that are held at all such accesses, sorted.
	Guards []event.ObjectID
	// Steady is the number of accesses since Guards last changed, Turns the number of
	// those that another thread made than the one before.
	Steady, Turns uint64
}

// MaxUsers is how many threads of one variable are told apart.
const MaxUsers = 64

// What became of the probes of a variable.
const (
	FateKept     = "kept"     // to the end
	FateUnshared = "unshared" // removed: one thread alone used it
	FateGuarded  = "guarded"  // removed: it was always under the same lock
	FateEnough   = "enough"   // removed: as many accesses of the array were recorded as are of one
)

// Bounds is how much of a run the race analyses and the predictions kept, and what
// they discarded to bound their memory.
type Bounds struct {
	Sections int    `json:"sections"`           // critical sections kept for each lock and thread, about
	Events   int    `json:"events"`             // kept in all, at most
	Thinned  uint64 `json:"sections_forgotten"` // critical sections that were discarded
	Evicted  uint64 `json:"events_forgotten"`   // events that were discarded, in critical sections or not
	Accesses uint64 `json:"accesses_forgotten"` // last accesses that the lockset analysis discarded
	Pairs    uint64 `json:"races_dropped"`      // races beyond those kept of a variable
	// Unsettled counts the candidates for which the budget was spent before all
	// schedules in which critical sections change places had been searched.
	Unsettled uint64 `json:"candidates_unsettled"`
}

// Seen is what a thread of a live process was found at.
type Seen struct {
	Thread event.ThreadID
	// Stopped reports that a signal or a debugger stopped it. Otherwise a thread without
	// Op and Call runs.
	Stopped bool
	Call    string // the system call that it sleeps in, as read(2); "" if it does not
	// Op is what it attempts in that: Acquire, AcquireRead, Wait, SemWait, BarrierArrive
	// or Join; None if that is not known.
	Op      event.Op
	Object  event.ObjectID
	Peer    event.ThreadID // the thread whose end it waits for
	Timed   bool           // it gives up after a time limit
	Place   event.StackID
	By      []event.ThreadID // who holds what it waits for, as far as that is known
	Ended   bool             // the thread that held it has ended
	Readers int              // how many threads hold the lock for reading, where it is not known which
}
