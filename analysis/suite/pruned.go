package suite

import (
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/goodlock"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Pruned returns the candidates that are no findings, or have no witness, and why;
// after Finish, with Options.Explain.
func (s *Suite) Pruned() []finding.Pruned { return s.pruned }

// Explains says whether Pruned collects.
func (s *Suite) Explains() bool { return s.explain }

// Locks counts what the analysis of lock orders kept and what its bounds left out.
func (s *Suite) Locks() goodlock.Stats { return s.goodlock.Stats() }

// settle takes a finding to the history; what it cannot lead to is added to Pruned.
func (s *Suite) settle(f *finding.Finding, candidates [][]uint64) predict.Result {
	evidence, objects := f.Evidence, f.Objects
	r := s.history.Settle(f, candidates)
	f.Bounded = f.Kind == finding.Deadlock && slices.ContainsFunc(f.Evidence, func(e finding.Step) bool { return e.Flags&event.Timed != 0 })
	if !s.explain || r.Verdict == predict.Predicted {
		return r
	}
	why := finding.Refuted
	if r.Verdict == predict.Unknown {
		why = finding.Unknown
	}
	s.pruned = append(s.pruned, finding.Pruned{Kind: f.Kind, Why: why, Reason: r.Reason, Objects: objects, Evidence: evidence})
	return r
}

// unraced reports the pairs of places at which several threads access a variable, one of
// them writing, that are no race: those that a lock keeps apart, and those of which each
// access comes after the others.
func (s *Suite) unraced(races []finding.Finding) {
	if !s.explain {
		return
	}
	known := map[places]bool{}
	for i := range races {
		known[placesOf(&races[i])] = true
	}
	s.apart(known)
	pairs, more := s.eraser.Ordered()
	for _, p := range pairs {
		if known[placesOf(&finding.Finding{Objects: p.Objects, Evidence: p.Evidence})] {
			continue
		}
		s.ordered(&p)
		s.pruned = append(s.pruned, p)
	}
	s.unlisted(more, "came one after the other in every schedule")
}

// apart reports the pairs of places that a lock keeps apart.
func (s *Suite) apart(known map[places]bool) {
	pairs, more := s.eraser.Apart()
	for _, p := range pairs {
		known[placesOf(&finding.Finding{Objects: p.Objects, Evidence: p.Evidence})] = true
	}
	s.pruned = append(s.pruned, pairs...)
	s.unlisted(more, "were kept apart by a lock")
}

// unlisted reports how many more accesses there were for which a list had no room.
func (s *Suite) unlisted(more uint64, were string) {
	if more == 0 {
		return
	}
	reason := fmt.Sprintf("%d times more accesses %s, at more pairs of places than are listed", more, were)
	s.pruned = append(s.pruned, finding.Pruned{Kind: finding.Race, Why: finding.Budget, Reason: reason})
}

// ordered names what puts one side of a cycle before another where it is no creation
// or join that the lock orders know of.
func (s *Suite) ordered(p *finding.Pruned) {
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
