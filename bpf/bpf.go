// Package bpf holds the programs that run in the kernel, the records that they share with Go, and
// the objects that clang compiles from them, which are committed so that building needs only Go.
//
// It exports the generated loader (LoadTracepredict) and the types of records, of sites, and of
// what iterators and maps hold. The meaning of a probe is data in a Site; the package knows nothing
// of ELF files, processes or analyses.
package bpf

import "unsafe"

// The types that the programs share with Go.
//
//go:generate go run ./genops
//go:generate go tool -modfile=../scripts/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target amd64,arm64 -type record -type call_record -type stack_record -type stack_key -type known_stack -type stack_part -type site -type access_site -type sync_site -type heap_site -type function_site -type futex_site -type futex_key -type futex_sum -type futex_wait -type task_line -type sleeper -type lost_line -type watch_key -type watch -type watched_line -type kernel_code -type signature -type tally -type thread_cost -type formula_body -type formula_input -type scope_automata -type scope_site -type scope_lock -type scope_thread -type scope_record -type scope_state Tracepredict tracepredict.bpf.c -- -Iinclude -O2 -g -Wall -Werror -mcpu=v3
type (
	// Record is one event; struct record of record.h.
	Record = TracepredictRecord
	// CallRecord is a Record of a call with its parameters; struct call_record.
	CallRecord = TracepredictCallRecord
	// StackRecord is the data from which a call stack is computed; struct stack_record.
	StackRecord = TracepredictStackRecord
	// StackKey identifies the call stacks of a site, caller and depth; struct stack_key of slot.h.
	StackKey = TracepredictStackKey
	// KnownStack is the ID of a call stack that has been seen, and the return addresses by which it is told from other call
	// stacks with the same StackKey; struct known_stack.
	KnownStack = TracepredictKnownStack
	// StackPart is a piece of a thread's stack, sent for a new call stack; struct stack_part.
	StackPart = TracepredictStackPart
	// Site describes what a probe observes; struct site of site.h.
	Site = TracepredictSite
	// AccessSite is the part of a Site of an access; struct access_site.
	AccessSite = TracepredictAccessSite
	// SyncSite is the part of a Site of a synchronisation call; struct sync_site.
	SyncSite = TracepredictSyncSite
	// HeapSite is the part of a Site that begins or ends lifetimes; struct heap_site.
	HeapSite = TracepredictHeapSite
	// FunctionSite is the part of a Site of a function that the user asked for; struct
	// function_site.
	FunctionSite = TracepredictFunctionSite
	// FutexSite is the part of a Site of a call of futex(2); struct futex_site.
	FutexSite = TracepredictFutexSite
	// FutexKey is what waits for futexes are summed up by; struct futex_key of futex.h.
	FutexKey = TracepredictFutexKey
	// FutexSum is how many such waits there were, and for how long; struct futex_sum.
	FutexSum = TracepredictFutexSum
	// FutexWait is the wait of a thread that is in the kernel; struct futex_wait.
	FutexWait = TracepredictFutexWait
	// Signature describes what is recorded of the calls of a function; struct signature.
	Signature = TracepredictSignature
	// TaskLine is a thread that existed when the observation began; struct task_line.
	TaskLine = TracepredictTaskLine
	// Sleeper is what a thread is doing; struct sleeper of sleeper.h.
	Sleeper = TracepredictSleeper
	// LostLine is the number of lost records of a thread that no record has reported; struct
	// lost_line.
	LostLine = TracepredictLostLine
	// WatchKey identifies a hardware watchpoint; struct watch_key.
	WatchKey = TracepredictWatchKey
	// Watch describes what a hardware watchpoint observes; struct watch.
	Watch = TracepredictWatch
	// WatchedLine is a thread that has a hardware watchpoint of the tool; struct watched_line.
	WatchedLine = TracepredictWatchedLine
	// KernelCode is code of the kernel that accessed a variable; struct kernel_code.
	KernelCode = TracepredictKernelCode
	// ThreadCost is what accesses that nobody named have cost a thread; struct thread_cost of record.h.
	ThreadCost = TracepredictThreadCost
	// ScopeAutomata are the automata of local properties; struct scope_automata of scope.h.
	ScopeAutomata = TracepredictScopeAutomata
	// ScopeSite is what a call or a return is to a scope; struct scope_site.
	ScopeSite = TracepredictScopeSite
	// ScopeLock is an operation on a lock that is a synchronising action; struct scope_lock.
	ScopeLock = TracepredictScopeLock
	// ScopeThread is the state of a thread; struct scope_thread.
	ScopeThread = TracepredictScopeThread
	// ScopeRecord is the record of a synchronising action, which ScopeStates follow; struct scope_record.
	ScopeRecord = TracepredictScopeRecord
	// ScopeState is what a region brings of a thread; struct scope_state.
	ScopeState = TracepredictScopeState
	// Tally is the state that the programs keep of a variable that the user did not name; struct
	// tally.
	Tally = TracepredictTally
	// Formula is what the programs evaluate of a formula on what threads know; struct formula of site.h.
	Formula = TracepredictFormula
	// FormulaBody is one expression of a Formula; struct formula_body.
	FormulaBody = TracepredictFormulaBody
	// FormulaInput is an input of a FormulaBody; struct formula_input.
	FormulaInput = TracepredictFormulaInput
	// KnownThread is what the code of expressions reads of a thread; struct known_thread of monitor.h.
	KnownThread = TracepredictKnownThread
)

// A Site ends in a union by operation. Its Access is the first member and the largest, and the
// methods return the others, which share its memory.

// Sync returns the site's part of a synchronisation call.
func (s *Site) Sync() *SyncSite { return (*SyncSite)(unsafe.Pointer(&s.Access)) }

// Heap returns the site's part that begins or ends lifetimes.
func (s *Site) Heap() *HeapSite { return (*HeapSite)(unsafe.Pointer(&s.Access)) }

// Function returns the site's part of a function that the user asked for.
func (s *Site) Function() *FunctionSite { return (*FunctionSite)(unsafe.Pointer(&s.Access)) }

// Futex returns the site's part of a call of futex(2).
func (s *Site) Futex() *FutexSite { return (*FutexSite)(unsafe.Pointer(&s.Access)) }

// CookieFilter marks, in a link's cookie, that the program must look for the
// process in the targets map because the link has no PID filter.
const CookieFilter = 1 << 63

// CookieGeneration is the difference between the cookies of two successive generations of a link.
const CookieGeneration = 1 << 32

// StackPartBytes is the maximal number of bytes of a stack in a StackPart.
const StackPartBytes = 1 << 10

// MaxStack is the maximal number of bytes of a stack that are sent.
const MaxStack = 64 << 10

// MaxSites bounds the number of sites of one run, and MaxPointerSites that of one that observes accesses through
// pointers.
const (
	MaxSites        = 1 << 16
	MaxPointerSites = 1 << 18
)

// MaxUnseen bounds the numbers that identify instructions that synchronise without being observed
// (OpUnseen); 0 means none.
const MaxUnseen = 1 << 13

// UnseenCosts is the Result of an OpUnseen whose probe costs more than it does to remove it; UNSEEN_REMOVE of
// unseen.h.
const UnseenCosts = 2

// UnseenEarly marks, in the cookie of the probe of such an instruction, that executions count while the
// process has one thread too. Their records have a Value.
const UnseenEarly = 1 << 16

// UnseenAsks marks, in the cookie of the probe of the end of a loop that waits, that the loop asks by
// system calls; UNSEEN_ASKS of unseen.h.
const UnseenAsks = 1 << 17

// MaxSignatures bounds the number of different signatures of one run.
const MaxSignatures = 1 << 12

// MaxChain bounds the number of sites of one program at one address.
const MaxChain = 8

// KernelCodeBefore is the number of bytes of a KernelCode that lie before the instruction
// pointer.
const KernelCodeBefore = 32

// OuterWords is how many return addresses tell a call stack from others with its key.
const OuterWords = len(KnownStack{}.At)

// MaxRings is the largest number of ring buffers.
const MaxRings = 64

// MaxWatched bounds the number of variables of one run that are watched although the user did not
// name them.
const MaxWatched = 1 << 15

// MaxAllocations is the number of blocks of memory of which it is kept where they were allocated.
const MaxAllocations = 1 << 18

// The sizes of the tables of waits for futexes, where these are observed: threads that may wait at a time; words whose
// last wake-up is known; sums of waits; and how many of the sums tell words and threads apart.
const (
	MaxFutexWaiting = 1 << 15
	MaxFutexWords   = 1 << 14
	MaxFutexSums    = 1 << 16
	MaxFutexKeys    = MaxFutexSums / 4 * 3
)

// WordTables bounds the tables of words that are accessed through pointers. WordBits is the binary logarithm of the
// number of words in each, AtomicWordBits if only atomic code's are observed, and PageBits that of the number of bits that say which
// pages have such words.
const (
	WordTables     = 4
	WordBits       = 20
	AtomicWordBits = 14
	PageBits       = 22
)

// Past is the last access of a part of a word; struct past of wordtables.h.
type Past struct {
	When uint64 // time (ns) and bytes, in the low 8 bits; 0: none
	Site uint32
	From int32
}

// Word is what is known of eight bytes of memory; struct word of wordtables.h.
type Word struct {
	Key, Owner    uint64
	Wrote, Read   [2]Past
	Named, Latest uint64
	Atomic, Table uint32
}

// wordShared is the Owner of a word that several threads have accessed.
const wordShared = 1 << 32

// Last returns the site of the last access of the one thread that has accessed a word; ok is false if none or several
// have, or if it is no word.
func (w *Word) Last() (site uint32, ok bool) {
	if w.Key <= 1 || w.Owner == 0 || w.Owner == wordShared {
		return 0, false
	}
	var last Past
	for _, p := range [...]Past{w.Wrote[0], w.Wrote[1], w.Read[0], w.Read[1]} {
		if p.When > last.When {
			last = p
		}
	}
	return last.Site, last.When != 0
}
