// Package bpf holds the programs that run in the kernel, the record that they
// share with Go, and the objects that clang made of them, committed so that
// building needs Go alone.
//
// It gives the generated loader (LoadTracepredict) and the types Record,
// StackRecord, StackPart, CallRecord, Site, Signature, TaskLine, Sleeper, LostLine, WatchKey, Watch,
// WatchedLine, KernelCode and Tally. What a probe means is data in a Site; it
// knows nothing of ELF files, processes or analyses.
package bpf

// The types that the programs share with Go.
//
//go:generate go tool -modfile=../scripts/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target amd64,arm64 -type record -type stack_record -type stack_part -type site -type task_line -type sleeper -type lost_line -type watch_key -type watch -type watched_line -type kernel_code -type call_record -type signature -type tally Tracepredict tracepredict.bpf.c -- -Iinclude -O2 -g -Wall -Werror -mcpu=v3
type (
	// Record is one event; struct record of record.h.
	Record = TracepredictRecord
	// StackRecord is what a place's calling chain is found from; struct stack_record.
	StackRecord = TracepredictStackRecord
	// StackPart is a piece of a thread's stack at a new place; struct stack_part.
	StackPart = TracepredictStackPart
	// CallRecord is a Record of a call with its parameters; struct call_record.
	CallRecord = TracepredictCallRecord
	// Signature says what is recorded of the calls of a function; struct signature.
	Signature = TracepredictSignature
	// Site says what a probe observes; struct site.
	Site = TracepredictSite
	// TaskLine is a thread that lives when observation begins.
	TaskLine = TracepredictTaskLine
	// Sleeper is what a thread is doing; struct sleeper of sleeper.h.
	Sleeper = TracepredictSleeper
	// LostLine is how many records a thread has lost that none has told of.
	LostLine = TracepredictLostLine
	// WatchKey names a hardware watchpoint; struct watch_key.
	WatchKey = TracepredictWatchKey
	// Watch says what a hardware watchpoint observes; struct watch.
	Watch = TracepredictWatch
	// WatchedLine is a thread with a hardware watchpoint of ours; struct watched_line.
	WatchedLine = TracepredictWatchedLine
	// KernelCode is code of the kernel that accessed a variable; struct kernel_code.
	KernelCode = TracepredictKernelCode
	// Tally is what the programs know of a variable that nobody named.
	Tally = TracepredictTally
)

// CookieFilter marks, in a link's cookie, that the program must look for the
// process in the targets map because the link has no PID filter.
const CookieFilter = 1 << 63

// CookieGeneration is what one generation of a link of variables adds to its
// cookies.
const CookieGeneration = 1 << 32

// MaxRegs is how many registers a StackRecord has at most.
const MaxRegs = 33

// StackPartBytes is how many bytes of a stack a StackPart has at most.
const StackPartBytes = 1 << 10

// MaxStack is how many bytes of a stack are sent at most.
const MaxStack = 64 << 10

// MaxSites is how many sites one run can have.
const MaxSites = 1 << 16

// MaxPlaces bounds the numbers of places that synchronise unobserved (OpUnseen), of
// which 0 is none.
const MaxPlaces = 1 << 13

// MaxArgs is how many parameters of a call are recorded at most.
const MaxArgs = 6

// MaxSignatures is how many different signatures one run can have.
const MaxSignatures = 1 << 12

// MaxChain is how many sites can stand at one address.
const MaxChain = 8

// KernelCodeBefore is how many bytes of a KernelCode lie before the instruction
// pointer.
const KernelCodeBefore = 32

// MaxWatched is how many variables that nobody named one run can have.
const MaxWatched = 1 << 15
