// Package atomicity predicts violations of the atomicity of a block of code: schedules of a run in which events of another
// thread come between the events of one execution of the block, so that no order of the same conflicts has the block's
// events next to each other (Farzan, Madhusudan, "Monitoring Atomicity in Concurrent Programs", CAV 2008; conflicts are
// those of Flanagan, Freund, Yi, "Velodrome", PLDI 2008).
//
// The input is the executions of the block, and at the end the kept part of the run (predict.History); the output is
// findings. Accesses of a variable conflict if one of them writes, also if they are atomic, and critical sections of a lock
// if one excludes the other. What the run itself shows is not predicted: package knowledge has observed it.
//
// # Candidates
//
// A candidate is an event of the block, events from and to of another thread, and a later event of the block; the first
// conflicts with from, and to with the last. For each to, each conflicting event of the block is tried as the last, as a
// schedule ends there: later ones need more of the block to be executed first. What conflicts only by way of several
// threads is no candidate. Candidates at the same call stacks are a class, of which few are tried. A schedule shows all
// classes whose events it has in that order; findings with the same gap in the block are one.
//
// # Values
//
// What has no schedule in which each read sees what it saw in the run is searched for once more in schedules in which reads
// of data see other values (part.Shared.ByAnyValue): the thread that looks into a block often reads what the block has not
// written yet. Such findings have OtherValues, which make them likely.
//
// # Cost
//
// An execution of the block is a few words, up to maxBlocks. The search at the end is bounded by maxBlocks, maxNear,
// maxCandidates and maxQuestions; Stats says what was left.
package atomicity

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/observer/event"
)

// The bounds of the search.
const (
	maxBlocks     = 1 << 12 // executions of the block that are kept, the latest
	maxAlike      = 4       // that have the same events at the same call stacks, of a thread
	maxNear       = 64      // events of another thread before a block, likewise after it
	maxApart      = 8       // events of another thread from the first to the last of a candidate
	maxCandidates = 1 << 19
	maxTries      = 6   // candidates of a class
	maxQuestions  = 512 // searches for a schedule
	maxFindings   = 32
)

// Options configure an Analysis.
type Options struct {
	Property, Message string // of the findings
}

// block is an execution of the block. Its end is 0 as long as it lasts.
type block struct {
	thread   event.ThreadID
	from, to uint64 // Seq
}

// Stats are figures of the search.
type Stats struct {
	Blocks    uint64 // executions of the block
	Left      uint64 // of these, not examined, since there were too many
	Questions uint64 // searches for a schedule
	Unsettled uint64 // classes of candidates that were not, or not wholly, searched
}

// Analysis predicts violations of one block.
type Analysis struct {
	o      Options
	blocks []block
	inside map[event.ThreadID]int // by thread in the block: the index of its execution
	stats  Stats
	found  []finding.Finding
}

// New returns the analysis of a run that has not begun.
func New(o Options) *Analysis { return &Analysis{o: o, inside: map[event.ThreadID]int{}} }

// Enter records that a thread enters the block, with the event of that Seq.
func (a *Analysis) Enter(thread event.ThreadID, seq uint64) {
	a.stats.Blocks++
	if len(a.blocks) == 2*maxBlocks {
		a.discard()
	}
	a.inside[thread] = len(a.blocks)
	a.blocks = append(a.blocks, block{thread: thread, from: seq})
}

// Leave records that a thread leaves the block.
func (a *Analysis) Leave(thread event.ThreadID, seq uint64) {
	if i, in := a.inside[thread]; in {
		a.blocks[i].to = seq
		delete(a.inside, thread)
	}
}

// discard discards the older half of the executions.
func (a *Analysis) discard() {
	n := len(a.blocks) - maxBlocks
	a.stats.Left += uint64(n)
	a.blocks = a.blocks[:copy(a.blocks, a.blocks[n:])]
	for thread, i := range a.inside {
		if a.inside[thread] = i - n; i < n {
			delete(a.inside, thread)
		}
	}
}

// Settle searches for schedules in the kept part of the run, which has ended.
func (a *Analysis) Settle(shared *part.Shared) {
	s := newSearch(a, shared.Search.Over)
	s.collect(shared.History)
	classes := s.classes()
	s.ask(shared.History, classes)
	if slices.ContainsFunc(classes, func(g *group) bool { return !g.shown }) {
		s.askAnyValue(shared, classes)
	}
	for _, g := range classes {
		if g.unsettled && !g.shown {
			a.stats.Unsettled++
		}
	}
	a.found = s.found
}

// Finish returns the findings.
func (a *Analysis) Finish() []finding.Finding { return a.found }

// Stats returns figures of the search.
func (a *Analysis) Stats() Stats { return a.stats }
