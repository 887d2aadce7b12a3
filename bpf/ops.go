package bpf

// Op is the operation of a record's thread; enum op of record.h.
type Op uint8

// The operations of record.h, in its order.
const (
	OpNone Op = iota
	OpAcquire
	OpAcquireRead
	OpRelease
	OpWait
	OpSignal
	OpBroadcast
	OpBarrier
	OpSemPost
	OpSemWait
	OpOnce
	OpGuardAcquire
	OpGuardRelease
	OpGuardAbort
	OpInit
	OpDestroy
	OpCreate
	OpJoin
	OpDetach
	OpRead
	OpWrite
	OpUpdate
	OpFork
	OpExit
	OpLibrary
	OpExec
	OpTask
	OpHole
	OpTouch
	OpCall
	OpReturn
	OpAlloc
	OpFree
	OpMove
	OpSend
	OpReceive
	OpConstruct
	OpDestruct
	OpUnseen
	OpConsistent
	OpCancel
	OpHeapCost
	OpQuit
	OpUnwind
	OpParallel
	OpTeamBarrier
	OpOrderedLoop
	OpOrderedNext
	OpOrderedBegin
	OpOrderedEnd
	OpCopyBegin
	OpCopyEnd
	OpKeyCreate
	OpKeyDelete
	OpInterpreterRelease

	numOps
)

var opNames = [numOps]string{
	"none", "acquire", "acquire-read", "release", "wait", "signal", "broadcast",
	"barrier", "sem-post", "sem-wait", "once", "guard-acquire", "guard-release",
	"guard-abort", "init", "destroy", "create", "join", "detach", "read",
	"write", "update", "fork", "exit", "library", "exec", "task", "hole", "touch",
	"call", "return", "alloc", "free", "move", "send", "receive", "construct", "destruct", "unseen",
	"consistent", "cancel", "heap-cost", "quit", "unwind",
	"parallel", "team-barrier", "ordered-loop", "ordered-next", "ordered-begin", "ordered-end", "copy-begin", "copy-end",
	"key-create", "key-delete",
	"interpreter-release",
}

// String returns the operation's name, as tables of calls and plans spell it.
func (o Op) String() string {
	if o < numOps {
		return opNames[o]
	}
	return "unknown"
}

// ParseOp returns the operation with a name.
func ParseOp(name string) (Op, bool) {
	for i, n := range opNames {
		if n == name {
			return Op(i), true
		}
	}
	return OpNone, false
}

// The kinds of records, their first byte; enum record_kind of record.h.
const (
	RecordEvent     = 1 // Record
	RecordCall      = 2 // CallRecord
	RecordStack     = 3 // StackRecord
	RecordStackPart = 4 // StackPart
)

// Record flags; REC_… of record.h.
const (
	RecLeave   = 1  // made after the operation
	RecFailed  = 2  // the operation did not have its effect
	RecValue   = 4  // Value holds the variable's value
	RecProcess = 8  // OpFork of a process, not of a thread; OpExit with the whole process
	RecShared  = 16 // with RecProcess: the child shares its parent's memory until it executes a program
	RecKernel  = 32 // OpTouch: the kernel made the access, in a system call of the thread
	// RecPast marks an access through a pointer that the thread made at the time Value, and that is
	// recorded now, since another thread has accessed the same memory.
	RecPast = 64
	// RecOrders marks an access through a pointer of memory that atomic instructions access: Object is
	// its address, and Value and Extra are as those of an access of an atomic variable.
	RecOrders = RecProcess
	// RecSkipped marks an access before which writes of the variable were redundant and not
	// recorded: the value recorded last is not the value that the variable had.
	RecSkipped = 128
)

// What glibc writes into an object that it destroys, and where a condition variable counts the
// threads that wait; marked of sync.h.
const (
	CondShared     = 1 << 0     // bit of a condition variable's word: other processes use it too
	CondDestroyed  = 1 << 2     // another one
	WaitersShift   = 3          // the bits from here on are the number of threads that wait
	MutexDestroyed = 0xffffffff // word of a mutex
)

// The bits of the Result of an OpTouch; enum touch_hint of record.h.
const (
	TouchSource = 1 // rsi points at or near the variable; with RecKernel: into user memory
	TouchDest   = 2 // rdi does likewise
	TouchPart   = 4 // times TouchPart: index, 0 to 3, of the watchpoint of the variable that fired
	// TouchCall marks an access by the kernel. TouchCount is then multiplied by the number of the
	// thread's system calls that have accessed a variable.
	TouchCall  = 16
	TouchCount = 256 // times TouchCount: the low bits of rcx or, with TouchCall, of that number
)

// Action is the action of a probe when it fires; enum action of site.h.
type Action uint8

// The actions of site.h, in its order.
const (
	ActionEmit    Action = iota // sends a record now
	ActionSave                  // stores the operands, and sends a record at the return
	ActionBoth                  // sends a record now and one at the return
	ActionReturn                // the return of a call that was stored by thread ID and stack pointer
	ActionCaller                // a wrapper is entered: the wrapped function counts as called from where the wrapper was
	ActionOutcome               // in a function, after its operation: sends the record of its return
	ActionTail                  // the last jump of a function, to one whose return is observed too
)

// Operand is the source of an operand; enum operand of site.h.
type Operand uint8

// The operand sources of site.h, in its order.
const (
	FromNowhere Operand = iota
	FromReg             // a register plus a displacement
	FromFixed           // an address at a distance from the probed instruction
	FromImm             // a constant
	FromMemory          // the bytes at the object's address
	FromStack           // 8 bytes at a distance from the stack pointer at the entry of the call
	FromKind            // 1 plus the 4 bytes at a distance from the object's address; 0: unreadable
	FromThread          // an address at a distance from the thread pointer
)

// Success determines for which results of the function an operation had its effect; enum success
// of site.h.
type Success uint8

// The success rules of site.h, in its order.
const (
	SuccessAlways  Success = iota
	SuccessZero            // 0, or EOWNERDEAD for robust mutexes
	SuccessNonzero         // any value but 0
	SuccessBarrier         // 0 or PTHREAD_BARRIER_SERIAL_THREAD
	SuccessTrue8           // bool of C++: the low byte is not 0
)

// Reach is the memory that an access must overlap to be recorded; enum reach of site.h.
type Reach uint8

// The reaches of site.h, in its order.
const (
	ReachVariable    Reach = iota // the object operand is the variable
	ReachHome                     // the accessed Span bytes, if they overlap the variable at Home
	ReachTable                    // the same, for the variable at TableDisp from the address in the word at Home
	ReachElement                  // the accessed bytes, if the index is at a multiple of Stride
	ReachArray                    // the accessed bytes, if they are an element of the array at Home
	ReachSharedArray              // the accessed bytes, if they lie in the array at Home
	ReachRemember                 // nothing yet: the address is remembered, for a load that destroys it
	ReachRemembered               // the bytes at the address that was remembered last
	ReachRange                    // the bytes that a function is called to access, or a string instruction accesses
	ReachCalled                   // nothing yet: a call is remembered that accesses bytes before it returns
	ReachReturned                 // the bytes that a remembered call has accessed
	ReachString                   // the bytes before the pointer that a string instruction has moved
)

// TimesEach, in AccessSite.Times, marks an access of one element of a string instruction, if its
// count is not 0; TIMES_EACH of site.h.
const TimesEach = 255

// TimesRemembered, in AccessSite.Times of ReachString, stands for what the last ReachRemember has remembered;
// TIMES_REMEMBERED of site.h.
const TimesRemembered = 254

// Scales of an index that is the number of a bit; SCALE_… of site.h.
const (
	ScaleBits32 = 254 // the number is in its low 32 bits
	ScaleBits   = 255
)

// Site flags; SITE_… of site.h.
const (
	SiteNoStack = 1 // OpRelease: the call stack matters only if the lock is not held
	SiteLeaf    = 2 // the call's frame is never unwound
	SiteInlined = 4 // OpReturn: the end of an inlined copy, which has no frame
	// SiteSpin marks an access of which repetitions are not recorded, if it changes nothing and the
	// thread's next record would be the same.
	SiteSpin     = 8
	SiteOrders   = 16 // an access of an atomic variable, which orders threads and is never redundant
	SiteIndirect = 32 // OpAlloc: the block's address is stored where the object points
	// SiteHeader marks an OpFree or OpMove of a block whose size is in the word before it, as glibc's
	// malloc stores it.
	SiteHeader = 64
	SiteRange  = 128 // the same of memory whose size is in a register, and which ends in whole pages
)

// ChannelKind is the kind of channel through which a message goes; enum channel_kind of record.h.
type ChannelKind int32

// The kinds of channel of record.h, in its order.
const (
	ChannelUnseen ChannelKind = iota // no channel: from now on, calls that are not observed may send and receive
	ChannelPipe
	ChannelFIFO // a named pipe
	ChannelSocket
	ChannelEventfd
	ChannelTimerfd
	ChannelFutex
	ChannelTerminal
	ChannelSignal // its Object is the signal, or AnySignal; see record.h for the values
	ChannelTimer  // all timers of the process that send signals
	ChannelEpoll
	ChannelListener  // a socket that is connected to
	ChannelQueue     // of messages; Object AnyQueue: any of them
	ChannelSemaphore // of System V
	ChannelFileLock
	ChannelChild // a child process that has ended; Object 0: it is not known which
	ChannelDoubt // an order of which only this end is seen: Object is a Doubt
	ChannelWake  // a thread wakes another one that sleeps in a system call; see record.h for the values
	ChannelAsked // something that system calls change and ask for
	// ChannelDescriptor is the number of a descriptor, which is its Object: a Send before it is closed, a
	// Receive when a call has returned it.
	ChannelDescriptor

	// ChannelTight is added to another kind: the channel has little room, or the call takes more of
	// its room than the message's bytes.
	ChannelTight ChannelKind = 256
	// ChannelReady is added to another kind: nothing was moved, but there is something to receive, or
	// room for it.
	ChannelReady ChannelKind = 512
	// ChannelFar is added to another kind: the other end is on another machine, or nobody there is
	// expected to answer.
	ChannelFar ChannelKind = 1024
	// ChannelOfFD is the number of low bits of the kind of a ChannelEpoll; the others are the kind of
	// the channel whose descriptor is in the set.
	ChannelOfFD = 16
)

// Values in records of some kinds of channel; see record.h.
const (
	AnySignal = 0xffff // Object: a signalfd, which may have any signal
	AnyQueue  = 0xffff // Object: news of any queue
	AnyStatus = 0xffff // Value: it is not known what became of a child
	FromTimer = 1      // Value: a timer has sent the signal
	AnyCode   = 2      // Value: a timer may have sent it
)

// Doubt is an order of which only one end is seen; enum doubt of record.h.
type Doubt uint64

// The doubts of record.h, in its order.
const (
	DoubtInotify Doubt = 1 + iota // a file has changed
	DoubtFIFO                     // the other end of a FIFO was opened
	DoubtPoll                     // more descriptors are ready than are recorded
	DoubtReady                    // a descriptor of another kind is ready
	DoubtGone                     // a thread or process has ended: a signal could not be sent to it
)
