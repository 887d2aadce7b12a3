package property_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// order returns, for events j and i of a run, whether j comes before i: before[j][i].
func order(events []event.Event, c *causality.Clocks) [][]bool {
	slots, clocks := make([]uint32, len(events)), make([]causality.Clock, len(events))
	before := make([][]bool, len(events))
	for i := range events {
		slot, v := c.Stamp(&events[i], true)
		slots[i], clocks[i] = slot, slices.Clone(v)
		before[i] = make([]bool, len(events))
		for j := range i {
			before[j][i] = clocks[j].At(slots[j]) <= clocks[i].At(slots[j])
		}
	}
	return before
}

// enumerate calls visit with each run that an order allows, as positions of events. The function
// may reports whether an event may come next after others, apart from the order.
func enumerate(before [][]bool, run []int, may func(run []int, i int) bool, visit func(run []int)) {
	if len(run) == len(before) {
		visit(run)
		return
	}
	for i := range before {
		if slices.Contains(run, i) || !may(run, i) {
			continue
		}
		ready := true
		for j := range before {
			ready = ready && (!before[j][i] || slices.Contains(run, j))
		}
		if ready {
			enumerate(before, append(run, i), may, visit)
		}
	}
}

// TestRunsOfSyncAreOfExclusionAreFeasible enumerates all runs: those that the causality of this
// run allows are allowed with critical sections reordered too, and these are feasible.
func TestRunsOfSyncAreOfExclusionAreFeasible(t *testing.T) {
	more := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 31))
		events := eventtest.RandomSections(r, 11)
		if seed%4 == 0 {
			events = eventtest.RandomRun(r, 9)
		}
		may := func(run []int, i int) bool { return unlocked(events, run, i) }
		exclusion := map[string]bool{}
		enumerate(order(events, causality.NewExclusion()), nil, may, func(run []int) {
			exclusion[fmt.Sprint(run)] = true
			var steps []finding.Step
			for _, i := range run {
				e := &events[i]
				steps = append(steps, finding.Step{Seq: e.Seq, Thread: e.Thread, Op: e.Op, Object: e.Object, Peer: e.Peer})
			}
			if err := execution.Observe(events).Check(steps, finding.Property); err != nil {
				t.Errorf("seed %d: the run %v of exclusion is not feasible: %v", seed, run, err)
			}
		})
		sync := 0
		enumerate(order(events, causality.New()), nil, func([]int, int) bool { return true }, func(run []int) {
			sync++
			if !exclusion[fmt.Sprint(run)] {
				t.Errorf("seed %d: the run %v of sync is none of exclusion", seed, run)
			}
		})
		if len(exclusion) > sync {
			more++
		}
		if t.Failed() {
			return
		}
	}
	if more < 4 {
		t.Errorf("exclusion has more runs than sync in %d executions: the test says little", more)
	}
}

// unlocked reports whether the locks allow event i to come after a run.
func unlocked(events []event.Event, run []int, i int) bool {
	e := &events[i]
	if e.Op != event.Acquire && e.Op != event.AcquireRead {
		return true
	}
	open := map[event.ThreadID]event.Op{}
	for _, j := range run {
		switch o := &events[j]; {
		case o.Object != e.Object:
		case o.Op == event.Release:
			delete(open, o.Thread)
		case o.Op.IsAcquire():
			open[o.Thread] = o.Op
		}
	}
	for _, op := range open {
		if op == event.Acquire || e.Op == event.Acquire {
			return false
		}
	}
	return true
}
