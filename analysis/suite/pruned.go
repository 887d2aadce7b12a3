package suite

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/eraser"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/goodlock"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Pruned returns, after Finish and with Options.Explain, the candidates that are no findings, or
// have no witness, each with its reason.
func (s *Suite) Pruned() []finding.Pruned { return s.pruned }

// Explains reports whether Pruned collects candidates.
func (s *Suite) Explains() bool { return s.explain }

// Locks returns the counts of the lock-order analysis: what it kept, and what its bounds left out.
func (s *Suite) Locks() goodlock.Stats { return s.goodlock.Stats() }

// settle takes a potential finding to a verdict, as predict.History.Settle describes: a predicted
// one gets its witness, another one the reason why it has none. HasTimeout is set again, since the
// witness may have other evidence. With Options.Explain, a finding that is not predicted is added
// to Pruned, with the evidence that it had before.
func (s *Suite) settle(f *finding.Finding, candidates [][]uint64) predict.Result {
	evidence, objects := f.Evidence, f.Objects // Settle may replace them
	r := s.search.count(s.history.Settle(f, candidates))
	f.HasTimeout = f.Kind == finding.Deadlock && hasTimeout(f)
	if r.Verdict != predict.Predicted {
		s.explainUnpredicted(f, r, objects, evidence)
	}
	return r
}

// explainUnpredicted adds to Pruned, with Options.Explain, a finding that is not predicted, with
// the objects and the evidence that it had before it was settled.
func (s *Suite) explainUnpredicted(f *finding.Finding, r predict.Result, objects []event.ObjectID, evidence []finding.Step) {
	if !s.explain {
		return
	}
	why := finding.Refuted
	switch {
	case r.NotSearched():
		why = finding.Budget
	case r.Verdict == predict.Unknown:
		why = finding.Unknown
	case r.Ordered():
		why = finding.Ordered
	}
	p := finding.Pruned{Kind: f.Kind, Why: why, Reason: r.Reason, Objects: objects, Evidence: evidence}
	s.setOrderedBy(&p)
	s.pruned = append(s.pruned, p)
}

// unpruned removes from Pruned the candidates for deadlocks that a later search predicted.
func (s *Suite) unpruned(deadlocks []finding.Finding) {
	predicted := map[string]bool{}
	for i := range deadlocks {
		if deadlocks[i].Confidence.AtLeast(finding.Predicted) {
			predicted[requestsOf(&deadlocks[i])] = true
		}
	}
	s.pruned = slices.DeleteFunc(s.pruned, func(p finding.Pruned) bool {
		return p.Kind == finding.Deadlock && predicted[requestsOf(&finding.Finding{Evidence: p.Evidence})]
	})
}

// addPrunedRaces adds to Pruned the pairs of call stacks at which several threads access a
// variable, one of them writing, that are no race: those that a lock excludes from each other, and
// those whose accesses are ordered in every schedule.
func (s *Suite) addPrunedRaces(races []finding.Finding, others []*eraser.Race) {
	if !s.explain {
		return
	}
	known := map[accessPair]bool{}
	for i := range races {
		known[pairOf(&races[i])] = true
	}
	for i := range others {
		known[pairOf(&others[i].Finding)] = true
	}
	s.addExcluded(known)
	pairs, more := s.eraser.Ordered()
	for _, p := range pairs {
		if known[pairOf(&finding.Finding{Objects: p.Objects, Evidence: p.Evidence})] {
			continue
		}
		s.setOrderedBy(&p)
		s.pruned = append(s.pruned, p)
	}
	s.unlisted(more, "came one after the other in every schedule")
}

// addExcluded adds to Pruned the pairs of call stacks that a lock excludes from each other, and
// marks them as known.
func (s *Suite) addExcluded(known map[accessPair]bool) {
	pairs, more := s.eraser.Excluded()
	for _, p := range pairs {
		known[pairOf(&finding.Finding{Objects: p.Objects, Evidence: p.Evidence})] = true
	}
	s.pruned = append(s.pruned, pairs...)
	s.unlisted(more, "were kept apart by a lock")
}

// unlisted adds to Pruned the number of accesses that are not listed for lack of room, if any.
func (s *Suite) unlisted(more uint64, were string) {
	if more == 0 {
		return
	}
	reason := plural.Sprintf("%d {time|times} more accesses %s, at more pairs of places than are listed", more, were)
	s.pruned = append(s.pruned, finding.Pruned{Kind: finding.Race, Why: finding.Budget, Reason: reason})
}

// setOrderedBy sets By of a candidate that is pruned as ordered, where the analysis found no fork
// or join that orders its sides.
func (s *Suite) setOrderedBy(p *finding.Pruned) {
	if p.Why != finding.Ordered || p.By.Op != event.None {
		return
	}
	for i := range p.Evidence {
		for j := range p.Evidence {
			if by := s.history.Orders(p.Evidence[i].Seq, p.Evidence[j].Seq); i != j && by.Op != event.None {
				p.By = by
				return
			}
		}
	}
}
