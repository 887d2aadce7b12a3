// Package part says what an analysis of a run is, and holds what the analyses of one run share: the locks that threads
// hold, the kept part of the run, the search for schedules in it, and what is known of the program.
//
// A Part takes the events of a run in order. When the run has ended, package engine calls its methods in this order:
// Close, Settle, Look.Settle if it is a Revisiter, Finish; each for all parts before the next. A part knows no other part,
// no file and no report: what it has found, and what a reader should know about it, it adds to the Outcome.
package part

import (
	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Part is an analysis of a run. One that embeds Base has all methods but Event and Finish; one that only takes events and
// returns findings becomes a Part by Of.
type Part interface {
	// Needs says which events it takes besides those of synchronisation and of memory.
	Needs() Needs
	// Event processes the next event of the run. The event is reused: a part that keeps it must copy it.
	Event(*event.Event)
	// Remember adds the threads, objects and call stacks that what is kept still names.
	Remember(*event.Names)
	// Evicting is called before the kept part of the run loses its oldest events.
	Evicting()
	// Shrink evicts the oldest of what is kept, since memory is full. It returns the number of variables among it, and
	// whether there was anything.
	Shrink() (variables int, some bool)
	// Bounds adds what was discarded so far.
	Bounds(*run.Bounds)
	// Close is called after the last event. It returns the number of candidates for which Settle will ask for schedules.
	Close() int
	// Settle takes candidates to a verdict.
	Settle(*Outcome)
	// Finish adds what was found to the outcome, when all parts have settled their candidates.
	Finish(*Outcome)
}

// Needs is a set of kinds of events.
type Needs uint8

const (
	// Calls are calls and returns of functions, and the lives of instances.
	Calls Needs = 1 << iota
	// Misuses are events that tell of a misuse and order nothing.
	Misuses
	// Again are acquires of a lock that the thread holds already.
	Again
)

// Outcome is what came of a run.
type Outcome struct {
	Findings []finding.Finding
	// First are notes for the reader that say what was judged and what may be missed, and Notes are others.
	First, Notes []string
	Locks        *run.Locks       // nil: lock orders were not looked at
	Properties   *run.Properties  // nil: there are none
	Protocols    *run.Protocols   // nil: there are none
	Lattice      *run.Lattice     // nil: there is none
	ObjectRaces  *run.ObjectRaces // nil: races on objects were not looked for
	Witnesses    execution.Tally  // of schedules that parts found without Shared
	// Err is why the outcome is none; nil if it is one.
	Err error
}

// Add adds findings.
func (o *Outcome) Add(found ...finding.Finding) { o.Findings = append(o.Findings, found...) }

// Revisiter is a Part that asks again for schedules in which reads see other writes than in the run.
type Revisiter interface {
	Part
	// Revisit returns an analysis of the same events, in which each read may see any write of the value that it saw.
	// Held is the table of locks of these events.
	Revisit(held *locks.Table) Look
}

// Look is an analysis of the events of a run with other orders between writes and reads.
type Look interface {
	Event(*event.Event)
	// Settle takes candidates to a verdict that are not predicted yet, by schedules of history.
	Settle(history *predict.History)
}

// Base has the methods of a Part that keeps nothing and asks for no schedules.
type Base struct{}

// Needs implements Part.
func (Base) Needs() Needs { return 0 }

// Remember implements Part.
func (Base) Remember(*event.Names) {}

// Evicting implements Part.
func (Base) Evicting() {}

// Shrink implements Part.
func (Base) Shrink() (variables int, some bool) { return 0, false }

// Bounds implements Part.
func (Base) Bounds(*run.Bounds) {}

// Close implements Part.
func (Base) Close() int { return 0 }

// Settle implements Part.
func (Base) Settle(*Outcome) {}

// simple is an analysis as a Part.
type simple struct {
	Base
	analysis finding.Analysis
}

// Of returns an analysis as a Part. If it names threads or objects that have ended, it implements Remember too.
func Of(a finding.Analysis) Part { return simple{analysis: a} }

// Event implements Part.
func (s simple) Event(e *event.Event) { s.analysis.Event(e) }

// Remember implements Part.
func (s simple) Remember(n *event.Names) {
	if r, ok := s.analysis.(interface{ Remember(*event.Names) }); ok {
		r.Remember(n)
	}
}

// Finish implements Part.
func (s simple) Finish(out *Outcome) { out.Add(s.analysis.Finish()...) }
