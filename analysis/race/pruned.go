package race

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/race/eraser"
)

// addPrunedRaces adds to Pruned the pairs of call stacks at which several threads access a
// variable, one of them writing, that are no race: those that a lock excludes from each other, and
// those whose accesses are ordered in every schedule.
func (a *Analysis) addPrunedRaces(races []finding.Finding, others []*eraser.Race) {
	if !a.shared.Explain {
		return
	}
	known := map[accessPair]bool{}
	for i := range races {
		known[pairOf(&races[i])] = true
	}
	for i := range others {
		known[pairOf(&others[i].Finding)] = true
	}
	a.addExcluded(known)
	pairs, more := a.eraser.Ordered()
	for _, q := range pairs {
		if known[pairOf(&finding.Finding{Objects: q.Objects, Evidence: q.Evidence})] {
			continue
		}
		a.shared.SetOrderedBy(&q)
		a.shared.Pruned = append(a.shared.Pruned, q)
	}
	a.unlisted(more, reason.OrderedDropped)
}

// addExcluded adds to Pruned the pairs of call stacks that a lock excludes from each other, and
// marks them as known.
func (a *Analysis) addExcluded(known map[accessPair]bool) {
	pairs, more := a.eraser.Excluded()
	for _, q := range pairs {
		known[pairOf(&finding.Finding{Objects: q.Objects, Evidence: q.Evidence})] = true
	}
	a.shared.Pruned = append(a.shared.Pruned, pairs...)
	a.unlisted(more, reason.LockedDropped)
}

// unlisted adds to Pruned the number of accesses that are not listed for lack of room, if any.
func (a *Analysis) unlisted(more uint64, what reason.What) {
	if more == 0 {
		return
	}
	a.shared.Pruned = append(a.shared.Pruned, finding.Pruned{Kind: finding.Race, Why: finding.Budget, Reason: reason.Reason{What: what, Count: more}})
}
