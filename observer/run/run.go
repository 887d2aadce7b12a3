// Package run is the model of one observed run: its summary, and the threads, objects and
// functions that its events name. A live session, a trace file and a report all use these
// types, so that each fact has one definition. The JSON tags of a type define its form in
// traces and reports. The package holds data. Its only judgement is which frame of a stack a
// reader looks for (OwnFrame).
package run

import (
	"slices"
	"strings"
	"time"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// RustMutex is the Member of an object without a Name that is a mutex of Rust's standard library.
const RustMutex = "std::sync::Mutex"

// RustRWLock is that of a read-write lock of that library.
const RustRWLock = "std::sync::RwLock"

// OfRust reports whether the object is a lock of Rust's standard library that has no Name.
func (o *Object) OfRust() bool { return o.Member == RustMutex || o.Member == RustRWLock }

// Object describes an object: a variable, a synchronisation object, an instance or a channel.
// The zero value of a field means that it is unknown.
type Object struct {
	// Name is the variable as in the source, with the members that lead to the object, as
	// server.lock, or with an offset, as name+0x8; "" if no symbol contains the object.
	Name string
	// Member describes an object without a Name: the type and its member, as struct job.mu,
	// the function on whose stack the object lies, RustMutex or RustRWLock. Many objects may have
	// the same Member. Of a field, whose Name is its type's, it is the variable of static storage
	// that contains it.
	Member string
	// Class is the lock class. Objects have the same class if they are the same member of a
	// type, elements of the same array, or initialised at the same location.
	Class string
	// Array is the name of the array whose element the object is, where the array is
	// watched as a whole. Traces do not record it.
	Array string
	Addr  uint64
	// TGID is the kernel's id of the process that has the object at Addr. Traces
	// record 0, for the only process.
	TGID        uint32
	Kind        event.Kind
	Init        event.StackID  // call stack of its initialisation; of a field, or with Block, that of the memory's allocation
	First       event.StackID  // call stack of its first recorded use
	FirstThread event.ThreadID // the thread of First
	// FirstAt is how many bytes the object lies behind the address that was passed to the library function
	// which has used it, if First is a call of one. Traces do not have it.
	FirstAt int64
	Block   Block       // of a variable behind a pointer: the allocated block that it lies in
	Form    *event.Form // how reports write the values of a variable; nil: as numbers
}

// OfLoader reports whether the object is the dynamic loader's own, which locks in every program.
func (o *Object) OfLoader() bool {
	file, _, inFile := strings.Cut(o.Name, "+0x")
	return strings.HasPrefix(o.Name, "_rtld_global") || inFile && libname.Loader(file)
}

// Block describes the allocated block of memory that an object lies in. The zero value means that none is known.
type Block struct {
	Size   uint64         // bytes
	Offset uint64         // of the object, from the beginning of the block
	Thread event.ThreadID // the thread that allocated it; 0: it is not known
	// Element is the size in bytes of the type that the accessing code takes the object for a member of, if the
	// block may be an array of several of these; else 0.
	Element uint64
}

// Thread describes a thread. The zero value of a field means that it is unknown.
type Thread struct {
	TID     uint32         `json:"tid"`              // the kernel's id, which may have been used again since; 0 in imported traces
	TGID    uint32         `json:"pid"`              // the kernel's id of its process
	Name    string         `json:"name"`             // the kernel's name of it when it began (see event.Named), or that of an imported trace
	Start   string         `json:"start"`            // the name of its start routine
	Main    bool           `json:"main"`             // it is the first thread of its process
	Parent  event.ThreadID `json:"parent,omitempty"` // 0 if it lived when the observation began
	Created event.StackID  `json:"-"`                // call stack in Parent that created it
	// StartAddr is the address of the start routine. Traces do not record it.
	StartAddr uint64 `json:"-"`
	// MayHoldUntil is the number of the last event up to which the thread may have held locks
	// whose acquisition was not recorded, because it lived when the observation began;
	// 0: none. Traces record it in Summary.UncertainHolders.
	MayHoldUntil uint64 `json:"-"`
}

// Summary describes a run as a whole. The first block of a trace has the fields that are
// known when it is written; the last block has all.
type Summary struct {
	Program string `json:"program"` // its path
	// LastProgram is the path of the program that the first process executed last, if that is
	// not Program, as under a wrapper; else "".
	LastProgram string        `json:"became,omitempty"`
	PID         int           `json:"pid"`
	Events      uint64        `json:"events"`       // recorded
	Lost        uint64        `json:"lost"`         // known to have been lost in the ring buffer
	LostThreads int           `json:"lost_threads"` // threads whose events were lost
	Threads     int           `json:"threads"`
	Duration    time.Duration `json:"duration_ns"`
	// Signal is the signal that ended a program which was observed from its start; nil: none did, or
	// the end was not seen.
	Signal *Signal `json:"signal,omitempty"`
	// Notes are sentences on what limits the result: synchronisation that was not
	// observed, values that contradict the order, libraries attached late.
	Notes []string `json:"notes"`
	// NoteKinds are those of Notes that a report may join with others of their kind, or puts first.
	NoteKinds []plural.Note `json:"note_kinds,omitempty"`
	// Cut reports that the trace ends before the run does. Events and Threads then count what
	// the trace has, and the other fields have the values of its first block.
	Cut bool `json:"-"`
	// Forced counts the threads that the clocks had to take to begin after earlier ones had ended.
	Forced uint64 `json:"-"`
	// Remedies are sentences on what would supply the names that are missing in the
	// findings of the live report.
	Remedies []string `json:"remedies,omitempty"`
	// Doubt is the reason why any prediction from the run may be wrong, such as
	// synchronisation that was not observed, or lost events; "" if there is none.
	Doubt string `json:"unseen,omitempty"`
	// Doubts are such reasons that concern some processes only.
	Doubts []Doubt `json:"doubts,omitempty"`
	// UnreturnedCalls is the number of calls whose return was not recorded: they may have
	// acquired locks.
	UnreturnedCalls uint64 `json:"unfollowed,omitempty"`
	// UncertainHolders are the threads that lived when the observation began and may have held
	// locks then.
	UncertainHolders []UncertainHolder `json:"unsure,omitempty"`
	// Untracked says where the ends of memory were not recorded, so that two objects in the same
	// memory, one after the other, may be taken for one.
	Untracked []Untracked `json:"lives_untracked,omitempty"`
	// Executed are the instructions and calls that may have ordered threads unobserved; only the
	// earliest ones, if there are many.
	Executed []Executed `json:"executed,omitempty"`
	// Readings say what the code of the program reads where a finding depends on it.
	Readings []Reading `json:"readings,omitempty"`
	// Processes are the observed processes, the first one first; empty if there was
	// only one.
	Processes []Process `json:"processes,omitempty"`
	// Modules are the files whose code was mapped; of a trace, only when its end has been read.
	Modules []Module `json:"modules,omitempty"`
	// Calls are the patterns of functions whose calls were to be recorded, in the order given.
	Calls []Calls `json:"calls,omitempty"`
	// Watched are the variables of --watch-shared that were accessed; Untouched counts
	// those that were not.
	Watched   []Watched `json:"watched,omitempty"`
	Untouched int       `json:"untouched,omitempty"`
	// Pointers is set if accesses through pointers were observed.
	Pointers *Pointers `json:"pointers,omitempty"`
	// NeverAccessed are the variables and fields that were watched by name and of which no
	// access was recorded, sorted.
	NeverAccessed []string `json:"never_accessed,omitempty"`
}

// Signal is a signal that ended a program.
type Signal struct {
	Number int    `json:"number"`
	Name   string `json:"name"` // as SIGSEGV; "" if the number has none
	// Requested reports that the tool had sent it, because the user asked for that.
	Requested bool `json:"requested,omitempty"`
}

// Pointers says how accesses through pointers were observed.
type Pointers struct {
	Sites int    `json:"sites"` // instructions
	Own   uint64 `json:"own"`   // accesses of words that one thread alone had used; they are no events
	Full  uint64 `json:"full"`  // accesses that had no room in the table
	// Sampled are the functions that were observed in samples, for a budget, of the number Functions.
	Sampled   []string `json:"sampled,omitempty"`
	Functions int      `json:"functions,omitempty"`
}

// AddFirst adds notes that reports put first, since they say what errors may be missed, or which
// verdicts are weaker.
func (s *Summary) AddFirst(notes ...string) {
	s.Notes = slices.Concat(s.Notes, notes)
	for _, n := range notes {
		s.NoteKinds = append(slices.Clip(s.NoteKinds), plural.First(n))
	}
}

// Renumber replaces the numbers of events in the summary by what number returns for them; 0, which is
// none, remains.
func (s *Summary) Renumber(number func(uint64) uint64) {
	renumber := func(at *uint64) {
		if *at != 0 {
			*at = number(*at)
		}
	}
	for i := range s.UncertainHolders {
		renumber(&s.UncertainHolders[i].Until)
	}
	for i := range s.Untracked {
		renumber(&s.Untracked[i].After)
	}
	for i := range s.Executed {
		renumber(&s.Executed[i].ObservedUntil)
		for j := range s.Executed[i].Hits {
			renumber(&s.Executed[i].Hits[j].Since)
			renumber(&s.Executed[i].Hits[j].Until)
			if c := s.Executed[i].Hits[j].Cause; c != nil {
				own := *c
				renumber(&own.Until)
				s.Executed[i].Hits[j].Cause = &own
			}
		}
	}
}

// Doubt is a reason why a prediction about threads of some processes may be wrong.
type Doubt struct {
	Reason    string   `json:"reason"`
	Processes []uint32 `json:"pids"` // their kernel's IDs
}

// Untracked says since when the ends of memory are not recorded in some processes.
type Untracked struct {
	After     uint64   `json:"after"`          // the last event before that; 0: never recorded
	Processes []uint32 `json:"pids,omitempty"` // their kernel's IDs; none: all
	// Lo and Hi are the addresses [Lo, Hi) that this is about, as of a library that was unloaded; both 0:
	// all but those of variables and of stacks.
	Lo uint64 `json:"lo,omitempty"`
	Hi uint64 `json:"hi,omitempty"`
}

// Reading says what the code reads that a thread executes between two consecutive events.
type Reading struct {
	From event.StackID `json:"from"`           // call stack of the first event
	To   event.StackID `json:"to"`             // of the second
	Last bool          `json:"last,omitempty"` // the thread executes nothing after the second
	// Releases is the number of releases between the two. Since and Until are the times of event.Span, with Sees
	// and Leaves.
	Releases int    `json:"releases,omitempty"`
	Since    uint64 `json:"since_ns,omitempty"`
	Until    uint64 `json:"until_ns,omitempty"`
	// Sees reports that the question is whether the code depends on nothing but what was recorded, and Leaves that it
	// is whether all that it writes was.
	Sees   bool `json:"sees,omitempty"`
	Leaves bool `json:"leaves,omitempty"`
	// Decides reports that the question is only what decides whether the thread comes to the second.
	Decides bool `json:"decides,omitempty"`
	// Passes reports that the question is whether the function of the first event, a wait on a condition,
	// notifies conditions.
	Passes bool `json:"passes,omitempty"`
	// Differs reports that the question is whether the first event, a read, is followed by another branch where
	// it reads Other instead of Seen, or Initially what the variable has when the program begins; Why is "" if it
	// is.
	Differs   bool   `json:"differs,omitempty"`
	Initially bool   `json:"initially,omitempty"`
	Seen      uint64 `json:"seen,omitempty"`
	Other     uint64 `json:"other,omitempty"`
	// Branches reports that the question is whether a branch, or an address, may depend on what the first event, a read,
	// has read; Why is "" if one may.
	Branches bool `json:"branches,omitempty"`
	// Detour, if it is set, is the question, in place of all other fields, and Course the answer.
	Detour *event.Detour `json:"detour,omitempty"`
	Course event.Course  `json:"course,omitempty"`
	// Why says what it reads that another thread may have written, or was not recorded; "" if there is nothing.
	Why string `json:"why,omitempty"`
}

// UncertainHolder is a thread that may have held locks whose acquisition was not recorded.
type UncertainHolder struct {
	Thread event.ThreadID `json:"thread"`
	Until  uint64         `json:"until"` // the last event up to which it may have held them
}

// Process is an observed process.
type Process struct {
	PID     int    `json:"pid"`
	Program string `json:"program"` // path of the program that it executed last
	// Command is the command line of that program, with words quoted as for a shell; "" if it is not known.
	Command string `json:"command,omitempty"`
}

// Module is the code of a program or library, where a process had it.
type Module struct {
	Path    string `json:"path"`               // as in frames
	Lo      uint64 `json:"lo"`                 // first address
	Hi      uint64 `json:"hi"`                 // the address after the last
	Offset  uint64 `json:"offset"`             // of Lo in the file, in bytes
	BuildID string `json:"build_id,omitempty"` // in lower-case hex; "": the file has none
}

// Executed is an instruction or call that synchronises in a way that was not observed, and
// was executed while it could order threads.
type Executed struct {
	Number      uint64 `json:"-"`     // its number in records; 0 if it was read from a trace
	Description string `json:"place"` // for example "atomic instruction in push at queue.c:12"
	// Waits reports that it only waits for what other threads do: it orders what its thread does
	// later after what others did, and nothing else.
	Waits bool `json:"waits,omitempty"`
	// Hits are the first executions by each thread, in order, since there were several
	// threads: the only thread of a process orders nothing. If it Waits, they are all executions.
	Hits []Hit `json:"hits,omitempty"`
	// ObservedUntil is the number of the first event after which executions were no longer
	// observed, so that any thread may have executed it; 0: it was observed to the end.
	ObservedUntil uint64 `json:"left,omitempty"`
	// Processes are the kernel's IDs of the processes that have the code; empty: unknown. Code of
	// one process orders no threads of another.
	Processes []uint32 `json:"pids,omitempty"`
}

// Threads returns the threads that were observed to execute it, in the order of their first hits.
func (e *Executed) Threads() []event.ThreadID {
	ids := make([]event.ThreadID, 0, len(e.Hits))
	for _, h := range e.Hits {
		if !slices.Contains(ids, h.Thread) {
			ids = append(ids, h.Thread)
		}
	}
	return ids
}

// First leaves only the first hit of each thread, which may have executed it again at any time.
func (e *Executed) First() {
	seen := map[event.ThreadID]bool{}
	e.Hits = slices.DeleteFunc(e.Hits, func(h Hit) bool {
		again := seen[h.Thread]
		seen[h.Thread] = true
		return again
	})
	for i := range e.Hits {
		e.Hits[i].Until = 0
	}
}

// Hit is an execution of an Executed by a thread. It happened before the thread's
// events with numbers from Since on, and after its earlier events.
type Hit struct {
	Thread event.ThreadID `json:"thread"`
	Since  uint64         `json:"since"`
	// Until is the number of the last event, of any thread, that may have happened before it. 0: that
	// is not known, or the thread may have executed it again at any time.
	Until uint64 `json:"until,omitempty"`
	// Locked reports that the thread held a lock then.
	Locked bool `json:"-"`
	// Cause is what another thread did that probably let the thread go on; nil: not known.
	Cause *Cause `json:"cause,omitempty"`
}

// Cause is a system call of a thread that probably let another thread go on, which waited.
type Cause struct {
	Thread event.ThreadID `json:"thread"`
	Until  uint64         `json:"until"` // the last event, of any thread, that may have happened before it
	Call   uint32         `json:"-"`     // number of the system call; 0 if it was read from a trace
	Name   string         `json:"call"`  // its name, as write(2)
	// Asked reports that the call changed what the other thread asked for; otherwise it woke that thread.
	Asked bool `json:"asked,omitempty"`
}

// Calls counts the events of the functions that match a pattern.
type Calls struct {
	Pattern string `json:"pattern"`          // as given: "call queue_put"
	Return  bool   `json:"return,omitempty"` // the events are returns
	Events  uint64 `json:"events"`
	Objects uint64 `json:"objects"` // number of instances on which the functions were called
}

// Watched is a variable that --watch-shared chose and that was accessed.
type Watched struct {
	Variable string   `json:"variable"`
	Use      string   `json:"use"` // one of Use…
	Threads  int      `json:"threads"`
	Accesses uint64   `json:"accesses"` // the accesses that probes saw
	Recorded uint64   `json:"recorded"` // the accesses that became events
	Guards   []string `json:"guards"`   // locks that are held at all its conflicting accesses; never nil
	// Elements is the number of elements that are known to have been accessed, for an array
	// whose elements are selected by an index; 0 for another variable. Each element is
	// a variable by itself: Threads is that of the element with the most threads, Use
	// that of the element with the weakest protection, Guards (at most 8) those of all.
	Elements uint64 `json:"elements,omitempty"`
	Outcome  string `json:"fate"` // one of Outcome…
	// Until is the time from the start of the program to the removal of the probes; 0 if
	// they were kept.
	Until time.Duration `json:"until_ns,omitempty"`
	// Unwatched is where the variable was not watched any more from then on: "in fill at queue.c:58".
	// Elsewhere its probes stayed, since they had seen little. At most 8, sorted.
	Unwatched []string `json:"unwatched,omitempty"`
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
	Threads  int    // number of threads; MaxUsers means that many or more
	Accesses uint64 // number of access events
	Writes   uint64 // number of these that are writes
	// Conflicts reports that two threads made conflicting accesses that only locks, or
	// nothing, order.
	Conflicts bool
	// Guards are the locks that were held at all conflicting accesses, sorted.
	Guards []event.ObjectID
	// StableAccesses is the number of accesses since Guards last changed. ThreadSwitches is the
	// number of these that were made by another thread than the previous access.
	StableAccesses, ThreadSwitches uint64
}

// MaxUsers bounds the threads that are distinguished for one variable.
const MaxUsers = 64

// The outcomes of the probes of a variable: whether and why they were removed.
const (
	OutcomeKept     = "kept"     // to the end
	OutcomeUnshared = "unshared" // removed: one thread alone used it
	OutcomeGuarded  = "guarded"  // removed: it was always under the same lock
	OutcomeEnough   = "enough"   // removed: the largest number of accesses recorded for one array was reached
	OutcomeCostly   = "costly"   // removed: its accesses cost more than --budget permits
)

// Bounds describes how much of a run the race analyses and the predictions kept, and how
// much they discarded to bound their memory.
type Bounds struct {
	Sections        int    `json:"sections"`           // critical sections kept for each lock and thread, about
	Events          int    `json:"events"`             // largest number of events kept
	EvictedSections uint64 `json:"sections_forgotten"` // critical sections that were discarded
	EvictedEvents   uint64 `json:"events_forgotten"`   // events that were discarded, in critical sections or not
	EvictedAccesses uint64 `json:"accesses_forgotten"` // last accesses that the lockset analysis discarded
	DroppedPairs    uint64 `json:"races_dropped"`      // races beyond those kept for each variable, and in all when memory was full
	// Unsettled counts the candidates for which the budget was spent before all
	// schedules with critical sections in another order had been searched.
	Unsettled uint64 `json:"candidates_unsettled"`
	// NotAsked counts the candidates for races for which not all pairs of threads were tried, or
	// none, and those for deadlocks that were not tried, because there were too many.
	NotAsked uint64 `json:"candidates_not_asked"`
	// NotSearched counts the candidates whose schedules were not all searched because the time for the analysis
	// was over, and CutShortBy says why it was: a flag or a signal.
	NotSearched uint64 `json:"candidates_not_searched,omitempty"`
	CutShortBy  string `json:"cut_short_by,omitempty"`
	// MemoryFull counts how often memory was full, so that the oldest of what was kept was discarded.
	MemoryFull int `json:"memory_full,omitempty"`
	// EvictedVariables and EvictedLocks count those whose earlier events were discarded when memory was full, once for
	// each time. What is known of them begins anew at their next event, which comes after all that was discarded.
	EvictedVariables uint64 `json:"variables_forgotten,omitempty"`
	EvictedLocks     uint64 `json:"locks_forgotten,omitempty"`
	// EvictedObjects counts the semaphores, conditions, barriers, onces and channels, and EvictedThreads the ended
	// threads that were not joined, of which the same is true.
	EvictedObjects uint64 `json:"objects_forgotten,omitempty"`
	EvictedThreads uint64 `json:"threads_forgotten,omitempty"`
	// EvictedFindings counts the findings that were discarded in the end, since there was no memory for more.
	EvictedFindings uint64 `json:"findings_forgotten,omitempty"`
}

// ThreadState is the state of a thread of a live process at one moment.
type ThreadState struct {
	Thread event.ThreadID
	Name   string // the kernel's name of it at that moment; "" if it could not be read
	// Stopped reports that a signal or a debugger has stopped the thread. Otherwise a thread
	// without Op and Call runs.
	Stopped bool
	Call    string // the system call in which it sleeps, as read(2); "" if it does not sleep
	// Op is the operation that it attempts by that call: Acquire, AcquireRead, Wait, SemWait,
	// BarrierArrive or Join; None if it is unknown.
	Op      event.Op
	Object  event.ObjectID
	Peer    event.ThreadID   // the thread whose end it waits for
	Timed   bool             // its wait has a time limit
	Stack   event.StackID    // its call stack; 0 if unknown
	By      []event.ThreadID // the known threads that it waits for: holders of the lock, or for a reader waiting writers
	Ended   bool             // the thread that held the lock has ended
	Readers int              // number of unknown threads that hold the lock for reading
}
