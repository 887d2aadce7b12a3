package bpf

// Op is what a record says its thread did; enum op of record.h.
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

	numOps
)

var opNames = [numOps]string{
	"none", "acquire", "acquire-read", "release", "wait", "signal", "broadcast",
	"barrier", "sem-post", "sem-wait", "once", "guard-acquire", "guard-release",
	"guard-abort", "init", "destroy", "create", "join", "detach", "read",
	"write", "update", "fork", "exit", "library", "exec", "task", "hole", "touch",
	"call", "return", "alloc", "free", "move", "send", "receive", "construct", "destruct", "unseen",
	"consistent", "cancel",
}

// String returns the operation's name, as tables of calls and plans spell it.
func (o Op) String() string {
	if o < numOps {
		return opNames[o]
	}
	return "unknown"
}

// ParseOp finds an operation by its name.
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
	RecShared  = 16 // with RecProcess: in its parent's memory, until it executes a program
	RecKernel  = 32 // OpTouch by the kernel, in a system call of the thread
	// RecSkipped marks an access before which writes of the variable were redundant and not
	// recorded: the value last recorded is not what it had.
	RecSkipped = 128
)

// The bits of the Result of an OpTouch; enum touch_hint of record.h.
const (
	TouchSource = 1 // rsi points into the variable, or just behind
	TouchDest   = 2 // rdi does
	TouchPart   = 4 // times TouchPart: by which of its watchpoints, 0 to 3
	// TouchCall marks an access by the kernel. TouchCount then counts the thread's system
	// calls that touched a variable.
	TouchCall  = 16
	TouchCount = 256 // times TouchCount: the low bits of rcx, or with TouchCall of that count
)

// Action is what a probe does when it fires; enum action of site.h.
type Action uint8

// The actions of site.h, in its order.
const (
	ActionEmit Action = iota
	ActionSave
	ActionBoth
	ActionReturn
	ActionCaller
	ActionOutcome
	ActionTail
)

// Operand is where an operand is; enum operand of site.h.
type Operand uint8

// The operand sources of site.h, in its order.
const (
	FromNowhere Operand = iota
	FromReg
	FromFixed
	FromImm
	FromMemory
	FromStack
	FromKind
)

// Success says when an operation had its effect, by what the function
// returned; enum success of site.h.
type Success uint8

// The success rules of site.h, in its order.
const (
	SuccessAlways Success = iota
	SuccessZero
	SuccessNonzero
	SuccessBarrier
	SuccessTrue8
)

// Reach is what an access must touch to be recorded; enum reach of site.h.
type Reach uint8

// The reaches of site.h, in its order.
const (
	ReachVariable Reach = iota
	ReachHome
	ReachTable
	ReachElement
	ReachArray
	ReachSharedArray
)

// TimesEach is TIMES_EACH of site.h.
const TimesEach = 255

// Scales of an index that numbers a bit; SCALE_… of site.h.
const (
	ScaleBits32 = 254 // in its low 32 bits
	ScaleBits   = 255
)

// Site flags; SITE_… of site.h.
const (
	SiteNoStack  = 1  // OpRelease: the call stack matters only if the lock is not held
	SiteLeaf     = 2  // a call whose frame is never unwound
	SiteInlined  = 4  // OpReturn: the end of an inlined copy, which has no frame
	SiteSpin     = 8  // an access that changes nothing is recorded once, if the thread's next record were the same
	SiteOrders   = 16 // an access that orders threads, of an atomic variable: never redundant
	SiteIndirect = 32 // OpAlloc: the block's address goes where the object points
)

// ChannelKind is what a message goes through; enum channel_kind of record.h.
type ChannelKind int32

// The kinds of channel of record.h, in its order.
const (
	ChannelUnseen ChannelKind = iota // none: calls that are not seen may send and receive from now on
	ChannelPipe
	ChannelFIFO // a pipe with a name
	ChannelSocket
	ChannelEventfd
	ChannelTimerfd
	ChannelFutex
	// ChannelTight is added to another: it has little room, or the call takes more of
	// it than its bytes.
	ChannelTight ChannelKind = 256
)
