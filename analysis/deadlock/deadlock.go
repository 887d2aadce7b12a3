// Package deadlock finds deadlocks of other schedules: cycles of the lock graph, between locks and between classes of locks,
// and other states in which no thread goes on, as behind a lost signal. It asks for a schedule for each, while the program
// runs for those of two threads, and for all at the end. The searches themselves are those of package predict.
package deadlock

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Options configure an Analysis.
type Options struct {
	// Locks configures the lock-order analysis: its bounds, and the callback for new edges.
	Locks goodlock.Options
	// Class, if not nil, also searches for deadlocks between classes of locks. It returns the class of a lock, "" for
	// none, and the process of the lock.
	Class func(event.ObjectID) (class string, process uint32)
	// Found, if not nil, is called for deadlocks of two threads when they are predicted while the program runs. They are
	// in the outcome too.
	Found func(*finding.Finding)
}

// Analysis is a part.Revisiter.
type Analysis struct {
	part.Base
	shared      *part.Shared
	goodlock    *goodlock.Analysis
	lockOptions goodlock.Options // those of another lock-order analysis of the same events
	early       early
	// potential is set by Close, and found by Settle.
	potential []finding.Finding
	found     []finding.Finding
}

// New returns the analysis of a run that has not begun.
func New(shared *part.Shared, o Options) *Analysis {
	a := &Analysis{shared: shared, lockOptions: o.Locks, early: early{found: map[string][]finding.Finding{}, report: o.Found, keeps: shared.Search.KeepsEarly}}
	a.lockOptions.OnEdge, a.lockOptions.Explain, a.lockOptions.Class = nil, nil, nil
	online := predict.NewOnline(shared.History, a.early.add)
	locks := o.Locks
	locks.Locks, locks.OnInverse, locks.OnAcquired = shared.Locks, online.Inverse, online.Acquired
	if shared.Explain {
		locks.Explain = a.explain
	}
	if o.Class != nil {
		locks.Class = func(id event.ObjectID) (c goodlock.Class) {
			c.Name, c.Process = o.Class(id)
			return c
		}
	}
	a.goodlock = goodlock.New(locks)
	return a
}

// explain collects a cycle that is no finding.
func (a *Analysis) explain(p finding.Pruned) {
	a.shared.SetOrderedBy(&p)
	p.ShortenHeld()
	a.shared.Pruned = append(a.shared.Pruned, p)
}

// Needs implements part.Part.
func (a *Analysis) Needs() part.Needs { return part.Again }

// Event implements part.Part.
func (a *Analysis) Event(e *event.Event) { a.goodlock.Event(e) }

// Remember implements part.Part.
func (a *Analysis) Remember(n *event.Names) {
	a.goodlock.Remember(n)
	a.early.remember(n)
}

// Shrink implements part.Part.
func (a *Analysis) Shrink() (variables int, some bool) { return 0, a.goodlock.Shrink() }

// Close implements part.Part.
func (a *Analysis) Close() int {
	a.potential = a.goodlock.Finish()
	return len(a.potential)
}

// Settle implements part.Part.
func (a *Analysis) Settle(*part.Outcome) {
	settled, groups := a.settled(a.potential, a.goodlock.Candidates())
	a.found = groups.finish(settled, a.early.rest())
}

// Finish implements part.Part. The search for deadlocks that are no cycles of locks comes last, since the kept part of the
// run then takes no more events.
func (a *Analysis) Finish(out *part.Outcome) {
	found := a.byAnyValue(a.found)
	a.unpruned(found)
	stuck := addSchedules(found, withoutCycles(a.stuck(), slices.Concat(found, out.Findings)))
	out.Add(slices.Concat(found, stuck, a.goodlock.Classes())...)
	a.bounds(out)
}

// bounds adds how far the lock graph was searched, with notes on what bounds left out.
func (a *Analysis) bounds(out *part.Outcome) {
	n := a.goodlock.Stats()
	before := len(out.First)
	say := func(format string, args ...any) { out.First = append(out.First, plural.Sprintf(format, args...)) }
	if n.BudgetHit {
		say("the search for deadlocks ended at its budget, before all cycles of locks were looked at: deadlocks may be missed, and a larger --cycle-budget looks at more")
	}
	if n.LongerCycles {
		say("cycles of locks of more threads than --max-cycle were not looked for")
	}
	if n.DroppedEdges > 0 {
		say("%d {acquisition|acquisitions} had lock orders for which there was no room: deadlocks may be missed, and a larger --max-patterns keeps more", n.DroppedEdges)
	}
	if n.DroppedFindings > 0 {
		say("%d {cycle of locks was|cycles of locks were} found beyond those that are kept", n.DroppedFindings)
	}
	out.Locks = &run.Locks{Edges: n.Edges, Acquisitions: n.Instances, Complete: len(out.First) == before && n.EvictedEdges == 0}
}
