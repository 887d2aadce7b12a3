// Package completion makes schedules of the witnesses of a lattice. A witness has the events that a specification mentions,
// in an order that leads to a violation; a schedule has all events of the run that must come before these too. The input is
// every event of the run, of which the last ones are kept, and a witness; the output is steps that the checker of
// executions has accepted.
package completion

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// History holds the last events of a run: at least Limit of them, if there were that many. It is another log than
// predict.History, because it keeps other events. The schedule of a witness is the run itself in another order, from the
// last state on that both have in common: nothing may be missing from the middle of it, where predict.History discards the
// critical sections of which a lock has many. And events of a witness may be calls, which predict.History never gets: they
// would evict what it needs for races and deadlocks.
type History struct {
	Limit int
	// Log has the events. What is Dropped from its beginning the owner drops from what it keeps beside it.
	Log       kept.Log
	truncated bool // earlier events were discarded
}

// Due returns the number of events that the next Add drops.
func (h *History) Due() int {
	if n := len(h.Log) - h.Limit; n >= h.Limit {
		return n
	}
	return 0
}

// Add adds the next event of the run. It returns the number of events that were dropped from the beginning for it.
func (h *History) Add(e *event.Event) (dropped int) {
	if dropped = h.Due(); dropped > 0 {
		h.Log, h.truncated = h.Log[:copy(h.Log, h.Log[dropped:])], true
	}
	h.Log.Add(e, 2*h.Limit)
	return dropped
}

// UpTo returns the kept events up to a Seq, that included.
func (h *History) UpTo(seq uint64) []event.Event { return h.Log[:h.Log.Index(seq+1)].Events() }

// errDiscarded is the error if the witness needs events that are no longer kept.
var errDiscarded = errors.New("it begins before the part of the run that was kept")

// Completer completes witnesses.
type Completer struct {
	*History
	Order      finding.Order // of the run, that the witnesses keep
	NewChecker execution.NewChecker
	Witnesses  execution.Tally // of the schedules that the checker has accepted, and refused
}

// Complete completes a witness: each of its events is preceded by all events that must happen before it. Relevant says of
// each event of Log, by index, whether the lattice has it. It returns the steps after the part that is common with the
// observed run. The checker of executions has accepted them.
func (c *Completer) Complete(w *lattice.Witness, relevant func(i int) bool) ([]finding.Step, error) {
	last := w.From
	for i := range w.Steps {
		last = max(last, w.Steps[i].Seq)
	}
	if c.Log.Find(last) == nil || w.From != 0 && c.Log.Find(w.From) == nil || w.From == 0 && c.truncated {
		return nil, errDiscarded
	}
	run := c.UpTo(last)
	common := c.Log.Index(w.From + 1)
	order, err := arrange(run, relevant, common, w, Clocks(c.Order))
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
	_, err = c.NewChecker(run).CheckClaim(steps, execution.Claim{Kind: finding.Property})
	c.Witnesses.Count(err)
	if err != nil {
		return nil, fmt.Errorf("execute it: %w", err)
	}
	return steps[common:], nil
}

// arrange returns the positions in run of the events after the common part, in an order that
// keeps the order of the witness and in which each event follows all events that happen before
// it. The clocks full, for which every event is relevant, determine which do.
func arrange(run []event.Event, relevant func(int) bool, common int, w *lattice.Witness, full *causality.Clocks) ([]int, error) {
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
				if relevant(i) && i != step {
					return nil, fmt.Errorf("event %d must come before event %d", run[i].Seq, run[step].Seq)
				}
				done[i] = true
				order = append(order, i)
			}
		}
	}
	return order, nil
}
