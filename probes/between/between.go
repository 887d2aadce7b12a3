// Package between shows that the code which a thread executes between two consecutive events of it
// does not depend on memory that another thread may write: the thread then executes the same code in
// every schedule, whatever the others did before.
//
// All paths from the first event to the second are explored: through returns to the frames that the
// first call stack names, and down again into functions that are called. A value is followed through
// registers and the words of stack frames. A read of shared memory is allowed if its value decides
// no branch, address, target of a call, or operand of the second event, and is not kept where later
// code finds it (Query.Last): a counter may be incremented. What a thread writes does not matter.
//
// Not shared is
//
//   - memory that nothing writes after the program has begun: read-only sections, those that are
//     read-only after relocation, slots of the global offset table, and glibc's variable that says
//     whether there is one thread;
//   - thread-local storage that is accessed as such, since programs do not pass its addresses on;
//   - a stack frame whose function lets no address of the frame leave it: each is only used to
//     access memory, kept in the frame, or passed to functions that do the same. All of the
//     function's code and of those functions counts, not only that between the events. If one
//     address leaves, the whole frame is shared, because code may compute one address from another;
//   - return addresses and saved registers.
//
// It is assumed that an address with an index stays in its object, that code does not use the
// address of a frame that has ended, and that functions keep to the calling convention. Signal
// handlers are ignored. Where the code is not understood, or is too much, the answer is no: calls of
// functions in other files, except a few of the C library, calls by pointer, indirect jumps, system
// calls, recursion, and code of other architectures than x86-64.
//
// The second event may also be an access (Query.Access), whose address then must not depend on such memory.
//
// Another question is whether a thread that reads other values than in the run goes elsewhere (Detour,
// Differ): its code is executed with both.
//
// The package knows no process: its user says what is mapped where, and which calls are events. Work
// is bounded, by Examiner.Budget and for each query.
package between

import (
	"fmt"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// Process is the code of a process.
type Process interface {
	// Code returns the file that is mapped at an address, and its load bias; false if there is none.
	Code(addr uint64) (f *elf.File, bias uint64, ok bool)
	// Synchronises reports whether each call of the function that begins at an address, as linked,
	// of a file is an event.
	Synchronises(f *elf.File, entry uint64) bool
	// Imports is Synchronises for the function that the name of an import leads to.
	Imports(name string) bool
	// Inlined returns which event the instruction at an address, as linked, of a file makes without a
	// call.
	Inlined(f *elf.File, pc uint64) Inlined
}

// Inlined is the event that an instruction makes without a call.
type Inlined uint8

// The events.
const (
	InlinedNone Inlined = iota
	// InlinedAccess is an access: what the instruction reads is recorded, and the same in every schedule.
	InlinedAccess
	// InlinedLock acquires or releases a lock whose code is inlined. Where an attempt to acquire it fails, the
	// thread waits, and the next event is that it has acquired the lock.
	InlinedLock
)

// Kind is the kind of a reason.
type Kind uint8

// The reasons.
const (
	// NoReason: nothing is read that could matter.
	NoReason Kind = iota
	// Branch: a branch depends on what is read.
	Branch
	// Address: an address depends on what is read.
	Address
	// Argument: the second event depends on what is read.
	Argument
	// Kept: what is read is kept in a register, on the stack or in thread-local storage, where code
	// after the second event finds it.
	Kept
	// Calls: a function is called that is not examined.
	Calls
	// Indirect: a call or jump has a target that is not known.
	Indirect
	// Kernel: the kernel, the clock or the kind of the processor is asked.
	Kernel
	// Throws: an exception is thrown that a function on the way may catch.
	Throws
	// Leaves: the outermost known function returns.
	Leaves
	// NotUnderstood: code cannot be decoded, or its effect is not known.
	NotUnderstood
	// TooMuch: there is too much code to examine.
	TooMuch
	// NoPath: no path leads from the first event to the second.
	NoPath
	// Writes: memory is written that another thread may read.
	Writes
	// Stored: what is read is stored in memory that another thread may read.
	Stored
)

// Why is a reason. Addresses are those of the process, 0 if there is none.
type Why struct {
	Kind Kind
	At   uint64 // the code that Kind speaks of
	Read uint64 // the code that reads, for Branch to Kept, and Stored
	Name string // the function, for Calls
}

// Text returns the reason in words. location returns the source location of an address.
func (w Why) Text(location func(uint64) string) string {
	at, read := "", ""
	if w.At != 0 {
		at = " at " + location(w.At)
	}
	if w.Read != 0 {
		read = location(w.Read)
	}
	switch w.Kind {
	case NoReason:
		return ""
	case Branch:
		return fmt.Sprintf("the branch%s depends on memory read at %s", at, read)
	case Address:
		return fmt.Sprintf("the address accessed%s depends on memory read at %s", at, read)
	case Argument:
		return fmt.Sprintf("the call%s depends on memory read at %s", at, read)
	case Kept:
		return fmt.Sprintf("memory read at %s is kept for later", read)
	case Calls:
		return fmt.Sprintf("%s is called%s", w.Name, at)
	case Indirect:
		return "a function is called by pointer" + at
	case Kernel:
		return "the system or the clock is asked" + at
	case Throws:
		return "an exception is thrown" + at
	case Leaves:
		return "the function returns" + at
	case TooMuch:
		return "there is too much code between them"
	case Writes:
		return "memory is written" + at
	case Stored:
		return fmt.Sprintf("what is written%s depends on memory read at %s", at, read)
	case NoPath:
		return "no path between them was found in the code"
	}
	return "the code" + at + " is not understood"
}

// Query asks about the code between two consecutive events of one thread.
type Query struct {
	// From and To are the call stacks of the events, innermost frame first: the address of the
	// instruction or, for a call of a synchronisation function, an address in that function; then
	// return addresses. The first event must not be an attempt that failed, nor one that had to wait.
	// A To that is nil stands for the next event, whichever it is.
	From, To []uint64
	// FromCall and ToCall mean that the event is a system call that a function of the C library has made, at whose address
	// the call stack then begins. Not each call of that function need be an event.
	FromCall, ToCall bool
	// Unrecorded means that calls of synchronisation functions may have made no events, so that some
	// may lie between the two.
	Unrecorded bool
	// Access means that the second event is an access by the instruction at To[0], after which the thread executes
	// nothing. To may have no other frame than that.
	Access bool
	// Last means that the thread executes nothing after the second event, so that what it keeps for
	// later does not matter.
	Last bool
	// Releases is the number of releases of locks between the two events, which have no call stacks.
	Releases int
	// Recorded reports whether all accesses by an instruction, at an address as linked, of a file, which
	// accesses size bytes, were recorded; for a call of a function of the C library, all that it accesses. Nil: none were.
	Recorded func(f *elf.File, pc uint64, size int) bool
}

// question is what is asked about the code between two events.
type question uint8

const (
	reads   question = iota // ReadsNothing
	decides                 // DecidesNothing
	sees                    // SeesRecorded
	leaves                  // LeavesRecorded
)

// Examiner answers queries about one process. It keeps what it learns about functions. It is not for
// concurrent use.
type Examiner struct {
	// Budget is the number of instructions that may still be examined for all queries together.
	Budget int

	process Process
	images  map[*elf.File]*image
	left    int // of the current query
}

// DefaultBudget is the Budget of a new Examiner.
const DefaultBudget = 500_000

// maxQuery bounds the instructions examined for one query.
const maxQuery = 100_000

// New returns an Examiner of a process.
func New(p Process) *Examiner {
	return &Examiner{Budget: DefaultBudget, process: p, images: map[*elf.File]*image{}}
}

// ReadsNothing reports whether the code between two events depends on nothing that another thread
// may have written; if it does, or that cannot be shown, why is the reason.
func (x *Examiner) ReadsNothing(q Query) (ok bool, why Why) { return x.ask(q, reads) }

// DecidesNothing reports whether no branch between two events depends on memory that another thread
// may have written, so that the thread comes to the second event whatever the others did; if one
// does, or that cannot be shown, why is the reason. Which object the second event is about, and what
// is accessed on the way, may depend on such memory. The second event may be a wait on a condition
// that a function of the C++ library makes.
func (x *Examiner) DecidesNothing(q Query) (ok bool, why Why) { return x.ask(q, decides) }

// SeesRecorded reports whether the code between two events depends on no memory that another thread may have
// written, but for what was recorded (Query.Recorded), and stores nothing else that depends on such memory.
// A thread that reads what it read in the run, as far as that was recorded, then does and writes the same.
func (x *Examiner) SeesRecorded(q Query) (ok bool, why Why) { return x.ask(q, sees) }

// LeavesRecorded reports whether the code between two events writes no memory that another thread may read,
// but for what was recorded (Query.Recorded) and what the synchronisation functions write.
func (x *Examiner) LeavesRecorded(q Query) (ok bool, why Why) { return x.ask(q, leaves) }

func (x *Examiner) ask(q Query, about question) (ok bool, why Why) {
	x.left = min(maxQuery, x.Budget)
	before := x.left
	defer func() { x.Budget -= before - max(x.left, 0) }()
	w := walker{x: x, query: q, about: about}
	w.query.From, w.inlined = x.behind(q.From)
	to, inlined := x.behind(q.To)
	w.query.To, w.query.Access = to, q.Access && !inlined
	if w.begin() {
		w.finish()
	}
	return w.why.Kind == NoReason, w.why
}

func (x *Examiner) image(f *elf.File) *image {
	im := x.images[f]
	if im == nil {
		im = newImage(f)
		x.images[f] = im
	}
	return im
}
