package part

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

// maxRefinements bounds how often the schedules of ByAnyValue are searched anew without reads that decide.
const maxRefinements = 16

// ByAnyValue searches in schedules in which reads of data see other values than in the run (predict.History.AnyValue).
// Search gets the history of these, after begin and then each event that begin's result is passed. It returns the
// findings. A schedule in which the code that follows such a read certainly does something else is not used: search is
// repeated with what that read saw. What remains is likely, since the rest of the code is not known. ByAnyValue is false
// if nothing is known of the code, or no such schedules were left in the end.
func (s *Shared) ByAnyValue(begin func() func(*event.Event), search func(*predict.History) []finding.Finding) ([]finding.Finding, bool) {
	if s.Known.Differs == nil {
		return nil, false
	}
	d := decisive{s, map[seenAt]bool{}}
	for range maxRefinements {
		history := s.History.AnyValue(func(stack event.StackID, value uint64) bool { return d.reads[seenAt{stack, value}] }, clock.New(), begin())
		if history == nil {
			return nil, false
		}
		found := search(history)
		s.Revisited.Add(history.Witnesses())
		if !d.decide(history, found) {
			return found, true
		}
	}
	return nil, false
}

// seenAt is a value that the reads at a call stack have seen.
type seenAt struct {
	stack event.StackID
	value uint64
}

// decisive are the reads that certainly decide something else if they see another value.
type decisive struct {
	shared *Shared
	reads  map[seenAt]bool
}

// decide adds the reads that do in the schedules of findings. It reports whether there are any.
func (d *decisive) decide(history *predict.History, found []finding.Finding) (some bool) {
	for i := range found {
		if len(found[i].OtherValues) == 0 {
			continue
		}
		asked := map[seenAt]bool{}
		for _, detour := range history.Detours(&found[i]) {
			some = d.detour(detour, asked) || some
		}
		for _, r := range history.OtherReads(&found[i]) {
			if at := (seenAt{r.Stack, r.Value}); !asked[at] && d.shared.Known.Differs(r.Stack, r.Value, r.Other, r.Initially) {
				d.reads[at] = true
				some = true
			}
		}
	}
	return some
}

// detour adds the reads each of which alone leads the thread elsewhere, if all of a detour together do. It adds to asked
// the reads of a detour that is understood.
func (d *decisive) detour(of event.Detour, asked map[seenAt]bool) (some bool) {
	course := d.shared.Known.Course(of)
	if course == event.CourseUnclear {
		return false
	}
	for i, r := range of.Reads {
		if !r.Differs() {
			continue
		}
		at := seenAt{r.Stack, r.Value}
		asked[at] = true
		if course == event.CourseElsewhere && d.shared.Known.Course(only(of, i)) == event.CourseElsewhere {
			d.reads[at] = true
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
