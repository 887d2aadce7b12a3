package suite

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/happensbefore"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/event"
)

// races returns the races of this run, then those that other schedules have or may have.
// Places that this run itself has racing are not given again.
func (s *Suite) races() []finding.Finding {
	var out []finding.Finding
	known := map[places]int{}
	for _, r := range s.order.Races() {
		known[placesOf(&r.Finding)] = len(out)
		out = append(out, s.observed(r))
	}
	suspected := s.eraser.Finish()
	for i := range suspected {
		f := &suspected[i]
		if at, ok := known[placesOf(f)]; ok {
			out[at].Count = max(out[at].Count, f.Count)
			continue
		}
		s.settle(f, nil)
		out = append(out, *f)
	}
	return out
}

// observed finds a race of this run its schedule, if the history still has what that
// takes. What the checker cannot accept rests on something that was not seen, which
// may have ordered the two accesses all the same.
func (s *Suite) observed(r happensbefore.Race) finding.Finding {
	f := r.Finding
	switch result := s.settle(&f, r.Instances); {
	case result.Verdict == predict.Predicted:
		f.Confidence = finding.Observed
	case r.Unsure || !result.Forgotten():
		f.Confidence = finding.Potential
	default:
		f.Reason = "no schedule is shown: " + result.Reason
	}
	return f
}

// places are what two findings of one error have in common.
type places struct {
	variable event.ObjectID
	a, b     place
}

type place struct {
	at event.StackID
	op event.Op
}

func placesOf(f *finding.Finding) places {
	p := []place{{f.Evidence[0].Place, f.Evidence[0].Op}, {f.Evidence[1].Place, f.Evidence[1].Op}}
	slices.SortFunc(p, func(x, y place) int {
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.op, y.op))
	})
	return places{f.Objects[0], p[0], p[1]}
}
