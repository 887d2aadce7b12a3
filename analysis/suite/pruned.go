package suite

import (
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/goodlock"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Pruned gives the candidates that are no findings, or have no witness, and why;
// after Finish, with Options.Explain.
func (s *Suite) Pruned() []finding.Pruned { return s.pruned }

// Explains says whether Pruned collects.
func (s *Suite) Explains() bool { return s.explain }

// Locks counts what the analysis of lock orders kept and what its bounds left out.
func (s *Suite) Locks() goodlock.Stats { return s.goodlock.Stats() }

// settle takes a finding to the history; what it cannot lead to is told of.
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

// unraced tells of the accesses by several threads, one of them writing, that are no race: of
// those that a lock keeps apart by pairs of places, and of variables whose accesses are all
// ordered. Atomic accesses are no candidates.
func (s *Suite) unraced(races []finding.Finding) {
	if !s.explain {
		return
	}
	s.apart()
	raced := map[event.ObjectID]bool{}
	var exchanges map[event.ObjectID][2]uint64
	for _, f := range races {
		raced[f.Objects[0]] = true
	}
	for _, u := range s.eraser.Uses() {
		if u.Threads < 2 || u.Writes == 0 || raced[u.Variable] || s.atomics[u.Variable] || u.Conflicts {
			continue
		}
		p := finding.Pruned{Kind: finding.Race, Why: finding.Ordered, Objects: []event.ObjectID{u.Variable}}
		if exchanges == nil {
			exchanges = s.history.Exchanges()
		}
		s.handed(&p, exchanges[u.Variable])
		s.pruned = append(s.pruned, p)
	}
}

// apart tells of the pairs of places that a lock keeps apart.
func (s *Suite) apart() {
	pairs, more := s.eraser.Apart()
	s.pruned = append(s.pruned, pairs...)
	if more > 0 {
		reason := fmt.Sprintf("%d times more accesses were kept apart by a lock, at more pairs of places than are listed", more)
		s.pruned = append(s.pruned, finding.Pruned{Kind: finding.Race, Why: finding.Budget, Reason: reason})
	}
}

// handed names two accesses that follow each other, and what orders them, if that is
// still known.
func (s *Suite) handed(p *finding.Pruned, accesses [2]uint64) {
	x, y := s.history.Step(accesses[0]), s.history.Step(accesses[1])
	if x.Op == event.None || y.Op == event.None {
		return
	}
	if by := s.history.Orders(x.Seq, y.Seq); by.Op != event.None {
		p.By, p.Evidence = by, []finding.Step{x, y}
	}
}

// ordered names what puts one side of a ring before another where it is no creation
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
