// Package predict turns candidates (a pattern of acquires that could close a
// cycle, two conflicting accesses) into predictions, each with a witness, or
// returns the reason why a candidate is not predicted.
//
// The input is every event of a run, stamped with the clocks of the must-order
// (observer/clock), which a History keeps; then questions about events, by their Seq.
// The output is a Result: Predicted with the interleaving that leads to the error,
// Refuted where no correct reordering that was searched for leads there, Unknown where
// events that the answer needs were evicted or never seen, or the search for reversals
// spent its budget. The package never knows how candidates are found.
//
// # Algorithm
//
// The sync-preserving closure of a set of events: the smallest set that holds it
// and is closed under thread order, the edges of order.Must and
// reads-from, and in which, for each lock, every critical section but the trace-latest
// is complete (for a read-write lock: every section that a later one excludes). If
// the closure of what precedes the candidates has none of the candidates in it,
// the run projected on it is a feasible run that ends with all of them enabled
// (or blocked by each other). Races: Mathur, Pavlogiannis, Viswanathan, "Optimal
// Prediction of Synchronization-Preserving Races", POPL 2021, Section 4.
// Deadlocks: Tunç, Mathur, Pavlogiannis, Viswanathan, "Sound Dynamic Deadlock
// Prediction in Linear Time", PLDI 2023, Sections 4 and 5: along the instances of
// one abstract pattern the closure only grows, so it is computed once.
//
// Beyond these papers the closure keeps failed attempts (the holder's acquire must
// be in it), semaphores (the post that let a wait through, by count), barrier
// generations and condition variables as the order table requires.
//
// Where the closure refutes a candidate, a search with a budget (Options.Reversals)
// looks for a reversal: a schedule in which critical sections of a lock change places.
//
// Settle asks the questions about a finding and writes the answer into it.
//
// # Trust
//
// Nothing is Predicted unless package execution accepts the witness. That package executes
// the witness by the rules of locks, reads, waits and so on; it shares nothing with the closure.
//
// # Cost
//
// An event costs amortised O(1), and O(slots) where an edge from another slot comes in; it
// allocates nothing in the steady state. A question costs O(n + k·T·H·(T·log n)) for n events
// kept, k rounds of the lock rule (at most one a section), T slots and H locks held at once;
// the n is the walk along cross-thread edges and the witness.
// Memory is bounded by Options, however long the run.
package predict

import (
	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
)

// The bounds that a user can change have these defaults.
const (
	DefaultSections  = 1000    // Options.Sections
	DefaultReversals = 1 << 24 // Options.Reversals
)

// Options bounds what a History keeps. The zero value is useful.
type Options struct {
	// Sections is how many critical sections are kept for each lock and thread (slot of the
	// clocks); default DefaultSections, at least 2. When there are a quarter more, sections
	// from the middle of the run that contain nothing but lock operations and reads are
	// discarded, down to this number.
	Sections int
	// Events is how many events are kept in all; default 262144 (about 25 MB), at
	// least 16. Beyond it the oldest are evicted: predictions then begin at a
	// later point of the run.
	Events int
	// Witness is how many steps a witness may have before its beginning is left
	// out; default 1000, at least 16 and four for each side. The whole witness is checked
	// all the same.
	Witness int
	// Reversals bounds the search for schedules in which critical sections of a lock
	// change places. It counts steps of about 0.1 microseconds, of all questions together;
	// one question may use at most a sixteenth. Default DefaultReversals; negative: no search.
	Reversals int
	// BeforeEviction, if not nil, is called before events are evicted: questions about them can
	// still be asked then.
	BeforeEviction func()
	// Judges makes the checker of witnesses; default execution.DefaultChecker.
	Judges execution.NewChecker
	// Done, if not nil, reports whether the time for questions is over. Once it does, it always does:
	// questions that are left are not searched (Result.NotSearched). It is called often.
	Done func() bool
}

func (o Options) filled() Options {
	o.Sections = atLeast(o.Sections, DefaultSections, 2)
	o.Events = atLeast(o.Events, 1<<18, 16)
	o.Witness = atLeast(o.Witness, 1000, 16)
	if o.Reversals == 0 {
		o.Reversals = DefaultReversals
	}
	if o.Judges == nil {
		o.Judges = execution.DefaultChecker
	}
	return o
}

func atLeast(n, otherwise, least int) int {
	if n <= 0 {
		n = otherwise
	}
	return max(n, least)
}

// Verdict is the answer to a question.
type Verdict uint8

// The verdicts.
const (
	// Unknown: an event that the answer needs was evicted or never seen, or the budget of
	// the search is spent.
	Unknown Verdict = iota
	// Predicted: there is a witness, and the checker accepts it.
	Predicted
	// Refuted: no reordering that was searched for leads to the error.
	Refuted
)

// String returns the verdict as reports spell it.
func (v Verdict) String() string {
	return [...]string{"unknown", "predicted", "refuted"}[v%3]
}

// Pattern is a set of candidates for one deadlock: the thread of side i requests a
// lock that the thread of side i+1 holds; the last side is followed by the first. Each side
// lists, in ascending order, the Seq of acquires of one lock by one thread, in one mode
// and with the same locks held. Any acquire of a side may take part in the deadlock.
type Pattern [][]uint64

// Result answers a question.
type Result struct {
	Verdict Verdict
	// Reason is the reason why the verdict is not Predicted.
	Reason reason.Reason
	// Witness is the interleaving: for a deadlock it ends with the blocked
	// acquires in the order of the pattern's sides, for a race with the two accesses.
	Witness []finding.Step
	// Elided counts the steps at the witness's beginning that were left out, and the
	// evicted events before them, which happen as observed.
	Elided uint64
	// Chosen holds, for each side, the Seq of the acquire or access that the witness uses.
	Chosen []uint64
	// Timed reports that a blocked acquire has a time limit: the deadlock would end by itself.
	Timed bool
	// Reordered, of a result of Stuck, has the Seq of two acquires of a lock, or waits for a
	// semaphore, of which the witness executes the first after the second or not at all; else zeros.
	Reordered [2]uint64
	// Missed, of a result of Stuck, is the Seq of the notification that comes before the wait of the
	// only thread that waits; 0: there is none.
	Missed uint64
	// Taken, of a result of StuckByTaken, is the Seq of the signal that another thread took.
	Taken uint64
	// Order is the kind of reordering that the witness is.
	Order finding.Order
	// Assumes holds the assumptions of the prediction, for finding.Finding.Assumes.
	Assumes []string
	Spans   []finding.Span // for finding.Finding.Spans
	Moved   []finding.Span // for finding.Finding.Moved
	// MovedUnknown is for finding.Finding.MovedUnknown.
	MovedUnknown reason.Reason
	// Unexplained holds the Seq of the reads for finding.Finding.Unexplained.
	Unexplained []uint64
	// OtherValues is for finding.Finding.OtherValues.
	OtherValues []finding.Step
}

func unknown(what reason.What) Result {
	return Result{Verdict: Unknown, Reason: reason.Reason{What: what}}
}

func refuted(what reason.What) Result {
	return Result{Verdict: Refuted, Reason: reason.Reason{What: what}}
}
