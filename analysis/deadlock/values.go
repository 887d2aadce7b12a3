package deadlock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/event"
)

// look asks again about deadlocks that are not predicted, and about those whose sides the order of writes and reads
// keeps apart: for schedules in which a read sees another write than in the run, but the same value
// (predict.History.ByValue). A candidate that then is predicted replaces its finding, or is added. It implements part.Look.
type look struct {
	analysis *Analysis
	cycles   *goodlock.Analysis
}

// Revisit implements part.Revisiter.
func (a *Analysis) Revisit(held *locks.Table) part.Look { return &look{a, a.again(held)} }

// again returns another lock-order analysis of the same events.
func (a *Analysis) again(held *locks.Table) *goodlock.Analysis {
	o := a.lockOptions
	o.Locks = held
	return goodlock.New(o)
}

// Event implements part.Look.
func (l *look) Event(e *event.Event) { l.cycles.Event(e) }

// Settle implements part.Look.
func (l *look) Settle(history *predict.History) {
	l.analysis.found = byValue(history, l.cycles, l.analysis.found)
}

// byAnyValue asks again about deadlocks that are not predicted, and about those that the order of writes and reads
// keeps apart: for schedules in which reads of data see other values than in the run.
func (a *Analysis) byAnyValue(deadlocks []finding.Finding) []finding.Finding {
	if a.goodlock.Stats().Edges == 0 {
		return deadlocks
	}
	var cycles *goodlock.Analysis
	found, some := a.shared.ByAnyValue(func() func(*event.Event) {
		held := locks.New()
		cycles = a.again(held)
		return func(e *event.Event) {
			held.Event(e)
			cycles.Event(e)
		}
	}, func(history *predict.History) []finding.Finding {
		return byValue(history, cycles, slices.Clone(deadlocks))
	})
	if !some {
		return deadlocks
	}
	return found
}

// byValue takes deadlocks to a verdict that are not predicted, by the schedules of a history with other orders between
// writes and reads. A candidate that then is predicted replaces its finding, or is added.
func byValue(history *predict.History, cycles *goodlock.Analysis, all []finding.Finding) []finding.Finding {
	known := map[string]int{}
	for i := range all {
		known[requestsOf(&all[i])] = i
	}
	found, candidates := cycles.Finish(), cycles.Candidates()
	for i := range found {
		f := &found[i]
		at, seen := known[requestsOf(f)]
		if seen && all[at].Confidence != finding.Potential {
			continue
		}
		if history.Settle(f, candidates[i]).Verdict != predict.Predicted {
			continue
		}
		f.HasTimeout = finding.AnyTimed(f.Evidence)
		if f.Reason = (reason.Reason{}); seen {
			all[at] = *f
		} else {
			all = append(all, *f)
		}
	}
	return all
}

// requestsOf identifies the requests of a deadlock, in any order.
func requestsOf(f *finding.Finding) string {
	var all []string
	for _, e := range f.Evidence {
		all = append(all, fmt.Sprint(e.Thread, e.Object, e.Stack))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}
