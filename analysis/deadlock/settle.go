package deadlock

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
)

// settled takes potential deadlocks to a verdict, and returns them without those that cannot happen since
// one side comes before another in every schedule: the clocks do not show the order by semaphores. Of a
// finding.Nest of which enough are predicted, it only counts the others.
func (a *Analysis) settled(deadlocks []finding.Finding, candidates [][][]uint64) ([]finding.Finding, nests) {
	out := deadlocks[:0]
	groups := nests{}
	for i := range deadlocks {
		f, potential := deadlocks[i], deadlocks[i] // out overwrites deadlocks
		if groups.count(&f) {
			a.early.settle(&f) // so that it is not reported again
			a.shared.Search.Expect(-1)
			continue
		}
		r := a.shared.Settle(&f, candidates[i])
		if a.early.settle(&f); f.Confidence != finding.Potential {
			a.shared.Search.FoundEarly(r)
		}
		if !r.Ordered() || f.Confidence != finding.Potential {
			out = append(out, f)
			groups.settled(&potential, out, len(out)-1)
		} else {
			groups.settled(&potential, out, -1)
		}
	}
	return out, groups
}

// unpruned removes from Pruned the candidates for deadlocks that a later search predicted.
func (a *Analysis) unpruned(deadlocks []finding.Finding) {
	predicted := map[string]bool{}
	for i := range deadlocks {
		if deadlocks[i].Confidence.AtLeast(finding.Predicted) {
			predicted[requestsOf(&deadlocks[i])] = true
		}
	}
	a.shared.Pruned = slices.DeleteFunc(a.shared.Pruned, func(p finding.Pruned) bool {
		return p.Kind == finding.Deadlock && predicted[requestsOf(&finding.Finding{Evidence: p.Evidence})]
	})
}
