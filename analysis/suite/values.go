package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/eraser"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/goodlock"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

// byValue asks again about deadlocks and races that are not predicted, and about those whose sides the
// order of writes and reads keeps apart: for schedules in which a read sees another write than in the
// run, but the same value (predict.History.ByValue). A candidate that then is predicted replaces its
// finding, or is added.
func (s *Suite) byValue(deadlocks, races []finding.Finding) (moreDeadlocks, moreRaces []finding.Finding) {
	held := locks.New()
	o := s.lockOptions
	o.Locks = held
	cycles, sets := goodlock.New(o), eraser.New(eraser.Options{EveryPair: true, Locks: held})
	history := s.history.ByValue(clock.New(), func(e *event.Event) {
		held.Event(e)
		if e.Op != event.AcquireAgain {
			sets.Event(e)
		}
		cycles.Event(e)
	})
	if history == nil {
		return deadlocks, races
	}
	deadlocks = deadlocksByValue(history, cycles, deadlocks)
	races = racesByValue(history, sets, races)
	s.byValueWitnesses = history.Witnesses()
	return deadlocks, races
}

// maxRefinements bounds how often the schedules of byAnyValue are searched anew without reads that decide.
const maxRefinements = 16

// byAnyValue asks again about deadlocks that are not predicted, and about those that the order of writes and reads
// keeps apart: for schedules in which reads of data see other values than in the run (predict.History.AnyValue). A
// schedule in which the code that follows such a read certainly does something else is not used: the search is
// repeated with what that read saw. What remains is likely, since the rest of the code is not known.
func (s *Suite) byAnyValue(deadlocks []finding.Finding) []finding.Finding {
	if s.differs == nil || s.goodlock.Stats().Edges == 0 {
		return deadlocks
	}
	decisive := map[seenAt]bool{}
	for range maxRefinements {
		held := locks.New()
		o := s.lockOptions
		o.Locks = held
		cycles := goodlock.New(o)
		history := s.history.AnyValue(func(stack event.StackID, value uint64) bool { return decisive[seenAt{stack, value}] }, clock.New(), func(e *event.Event) {
			held.Event(e)
			cycles.Event(e)
		})
		if history == nil {
			return deadlocks
		}
		found := deadlocksByValue(history, cycles, slices.Clone(deadlocks))
		s.byValueWitnesses.Add(history.Witnesses())
		if !s.decide(history, found, decisive) {
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
func (s *Suite) decide(history *predict.History, found []finding.Finding, decisive map[seenAt]bool) (some bool) {
	for i := range found {
		if len(found[i].OtherValues) == 0 {
			continue
		}
		asked := map[seenAt]bool{}
		for _, d := range history.Detours(&found[i]) {
			some = s.decideDetour(d, asked, decisive) || some
		}
		for _, r := range history.OtherReads(&found[i]) {
			if at := (seenAt{r.Stack, r.Value}); !asked[at] && s.differs(r.Stack, r.Value, r.Other, r.Initially) {
				decisive[at] = true
				some = true
			}
		}
	}
	return some
}

// decideDetour adds the reads each of which alone leads the thread elsewhere, if all of a detour together do. It adds
// to asked the reads of a detour that is understood.
func (s *Suite) decideDetour(d event.Detour, asked, decisive map[seenAt]bool) (some bool) {
	course := s.course(d)
	if course == event.CourseUnclear {
		return false
	}
	for i, r := range d.Reads {
		if !r.Differs() {
			continue
		}
		at := seenAt{r.Stack, r.Value}
		asked[at] = true
		if course == event.CourseElsewhere && s.course(only(d, i)) == event.CourseElsewhere {
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

// deadlocksByValue is byValue for deadlocks.
func deadlocksByValue(history *predict.History, cycles *goodlock.Analysis, all []finding.Finding) []finding.Finding {
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
		f.HasTimeout = hasTimeout(f)
		if f.Reason = ""; seen {
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

// racesByValue is byValue for races.
func racesByValue(history *predict.History, sets *eraser.Analysis, all []finding.Finding) []finding.Finding {
	known := map[accessPair]int{}
	for i := range all {
		known[pairOf(&all[i])] = i
	}
	for i, c := range sets.Races() {
		at, seen := known[pairOf(&c.Finding)]
		if i >= maxOthers || seen && all[at].Confidence != finding.Potential {
			continue
		}
		if history.SettleRace(&c.Finding, c.Instances).Verdict != predict.Predicted {
			continue
		}
		if c.Reason = ""; seen {
			all[at] = c.Finding
		} else {
			all = append(all, c.Finding)
		}
	}
	return all
}
