// Package reason has the reasons why a finding is less certain than its evidence looks, and why a candidate is no
// finding: as data, which says what it is, and of which threads, objects and places. It takes the identifiers of the event
// model, knows no names, and makes no sentences: package report does.
package reason

import "github.com/tracepredict/tracepredict/observer/event"

// Reason is one reason. The zero value is that there is none. Which fields a reason has besides What depends on What.
type Reason struct {
	What    What
	Thread  event.ThreadID   // whose doing it is
	Other   event.ThreadID   // another thread on which it depends
	Threads []event.ThreadID // several such threads, instead of Thread
	Others  bool             // there may be more than Threads
	Object  event.ObjectID
	Stack   event.StackID // where the thread did it
	Count   uint64
	Length  int    // of the longest cycles that were looked for, in threads
	Call    string // of Other: what it did, as the summary of the run names it
	// Words are what is known as text only: a description of the summary of the run, what is known of the program's code,
	// an error, or the name of a variable.
	Words string
	Of    *Reason // the reason for this one
}

// What is what a reason says.
type What string

// Noted returns what the summary of a run says as a reason; none if it says nothing.
func Noted(words string) Reason {
	if words == "" {
		return Reason{}
	}
	return Reason{What: InSummary, Words: words}
}

// Given reports whether there is a reason.
func (r Reason) Given() bool { return r.What != "" }

// String returns what the reason says in short, for tests and logs.
func (r Reason) String() string {
	text := string(r.What)
	if r.Words != "" {
		text += ": " + r.Words
	}
	if r.Of != nil {
		text += ": " + r.Of.String()
	}
	return text
}

// Refutes reports whether the reason says that no schedule leads to the error, which presumes that the run was recorded
// completely.
func (r Reason) Refutes() bool {
	switch r.What {
	case Inclusion, NoReordering, Exhausted, Ordered, Unreleased:
		return true
	}
	return false
}

// Remember adds the threads and objects that the reason speaks of to n, so that their names are kept.
func (r *Reason) Remember(n *event.Names) {
	n.AddThread(r.Thread)
	n.AddThread(r.Other)
	for _, t := range r.Threads {
		n.AddThread(t)
	}
	n.AddObject(r.Object)
	n.AddStack(r.Stack)
	if r.Of != nil {
		r.Of.Remember(n)
	}
}

// Why no schedule is shown that leads to the error. Searches answer so.
const (
	Evicted         What = "evicted"          // an event that it needs was evicted
	Unreleased      What = "unreleased"       // it needs a release that the run does not have
	Inclusion       What = "inclusion"        // no schedule that keeps the order of critical sections leads there
	OnlyTrylocks    What = "only-trylocks"    // no request blocks
	NoCycle         What = "no-cycle"         // the threads do not wait for each other
	NoReordering    What = "no-reordering"    // no schedule with the same reads leads there
	Exhausted       What = "exhausted"        // as Inclusion, and the budget was spent before all others were tried
	Ordered         What = "ordered"          // one side comes before another in every schedule with the same reads
	NoConflict      What = "no-conflict"      // the accesses do not conflict
	UnseenEvent     What = "unseen-event"     // the checker refuses the schedule, since something was not seen: Words
	ToolError       What = "tool-error"       // the checker refuses the schedule, which is an error of tracepredict: Words
	UnexplainedRead What = "unexplained-read" // it needs something that the record contradicts
	OneThread       What = "one-thread"       // the sides are of one thread
	NotSearched     What = "not-searched"     // the time was over
	NobodyStuck     What = "nobody-stuck"     // the threads go on in the schedule
	NoSearch        What = "no-search"        // there is no search for this kind of finding
	NotShown        What = "not-shown"        // an observed race has no schedule: Of
	NotWhole        What = "not-whole"        // no schedule was found, but the record is not whole: Of
	Learned         What = "learned"          // the protocol was learned from runs, and nobody has confirmed it
	NoWitness       What = "no-witness"       // no schedule of a property could be made: Words
)

// Why it is not known which code a schedule leaves out or moves, or what was recorded of it. They are Of SectionsUnknown.
const (
	NotKept    What = "not-kept"    // not all of it was kept
	BeforePost What = "before-post" // it may be what comes before a post
	TooMuch    What = "too-much"    // it is too much
	OtherWrite What = "other-write" // Thread reads what another thread wrote than in the run
	Unplaced   What = "unplaced"    // it is not known where Thread made accesses
	Overtaken  What = "overtaken"   // Thread may have read unrecorded what Other now writes before
)

// Why what a schedule leaves out or moves, or what was not recorded, may forbid it.
const (
	SectionsDecide     What = "sections-decide"     // what moved sections wrote may decide what Thread does: Words
	SectionsUnknown    What = "sections-unknown"    // what moved sections wrote may decide what threads do: Of
	SectionsUnexamined What = "sections-unexamined" // the code is not known
	SectionsUnsure     What = "sections-unsure"     // what Thread wrote in a moved section may decide: Words
	SectionsAddress    What = "sections-address"    // Thread may have an address from what moved sections wrote: Words
	AddressUnwritten   What = "address-unwritten"   // Thread has an address that no recorded write had left
	OtherValue         What = "other-value"         // Thread reads another value of Object than in the run
	PerhapsPrevented   What = "perhaps-prevented"   // what Thread and Other do in another order guards data
	SignalTaken        What = "signal-taken"        // the signal of Thread wakes another thread than in the run
	SignalAgain        What = "signal-again"        // Thread may signal again
	TriesOnly          What = "tries-only"          // Thread may not wait where it tries
	TriesAgain         What = "tries-again"         // Thread does not wait for Object, but tries again and again
	GoesOnWaiting      What = "goes-on-waiting"     // another thread goes on in an attempt of Thread, which may not wait
)

// What may have ordered the sides, or may end a wait, without a record.
const (
	Unseen              What = "unseen"               // Threads executed an instruction that was not observed: Words
	UnseenWait          What = "unseen-wait"          // Threads waited in a loop that was not observed: Words
	WaitEnded           What = "wait-ended"           // Call of Other probably ended a wait of Thread: Words
	AskChanged          What = "ask-changed"          // Call of Other changed what Thread asked for: Words
	SeveralProcesses    What = "several-processes"    // the threads are of several processes
	Helped              What = "helped"               // a handler, a timer or a process may end a wait
	AnotherSignal       What = "another-signal"       // another signal may come, or the signal may be sent again
	Handlers            What = "handlers"             // the program has handlers, and one may end a wait
	TimedWait           What = "timed-wait"           // a wait has a time limit
	TimedCycle          What = "timed-cycle"          // a wait of the cycle has a time limit
	TimedThread         What = "timed-thread"         // a thread of the cycle has a time limit to its wait, after which it goes on
	CalledBack          What = "called-back"          // a library called Thread and Other back, within Words, maybe under a lock of its own
	FirstOwner          What = "first-owner"          // the first owner may have prepared the variable
	AnotherNotification What = "another-notification" // Thread may be notified otherwise, or find another value
)

// What is wrong with the record of the run.
const (
	InSummary      What = "in-summary"      // the summary of the run says it: Words
	HeldBefore     What = "held-before"     // Thread may hold a lock from before the observation
	EventsLost     What = "events-lost"     // events of Thread were lost
	RunLost        What = "run-lost"        // events of the run were lost
	WriteForgotten What = "write-forgotten" // Thread reads what may not have been recorded
	UseForgotten   What = "use-forgotten"   // Thread waits for what may not have been recorded
	// What threads could learn from variables and locks was forgotten.
	KnowledgeForgotten What = "knowledge-forgotten"
	HeldByTwo          What = "held-by-two"      // Thread acquired a lock while Other held it
	HeldInFreed        What = "held-in-freed"    // a lock became another object while Thread held it
	ManyHeldByTwo      What = "many-held-by-two" // too many locks were acquired while others held them
	PostMissing        What = "post-missing"     // Thread got past its wait for the semaphore Object
	NotifyMissing      What = "notify-missing"   // Thread woke from its wait on the condition Object
	ArrivalMissing     What = "arrival-missing"  // Thread left the barrier Object too early
	WriteMissing       What = "write-missing"    // Thread read a value of Object that nobody wrote
	JoinedTwice        What = "joined-twice"     // Thread was joined twice
	WentOnJoined       What = "went-on-joined"   // Thread went on after it had been joined
	OrderOpen          What = "order-open"       // the record does not prove the order of accesses that the finding needs
	ValueMissing       What = "value-missing"    // a write of a watched variable has no value
	CreationUnseen     What = "creation-unseen"  // the object of a protocol was not seen to be created
	InitialMissing     What = "initial-missing"  // the first value of a variable is not known: Words
	LibraryUnloaded    What = "library-unloaded" // Object lies where another library may have been
	MemoryFreed        What = "memory-freed"     // the memory of Object may have been freed in between
	FieldFreed         What = "field-freed"      // so of the field that the finding is about
	MemoryReused       What = "memory-reused"    // the memory of Object may have been used again
	LifeUnknown        What = "life-unknown"     // it is not known when the memory was freed
)

// What accesses, locks and misuses may be besides an error.
const (
	CallsNotFollowed  What = "calls-not-followed"  // Count calls may have taken the lock
	PerhapsAtomic     What = "perhaps-atomic"      // nothing shows whether the access of Thread is atomic
	PerhapsWaits      What = "perhaps-waits"       // Thread waits for the value in a loop
	PerhapsFlag       What = "perhaps-flag"        // Other stores Object when it has written what Thread uses after it has looked at it
	PerhapsWider      What = "perhaps-wider"       // the load of Thread is wider than the variable
	ReaderByPolicy    What = "reader-by-policy"    // a reader waits behind a writer, as the user says
	ReaderByKind      What = "reader-by-kind"      // a reader waits behind a writer, as the lock's kind says
	ClassesOnly       What = "classes-only"        // only the classes of the locks form a cycle
	PerhapsInit       What = "perhaps-initialised" // it may have been initialised again unseen
	PerhapsGaveUp     What = "perhaps-gave-up"     // the other wait may be over
	PerhapsLeft       What = "perhaps-left"        // the other thread may have left the barrier
	PerhapsOnPurpose  What = "perhaps-on-purpose"  // the lock may be held on purpose
	PerhapsUnused     What = "perhaps-unused"      // the program may never touch the lock again
	PerhapsToldUnused What = "perhaps-told-unused" // something unobserved may have said that the lock is not used again
)

// Why candidates are not listed.
const (
	SearchEnded    What = "search-ended"    // after Count steps, at cycles of Length threads
	LongerCycles   What = "longer-cycles"   // cycles of more than Length threads were not looked for
	NoRoom         What = "no-room"         // Count acquisitions had lock orders for which there was no room
	CyclesDropped  What = "cycles-dropped"  // Count more cycles
	OrderedDropped What = "ordered-dropped" // Count more pairs of accesses that are ordered
	LockedDropped  What = "locked-dropped"  // Count more pairs of accesses that a lock excludes
)
