package scope

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// naiveCut returns how actions cut a run, from its order as a closure over all pairs of events.
func naiveCut(run []event.Event, o order, actions []int, counted func(i int) bool) (c Cut) {
	for j, b := range actions {
		if j > 0 && !o[actions[j-1]][b] {
			c.Unordered = &[2]finding.Step{finding.StepOf(&run[actions[j-1]]), finding.StepOf(&run[b])}
			return c
		}
	}
	c.Actions = uint64(len(actions))
	regions := make([]uint64, len(actions)+1)
	for i := range run {
		k, isAction := slices.BinarySearch(actions, i)
		if isAction || !counted(i) {
			continue
		}
		regions[k]++
		c.Events++
		if k > 0 && !o[actions[k-1]][i] || k < len(actions) && !o[i][actions[k]] {
			c.Concurrent++
		}
	}
	c.Regions = slices.DeleteFunc(regions, func(n uint64) bool { return n == 0 })
	return c
}

// TestCuts compares Cuts with the closure over all pairs of events, on random runs: for the acquires and the releases of each
// lock, for two kinds of events that nothing orders, and for the forks.
func TestCuts(t *testing.T) {
	ordered, unordered := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 47))
		run, declared := randomRun(r, 10+r.IntN(60))
		o := orderOf(run, edges{locks: true, forks: true})
		kinds := []func(i int) bool{
			func(i int) bool { return run[i].Op == event.Acquire && run[i].Object == 1 },
			func(i int) bool { return run[i].Op == event.Acquire && run[i].Object == 2 },
			func(i int) bool { return run[i].Op == event.Acquire },
			func(i int) bool { return run[i].Op == event.Release && run[i].Object == 2 },
			func(i int) bool { return declared[i]&isA != 0 && run[i].Thread < 3 },
			func(i int) bool { return run[i].Op == event.Fork },
		}
		counted := func(i int) bool { return declared[i]&(isA|isB) != 0 }
		c := NewCuts()
		for range kinds {
			c.Add()
		}
		lists := make([][]int, len(kinds))
		for i := range run {
			var actions []int
			for k, is := range kinds {
				if is(i) {
					actions = append(actions, k)
					lists[k] = append(lists[k], i)
				}
			}
			c.Event(&run[i], counted(i), actions)
		}
		for k, got := range c.Finish() {
			want := naiveCut(run, o, lists[k], counted)
			if want.Unordered != nil {
				unordered++
				got = Cut{Unordered: got.Unordered}
			} else {
				ordered++
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("seed %d, candidate %d: %s", seed, k, diff)
			}
		}
	}
	if ordered < 200 || unordered < 200 {
		t.Errorf("%d candidates are ordered and %d are not: too few to tell", ordered, unordered)
	}
}

// TestScores: more regions, and more even ones, score higher; concurrent events, one region for all, and actions that are not
// ordered, lower.
func TestScores(t *testing.T) {
	of := func(concurrent uint64, regions ...uint64) *Cut {
		c := &Cut{Regions: regions, Concurrent: concurrent}
		for _, n := range regions {
			c.Events += n
		}
		return c
	}
	list := []*Cut{
		of(0, 3, 3, 3, 3), of(0, 4, 4, 4), of(0, 8, 2, 1, 1), of(6, 3, 3, 3, 3), of(12, 3, 3, 3, 3),
	}
	for i, c := range list[1:] {
		if c.Score() >= list[i].Score() {
			t.Errorf("%+v scores %v, %+v %v", list[i], list[i].Score(), c, c.Score())
		}
	}
	for _, c := range []*Cut{of(0, 12), of(0), {Regions: []uint64{3, 3}, Events: 6, Unordered: &[2]finding.Step{}}} {
		if c.Score() != 0 {
			t.Errorf("%+v scores %v", c, c.Score())
		}
	}
	if c := list[2]; math.Abs(c.Effective()-144.0/70) > 1e-9 || math.Abs(c.Evenness()-36.0/70) > 1e-9 {
		t.Errorf("effective %v, evenness %v", c.Effective(), c.Evenness())
	}
}
