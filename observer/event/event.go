// Package event is the event model: what a thread did, to which object, in which order.
// Every analysis, the pipeline and the trace files depend on it, and it imports nothing of
// this module.
//
// The events describe one run, as the observer has interpreted its records:
// thread and object identifiers are dense and never used again within a run (identity is
// address and lifetime), only the outermost level of a recursive lock is an event, a
// condition wait is split into its parts, and failed attempts are distinct from acquires.
// The package never knows addresses of probes, kernel thread ids or ELF files.
package event

import (
	"fmt"
	"slices"
)

// ThreadID identifies a thread of the run: 1 for the first thread seen, then in order of
// creation. It is never used again, even if the kernel's id is.
type ThreadID uint32

// ObjectID identifies an object (variable, lock, condition, …) by address and lifetime: 1
// for the first object seen. An object that is destroyed and initialised again at the same
// address has a new ObjectID. 0 is no object.
type ObjectID uint32

// StackID identifies the call stack at which a thread made an event. 0 is unknown.
type StackID uint32

// Frame is one frame of the call stack that a StackID identifies. Stacks are
// innermost frame first.
type Frame struct {
	Function string `json:"function"`                // demangled; "" if unknown
	File     string `json:"file"`                    // as in the debug information; "" if unknown
	Line     int    `json:"line"`                    // from 1; 0 if unknown
	Module   string `json:"module"`                  // path of the program or library
	Offset   uint64 `json:"offset"`                  // bytes from the function's start; from the module's where Function is ""
	Inlined  bool   `json:"inlined,omitempty"`       // the function has no frame of its own here
	Start    int    `json:"function_line,omitempty"` // the line of File on which the function's definition begins; 0 if unknown
	Addr     uint64 `json:"-"`                       // in the process; differs between runs
}

// KernelModule is the module of a frame for what the kernel did. The function is then the
// name of the system call, as "read(2)".
const KernelModule = "[kernel]"

// LibraryModule is the module of a frame for what a library function did that was observed where it was
// called, as memcpy.
const LibraryModule = "[library]"

// Op is the operation of a thread.
type Op uint8

// The operations. The order of a run is the order of its events. Each event is recorded
// where its operation is sure to be ordered correctly: an acquire after it has succeeded, a
// release before it happens. The numbers are part of the trace format: a new operation comes
// last. Methods and other packages rely on the order of the operations for ranges.
const (
	None Op = iota

	Read   // of a variable
	Write  // of a variable
	Update // read-modify-write of a variable; indivisible only with flag Atomic

	// Acquire is exclusive: of a mutex, a spin lock, the write side of a rwlock. With
	// HasValue, Value is the rwlock's kind (PreferReader, PreferWriter or
	// PreferWriterNonrecursive), which the first Acquire or AcquireRead of a rwlock has if it
	// is known. An inferred Acquire of a mutex has the Value Cancelled where it is certain,
	// since its thread was cancelled in a wait.
	Acquire
	AcquireRead   // shared: read side of a rwlock
	AcquireFailed // a try that failed, or a request that timed out; with HasValue the call was refused, and Value is the error number
	Release       // either side

	Fork   // Peer is the child
	Begin  // first event of a thread
	End    // last event of a thread
	Join   // Peer is the thread whose end was awaited
	Detach // Peer will not be joined

	// A condition wait is four events: Release of the mutex, Wait, then
	// Wake and Acquire of the mutex.
	Wait // Object is the condition, Object2 the mutex (already released)
	Wake // likewise; flag TimedOut if nobody signalled
	// Signal wakes one. With HasValue, Value is the number of threads that wait by the memory
	// of the condition, if these are fewer than were seen to wait.
	Signal
	Broadcast // wakes all; its Value as of Signal

	BarrierArrive
	BarrierDepart
	SemPost
	SemWait
	SemFailed // a try that failed, or timed out

	OnceEnter // pthread_once was called, or the guard of a static variable was requested
	OnceDone  // the initialiser has returned
	OnceLeave // returned to a caller that did not run the initialiser

	// Init: the object's lifetime begins. Object2 is the object of the same kind that was alive at
	// its address and is initialised again; its inferred Destroy comes just before. With HasValue, Value is the value of a semaphore or
	// a variable, or the number of threads of a barrier. For a mutex it is 1 if the mutex was
	// initialised with attributes, which may make it a robust one, and else 0.
	Init
	Destroy // the object's lifetime ends

	// Hole: some events of the thread were lost here; Value is their number.
	Hole

	// A function that matches a pattern of --on was entered, or returns to its caller.
	Call   // Object is the instance, Args the arguments
	Return // likewise, Args as at the entry; Value is the result, with HasValue; Object2 the instance that it points to

	// Messages between threads, through the kernel. Object is the channel, whose bytes are
	// numbered from its beginning.
	Send          // before it happens; with HasValue all its bytes have numbers from Value on
	Sent          // a send that may have waited for room has returned: it happens after the first Value events Receive and Receiving of the channel, without HasValue after all so far
	Receive       // after it happened; with HasValue all its bytes have numbers below Value, else they may be any
	Receiving     // the thread is within a receive, and may already have received bytes
	ReceiveFailed // there was nothing to receive, and it did not wait

	// The state of threads that hang; see package hang.
	Holds   // Object is a lock that the thread holds, acquired at Stack; Value is Acquire or AcquireRead
	Blocked // the thread waits, at Stack, and nothing that the process can still do ends the wait; Value: see Attempt

	// Misuse: operations that break a rule of the threads' interface. They order nothing and
	// do not change the state of their object. Each is recorded only where it is certain.
	ReleaseUnheld // the thread releases a lock that it does not hold; with InCondWait in the wait on a condition that is the next event
	JoinFailed    // a join that was refused: Peer is the thread to join, which may be joined already, Value the error number
	UseDestroyed  // Object is used although it was destroyed and not initialised again; if Inferred, it may have been initialised without a call
	DetachAgain   // a detach of Peer, which was detached or joined already

	// AcquireAgain: a thread that holds a rwlock for reading has acquired it for reading
	// again. It lies between the thread's AcquireRead and Release, and orders nothing.
	AcquireAgain

	// ReleaseInconsistent is a misuse like ReleaseUnheld: the thread is about to release a
	// robust mutex whose last owner died while holding it and which no thread has made
	// consistent; with InCondWait in a wait on a condition.
	ReleaseInconsistent

	// DestroyAgain is a misuse: Object, which was destroyed, is destroyed again without having been
	// initialised in between; if Inferred, it may have been initialised without a call.
	DestroyAgain

	// QuitHolding is a misuse: the thread has called exit at Stack, or returned from main, and the
	// process ends while the thread holds Object, which thread Peer has held too.
	QuitHolding

	// Named: the thread, or another one for it, has set its name, as pthread_setname_np does. Args are
	// the name (ThreadName). Peer is the thread if it did so itself; 0: another one may have. It orders nothing.
	Named

	// Violated: a formula that is evaluated in the observed threads alone became false in the state of the thread after its
	// last event. Peer is the other thread that it is bound to; 0: none is. It orders nothing.
	Violated

	// Pause: the thread is about to sleep until a signal handler has run in it, by a call that lets no blocked signal in, as
	// pause(2). Resume: that handler has returned, and the thread goes on behind the call. Neither orders anything.
	Pause
	Resume

	NumOps
)

// The kinds of a rwlock, as glibc numbers them (PTHREAD_RWLOCK_PREFER_READER_NP and so on).
// Only with the last does a reader wait behind a waiting writer.
const (
	PreferReader uint64 = iota
	PreferWriter
	PreferWriterNonrecursive
)

// Cancelled is the Value of an inferred Acquire of a mutex that is certain: the thread was
// cancelled in a wait on a condition, which acquired the mutex again, and ended.
const Cancelled uint64 = 1

// Kind is the kind of an object.
type Kind uint8

// The kinds of object. The numbers are part of the trace format.
const (
	KindUnknown Kind = iota
	KindVariable
	KindMutex
	KindRWLock
	KindSpin
	KindCond
	KindBarrier
	KindSemaphore
	KindOnce
	KindInstance // the object that a method was called on
	KindField    // a variable too: a field of the object at the address
	KindChannel  // a pipe, a socket, an eventfd or a futex, through which threads pass messages

	// NumKinds is the number of kinds.
	NumKinds
)

// Flags qualify an event.
type Flags uint32

// The flags. Their bits are part of the trace format.
const (
	// Try: a trylock, which never waits and so cannot block in a deadlock, unless it is Repeated.
	Try Flags = 1 << iota
	// Timed: a request with a time limit.
	Timed
	// TimedOut: the wait ended by its time limit.
	TimedOut
	// Atomic: a read-modify-write in one indivisible instruction, or an
	// access of a variable of atomic type.
	Atomic
	// HasValue: Value holds the value read or written.
	HasValue
	// InCondWait: this Release or Acquire is part of a condition wait.
	InCondWait
	// Inferred: the observer deduced the event (a lock held before observation began, a wait
	// left by cancellation) without a record. An inferred Destroy means that another object
	// has the memory now, an inferred Detach that no thread can join the thread any more, an
	// inferred Init has a variable's value when observation began. None of these three
	// orders anything.
	Inferred
	// NoSource: the write from which this Read read is not, or is not known to be, the last
	// one recorded, so no reads-from edge leads to it.
	NoSource
	// AfterHole: events of the thread were lost before this one (Hole), so
	// that its clock may lack edges, and it may hold other locks than recorded.
	AfterHole
	// Kernel: the kernel made the access, in a system call of the thread (read(2) into the
	// variable).
	Kernel
	// Late: this Read with flag Atomic returned the value of a store before the last one
	// recorded. Its record was made late: the load happened before the last store, and after
	// all earlier events of its thread. It is ordered after all recorded accesses of the
	// variable. It read from one of these, and a witness may execute it whichever that is. With
	// NoSource, the store from which it read is not known, and no witness may execute it.
	Late
	// Joinable: the thread that this Fork creates is certainly joinable.
	Joinable
	// WithProcess: this End is part of the end of the whole process. Value, with HasValue, is
	// the process's status as wait(2) returns it.
	WithProcess
	// ResultUnused: what this Update read goes nowhere but into the value that it wrote, as in a
	// counter that is incremented. It may come after any write: only a later read of the variable
	// shows which one. Of a Read: its thread at most prints the value.
	ResultUnused
	// Freed: this inferred Destroy is the end of the memory that the object was in, by the thread, at
	// the call stack of the event. This Write, of a variable behind a pointer, is that call.
	Freed
	// Given: another thread than that of this access of a field allocated the memory of the object.
	Given
	// Past: this access was made at Time, before the events around it, and stands where it was recorded.
	// Its place is behind the last event of its thread that is not later.
	Past
	// PerhapsAtomic: this plain load or store, of a variable behind a pointer, may be one of an atomic built-in or
	// type, which machine code does not show. It is taken to be atomic where the other access of a pair is.
	PerhapsAtomic
	// Polled: this Read is in a loop that waits for the value. If it is one of an atomic built-in, which
	// machine code does not show, it is no race.
	Polled
	// Increments and Decrements: this Update adds 1, or subtracts 1, whatever it read.
	Increments
	Decrements
	// OnlyZero and OnlyOne: the thread uses of this Read or Update no more than whether Value (which an Update
	// wrote) is 0, or is 1.
	OnlyZero
	OnlyOne
	// Untyped: nothing shows what is atomic in the code of this access: it has no debug information, or is too much to
	// be searched.
	Untyped
	// Takes: this Update found 0 and left another value, by an instruction that would have left no other value had
	// it found none: an exchange or a compare-and-exchange, as of a lock that is acquired. This Receive has taken the only
	// unit of an eventfd or of a semaphore of System V, and would have waited for it; this Send gives the only unit.
	Takes
	// Repeated: of an Update with Takes, the code repeats the attempt, and does nothing else, until it finds 0. Of a
	// Read, it is a part of such an attempt, which goes on whatever was read. Of an Acquire or AcquireRead, without Try, it
	// was a trylock, by a thread that holds other locks, whose code likewise repeats it until it succeeds.
	Repeated
	// Wider: the instruction of this Read loads more bytes than the variable has. Compilers join loads of neighbouring
	// variables, and load whole vectors, so that the source need not read this variable.
	Wider
	// MayWait: this Acquire, AcquireRead or SemWait was an attempt by a thread that holds the lock of an interpreter, and
	// would not have waited. If such an attempt fails, the caller may release that lock, wait by another call and acquire
	// the lock again, as the locks of CPython and OCaml do unless they are asked not to. So there is a Release of the lock
	// before the attempt, and an Acquire with Try after it, each with MayWait. In this run the thread did neither.
	MayWait
	// Watched: a hardware watchpoint saw this access. It was made at some moment between the last event of its thread
	// before it and Time. The event may have been recorded later than those of other threads with a later Time.
	Watched
	// Unwound: this Return is none: an exception, longjmp or the end of the thread removed the call.
	Unwound

	endFlags // the bit above those of all flags
)

// AllFlags has the bits of all flags.
const AllFlags = endFlags - 1

// BothAtomic reports whether two accesses of a variable, with these flags, do not race because both are
// atomic, or because one is and the other may be.
func BothAtomic(a, b Flags) bool {
	const atomic = Atomic | PerhapsAtomic
	return (a|b)&Atomic != 0 && a&atomic != 0 && b&atomic != 0
}

// RacesAsMuch reports whether an access with flags a races with whatever one with flags b would race with,
// as far as that depends on which accesses are atomic, and on which ones the source may not make.
func RacesAsMuch(a, b Flags) bool {
	return a&Wider&^b == 0 && (a&Atomic == 0 || b&Atomic != 0) && (a&PerhapsAtomic == 0 || b&(Atomic|PerhapsAtomic) != 0)
}

// Added returns what an update adds to the variable, whatever it read; ok is false if that is not known.
func (e *Event) Added() (n uint64, ok bool) { return Added(e.Op, e.Flags) }

// Added is Event.Added for an event with that operation and those flags.
func Added(op Op, f Flags) (n uint64, ok bool) {
	switch {
	case op != Update:
		return 0, false
	case f&Increments != 0:
		return 1, true
	}
	return ^uint64(0), f&Decrements != 0
}

// Answer returns what a thread uses of the value of a Read or Update with flags OnlyZero or OnlyOne; ok is false
// for an event with neither.
func (f Flags) Answer(value uint64) (equal, ok bool) {
	switch {
	case f&OnlyZero != 0:
		return value == 0, true
	case f&OnlyOne != 0:
		return value == 1, true
	}
	return false, false
}

// Epoch counts the events of one clock slot, from 1.
type Epoch uint32

// Event is one operation of a thread. The pipeline reuses one Event for the whole run: an
// analysis copies what it keeps.
type Event struct {
	Seq     uint64 // position in the run, from 1
	Time    uint64 // CLOCK_MONOTONIC, ns; 0 in traces that carry no time
	Value   uint64 // of the variable, zero-extended, with HasValue; see Send, Receive
	Thread  ThreadID
	Object  ObjectID
	Object2 ObjectID // the mutex of Wait and Wake; the condition of a ReleaseUnheld in a wait; the object that an Init initialises again; the object that the result of a Return points to
	Peer    ThreadID // of Fork, Join, JoinFailed, Detach, DetachAgain, QuitHolding, Named
	Stack   StackID
	Op      Op
	Kind    Kind // of Object
	Flags   Flags
	Func    FuncID // of Call and Return

	// Args are the arguments of Call and Return, one for each of the Params of
	// Func, cut to the width of its type and sign-extended where that is signed. Of Named they are
	// the bytes of the name, eight in each, the first ones lowest.
	// Valid only until the analysis returns.
	Args []uint64

	// Slot and Epoch identify this event in clocks: event e comes before f
	// in every feasible reordering (the edges of order.Must) if
	// e.Epoch <= f.Must[e.Slot]. A thread may reuse the slot of an ended
	// one that must come before it.
	Slot  uint32
	Epoch Epoch
	// Must is the clock of the must-order up to this event, indexed by slot; nil is a clock of no
	// events. Its entry for the event's own slot may be less than Epoch: Before knows better. For a
	// Read (and Update) it does not yet include the edge from the write that it reads:
	// that is joined after the analyses have seen the event (SHB, Mathur et
	// al., OOPSLA 2018). Valid only until the analysis returns: Copy shares its memory.
	Must *Clock
	// Since, if not 0, is the epoch of this slot's last event at which an entry of Must other
	// than the slot's own changed. A clock that includes this epoch of the slot includes the
	// rest of Must.
	Since Epoch
}

// Before reports whether the event at (slot, epoch) must come before e.
func (e *Event) Before(slot uint32, epoch Epoch) bool {
	if m := e.Must; m != nil && int(slot) < len(m.low) {
		return epoch <= m.low[slot]
	}
	return e.beforeBeyond(slot, epoch)
}

// beforeBeyond is Before for a slot that is not in the clock's first array.
func (e *Event) beforeBeyond(slot uint32, epoch Epoch) bool {
	return e.Must != nil && epoch <= e.Must.At(slot) || slot == e.Slot && slot >= LowSlots && epoch <= e.Epoch
}

// IsAccess reports whether the event accesses a variable.
func (o Op) IsAccess() bool { return o == Read || o == Write || o == Update }

// IsMisuse reports whether the event only records that a rule of the threads' interface was
// broken.
func (o Op) IsMisuse() bool {
	return o >= ReleaseUnheld && o <= DetachAgain || o >= ReleaseInconsistent && o <= QuitHolding
}

// IsWrite reports whether the event changes a variable.
func (o Op) IsWrite() bool { return o == Write || o == Update }

// IsCall reports whether the event is a call or a return of a function.
func (o Op) IsCall() bool { return o == Call || o == Return }

// HasArgs reports whether the event has arguments.
func (o Op) HasArgs() bool { return o.IsCall() || o == Named }

// IsAcquire reports whether the event acquires a lock, in either mode.
func (o Op) IsAcquire() bool { return o == Acquire || o == AcquireRead }

var opNames = [NumOps]string{
	"none", "read", "write", "update",
	"acquire", "acquire-read", "acquire-failed", "release",
	"fork", "begin", "end", "join", "detach",
	"wait", "wake", "signal", "broadcast",
	"barrier-arrive", "barrier-depart", "sem-post", "sem-wait", "sem-failed",
	"once-enter", "once-done", "once-leave", "init", "destroy", "hole", "call", "return",
	"send", "sent", "receive", "receiving", "receive-failed", "holds", "blocked",
	"release-unheld", "join-failed", "use-destroyed", "detach-again", "acquire-again", "release-inconsistent",
	"destroy-again", "quit-holding", "named", "violated", "pause", "resume",
}

// String returns the operation's name as the reports and traces spell it.
func (o Op) String() string {
	if o < NumOps {
		return opNames[o]
	}
	return "unknown"
}

// MarshalText returns what String does, for JSON.
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what MarshalText returns.
func (o *Op) UnmarshalText(text []byte) error {
	i := slices.Index(opNames[:], string(text))
	if string(text) == NumOps.String() {
		i = int(NumOps)
	}
	if i < 0 {
		return fmt.Errorf("there is no operation %q", text)
	}
	*o = Op(i)
	return nil
}

var kindNames = [...]string{"object", "variable", "mutex", "rwlock", "spinlock", "condition", "barrier", "semaphore", "once", "instance", "field", "channel"}

// String returns the kind's name as the reports spell it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "object"
}

// KindOf returns the kind of a name that String returns; of other names that of "object".
func KindOf(name string) Kind { return Kind(max(slices.Index(kindNames[:], name), 0)) }
