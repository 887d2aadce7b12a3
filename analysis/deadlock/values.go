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
	"github.com/tracepredict/tracepredict/observer/clock"
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

// maxRefinements bounds how often the schedules of byAnyValue are searched anew without reads that decide.
const maxRefinements = 16

// byAnyValue asks again about deadlocks that are not predicted, and about those that the order of writes and reads
// keeps apart: for schedules in which reads of data see other values than in the run (predict.History.AnyValue). A
// schedule in which the code that follows such a read certainly does something else is not used: the search is
// repeated with what that read saw. What remains is likely, since the rest of the code is not known.
func (a *Analysis) byAnyValue(deadlocks []finding.Finding) []finding.Finding {
	if a.shared.Known.Differs == nil || a.goodlock.Stats().Edges == 0 {
		return deadlocks
	}
	decisive := map[seenAt]bool{}
	for range maxRefinements {
		held := locks.New()
		cycles := a.again(held)
		history := a.shared.History.AnyValue(func(stack event.StackID, value uint64) bool { return decisive[seenAt{stack, value}] }, clock.New(), func(e *event.Event) {
			held.Event(e)
			cycles.Event(e)
		})
		if history == nil {
			return deadlocks
		}
		found := byValue(history, cycles, slices.Clone(deadlocks))
		a.shared.Revisited.Add(history.Witnesses())
		if !a.decide(history, found, decisive) {
			return found
		}
	}
	return deadlocks
}

// seenAt is a value that the reads at a call stack have seen.
type seenAt struct {
	stack event.StackID
	value uint64
}

// decide adds the reads that certainly decide something else in the schedules of findings. It reports whether there
// are any.
func (a *Analysis) decide(history *predict.History, found []finding.Finding, decisive map[seenAt]bool) (some bool) {
	for i := range found {
		if len(found[i].OtherValues) == 0 {
			continue
		}
		asked := map[seenAt]bool{}
		for _, d := range history.Detours(&found[i]) {
			some = a.decideDetour(d, asked, decisive) || some
		}
		for _, r := range history.OtherReads(&found[i]) {
			if at := (seenAt{r.Stack, r.Value}); !asked[at] && a.shared.Known.Differs(r.Stack, r.Value, r.Other, r.Initially) {
				decisive[at] = true
				some = true
			}
		}
	}
	return some
}

// decideDetour adds the reads each of which alone leads the thread elsewhere, if all of a detour together do. It adds
// to asked the reads of a detour that is understood.
func (a *Analysis) decideDetour(d event.Detour, asked, decisive map[seenAt]bool) (some bool) {
	course := a.shared.Known.Course(d)
	if course == event.CourseUnclear {
		return false
	}
	for i, r := range d.Reads {
		if !r.Differs() {
			continue
		}
		at := seenAt{r.Stack, r.Value}
		asked[at] = true
		if course == event.CourseElsewhere && a.shared.Known.Course(only(d, i)) == event.CourseElsewhere {
			decisive[at] = true
			some = true
		}
	}
	return some
}

// only returns a detour in which only one read has another value.
func only(d event.Detour, read int) event.Detour {
	d.Reads = slices.Clone(d.Reads)
	for i := range d.Reads {
		if r := &d.Reads[i]; i != read {
			r.Other, r.Initially = r.Value, false
		}
	}
	return d
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
