package part

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/happensbefore"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Shared is what the parts of a run share. They get each event after it.
type Shared struct {
	Locks   *locks.Table            // the locks that each thread holds
	History *predict.History        // the kept part of the run
	Order   *happensbefore.Analysis // what was ordered in this run
	Search  Search
	Known   Known
	Judge   *verdict.Judge // nil before the run has ended
	// Explain reports that candidates which are no findings are collected in Pruned.
	Explain bool
	Pruned  []finding.Pruned
	// NotAsked counts the candidates for which no schedule was asked for, or not for all threads.
	NotAsked uint64
	// Revisited counts the witnesses of schedules in which reads see other writes than in the run.
	Revisited execution.Tally
}

// Settle takes a potential finding to a verdict, as predict.History.Settle describes: a predicted one gets its witness,
// another one the reason why it has none. HasTimeout is set again, since the witness may have other evidence. With Explain,
// a finding that is not predicted is added to Pruned, with the evidence that it had before.
func (s *Shared) Settle(f *finding.Finding, candidates [][]uint64) predict.Result {
	evidence, objects := f.Evidence, f.Objects // Settle may replace them
	r := s.Search.Count(s.History.Settle(f, candidates))
	f.HasTimeout = f.Kind == finding.Deadlock && finding.AnyTimed(f.Evidence)
	if r.Verdict != predict.Predicted {
		s.Unpredicted(f, r, objects, evidence)
	}
	return r
}

// Unpredicted adds to Pruned, with Explain, a finding that is not predicted, with the objects and the evidence that it had
// before it was settled.
func (s *Shared) Unpredicted(f *finding.Finding, r predict.Result, objects []event.ObjectID, evidence []finding.Step) {
	if !s.Explain {
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
	s.SetOrderedBy(&p)
	s.Pruned = append(s.Pruned, p)
}

// SetOrderedBy sets By of a candidate that is pruned as ordered, where the analysis found no fork or join that orders its
// sides.
func (s *Shared) SetOrderedBy(p *finding.Pruned) {
	if p.Why != finding.Ordered || p.By.Op != event.None {
		return
	}
	for i := range p.Evidence {
		for j := range p.Evidence {
			if by := s.History.Orders(p.Evidence[i].Seq, p.Evidence[j].Seq); i != j && by.Op != event.None {
				p.By = by
				return
			}
		}
	}
}

// Kept implements verdict.Record.
func (s *Shared) Kept(yield func(*event.Event) bool) { s.History.Kept(yield) }

// Whole implements verdict.Record.
func (s *Shared) Whole() bool { return s.History.Evicted() == 0 && s.History.Thinned() == 0 }

// HandedUnseen returns a reason if a side of a race, whose schedule leaves sections out or moves them, has the address of
// what it accesses from a write that was not recorded, as far as is known. It implements verdict.Record.
func (s *Shared) HandedUnseen(f *finding.Finding) reason.Reason {
	if s.Known.Block == nil || f.Kind != finding.Race || f.Confidence != finding.Predicted || !slices.Contains(f.Assumes, finding.GuardedData) {
		return reason.Reason{}
	}
	lo, hi := s.Known.Block(f.Objects[0])
	for i := range f.Evidence {
		if e := &f.Evidence[i]; s.History.AddressUnwritten(e.Thread, e.Seq, lo, hi) {
			return reason.Reason{What: reason.AddressUnwritten, Thread: e.Thread}
		}
	}
	return reason.Reason{}
}
