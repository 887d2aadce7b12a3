package suite

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/happensbefore"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/event"
)

// races returns the races observed in this run, then those predicted or suspected for other
// schedules. A pair of call stacks that was observed to race is not returned again.
func (s *Suite) races() []finding.Finding {
	var out []finding.Finding
	known := map[accessPair]int{}
	for _, r := range s.order.Races() {
		known[pairOf(&r.Finding)] = len(out)
		out = append(out, s.observed(r))
	}
	suspected := s.eraser.Finish()
	for i := range suspected {
		f := &suspected[i]
		if at, ok := known[pairOf(f)]; ok {
			out[at].Count = max(out[at].Count, f.Count)
			continue
		}
		s.settle(f, nil)
		out = append(out, *f)
	}
	return out
}

// observed returns the finding for a race of this run, with a schedule that shows it if the kept
// part of the trace has the events needed. If it has them and there is no schedule, or the checker
// refuses it, something that was not recorded may have ordered the two accesses. Then the race is
// only potential.
func (s *Suite) observed(r happensbefore.Race) finding.Finding {
	f := r.Finding
	switch result := s.settle(&f, r.Instances); {
	case result.Verdict == predict.Predicted:
		f.Confidence = finding.Observed
	case r.Uncertain || !result.Evicted():
		f.Confidence = finding.Potential
	default:
		f.Reason = "no schedule is shown: " + result.Reason
	}
	return f
}

// accessPair identifies the two accesses of a race, in either order: findings with equal pairs are
// one error.
type accessPair struct {
	variable event.ObjectID
	a, b     accessSite
}

// accessSite is the call stack and the operation of an access.
type accessSite struct {
	stack event.StackID
	op    event.Op
}

func pairOf(f *finding.Finding) accessPair {
	p := []accessSite{{f.Evidence[0].Stack, f.Evidence[0].Op}, {f.Evidence[1].Stack, f.Evidence[1].Op}}
	slices.SortFunc(p, func(x, y accessSite) int {
		return cmp.Or(cmp.Compare(x.stack, y.stack), cmp.Compare(x.op, y.op))
	})
	return accessPair{f.Objects[0], p[0], p[1]}
}
