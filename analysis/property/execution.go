package property

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

var errDiscarded = errors.New("it begins before the part of the run that was kept")

// execution completes a witness, which has only relevant events, to an execution: each event of
// the witness is preceded by all events that must happen before it. It returns the steps after
// the part that is common with the observed run. The checker of executions has accepted them.
func (s *slice) execution(w *lattice.Witness) ([]finding.Step, error) {
	a, last := s.analysis, w.From
	for i := range w.Steps {
		last = max(last, w.Steps[i].Seq)
	}
	if a.history.log.Find(last) == nil || w.From != 0 && a.history.log.Find(w.From) == nil || w.From == 0 && a.history.truncated {
		return nil, errDiscarded
	}
	run := a.history.upTo(last)
	common := a.history.log.Index(w.From + 1)
	order, err := arrange(run, s.relevant(len(run)), common, w, clocksOf(a.o.Exclusion))
	if err != nil {
		return nil, err
	}
	steps := make([]finding.Step, 0, common+len(order))
	for i := range common {
		steps = append(steps, finding.StepOf(&run[i]))
	}
	for _, i := range order {
		steps = append(steps, finding.StepOf(&run[i]))
	}
	_, err = a.o.NewChecker(run).CheckClaim(steps, execution.Claim{Kind: finding.Property})
	a.witnesses.Count(err)
	if err != nil {
		return nil, fmt.Errorf("execute it: %w", err)
	}
	return steps[common:], nil
}

// relevant returns, for the first kept events, which of them the slice reads.
func (s *slice) relevant(n int) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = s.analysis.history.reads[i].of(s)
	}
	return out
}

// arrange returns the positions in run of the events after the common part, in an order that
// keeps the order of the witness and in which each event follows all events that happen before
// it. The clocks full, for which every event is relevant, determine which do.
func arrange(run []event.Event, relevant []bool, common int, w *lattice.Witness, full *causality.Clocks) ([]int, error) {
	slots, clocks := make([]uint32, len(run)), make([]causality.Clock, len(run))
	at := map[uint64]int{}
	for i := range run {
		slot, v := full.Stamp(&run[i], true)
		slots[i], clocks[i] = slot, slices.Clone(v)
		at[run[i].Seq] = i
	}
	var order []int
	done := make([]bool, len(run))
	for k := range w.Steps {
		step, ok := at[w.Steps[k].Seq]
		if !ok || step < common || done[step] {
			return nil, fmt.Errorf("event %d is out of place", w.Steps[k].Seq)
		}
		for i := common; i <= step; i++ {
			if !done[i] && clocks[i].At(slots[i]) <= clocks[step].At(slots[i]) {
				if relevant[i] && i != step {
					return nil, fmt.Errorf("event %d must come before event %d", run[i].Seq, run[step].Seq)
				}
				done[i] = true
				order = append(order, i)
			}
		}
	}
	return order, nil
}
