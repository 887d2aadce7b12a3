package goodlock

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// nestings returns a run of two threads that nest n locks in opposite orders. With a gate, both hold another lock
// meanwhile.
func nestings(n int, gate bool) []event.Event {
	var up []event.ObjectID
	for i := range n {
		up = append(up, event.ObjectID(1+i))
	}
	down := slices.Clone(up)
	slices.Reverse(down)
	if gate {
		up, down = slices.Insert(up, 0, event.ObjectID(n+1)), slices.Insert(down, 0, event.ObjectID(n+1))
	}
	return trace(fork(1, 2), fork(1, 3), nest(2, up...), nest(3, down...))
}

// TestNestings checks that two threads that nest locks in opposite orders make a deadlock of each two neighbours,
// of which only some are findings of their own; and none with a gate lock.
func TestNestings(t *testing.T) {
	const n = 500
	a := run(Options{}, nestings(n, false))
	found := a.Finish()
	if len(found) != maxNestReports || found[0].MorePairs != n-1-maxNestReports || a.stats.BudgetHit || a.stats.DroppedFindings > 0 {
		t.Errorf("%d findings, %d more pairs, %+v", len(found), found[0].MorePairs, a.stats)
	}
	for _, f := range found[1:] {
		if f.MorePairs != 0 {
			t.Errorf("more than one finding has the number of pairs: %d", f.MorePairs)
		}
	}
	if found := run(Options{}, nestings(n, true)).Finish(); len(found) > 0 {
		t.Errorf("%d findings in spite of the gate lock", len(found))
	}
}

// TestNestingsAreCheap checks that memory is linear in the number of nested locks, and that the search fits the budget.
func TestNestingsAreCheap(t *testing.T) {
	const n = 2000
	a := run(Options{}, nestings(n, false))
	if a.nodes != 2*n || len(a.edgesByID) != 2*(n-1) || a.instanceCount != 2*(n-1) {
		t.Errorf("%d nodes, %d edges, %d instances", a.nodes, len(a.edgesByID), a.instanceCount)
	}
	s := a.newSearch()
	cycles := 0
	s.onCycle = func([]*edge) { cycles++ }
	s.run()
	if used := a.opts.Budget - s.steps; cycles != n-1 || used > 200*n {
		t.Errorf("%d cycles in %d steps", cycles, used)
	}
}

// TestInversesOfNestings checks that of two nestings only some pairs of edges are followed while the program runs.
func TestInversesOfNestings(t *testing.T) {
	const n = 200
	pairs := 0
	holds := func(e finding.LockOrderEdge, lock event.ObjectID) bool {
		return slices.Contains(e.Held, finding.Mode{Lock: lock})
	}
	opts := Options{OnAcquired: func(int, event.ThreadID, uint64) {}, OnInverse: func(older, newer finding.LockOrderEdge) {
		if pairs++; !holds(older, newer.Requested.Lock) || !holds(newer, older.Requested.Lock) {
			t.Errorf("%+v and %+v", older, newer)
		}
	}}
	if run(opts, nestings(n, false)); pairs != maxNestInverses {
		t.Errorf("%d pairs", pairs)
	}
	pairs = 0
	if run(opts, nestings(n, true)); pairs != 0 {
		t.Errorf("%d pairs in spite of the gate lock", pairs)
	}
}

// TestShrink checks that Shrink leaves few instances of an edge, room for no further edges, and what is known; and
// that it does so once.
func TestShrink(t *testing.T) {
	var parts [][]event.Event
	for th := event.ThreadID(2); th < 20; th++ {
		parts = append(parts, fork(1, th), nest(th, 1, 2), nest(th, 2, 1))
	}
	events := trace(parts...)
	a := New(Options{MaxEdges: 1 << 20})
	for i := range events {
		a.Event(&events[i])
		if i == len(events)/2 {
			if !a.Shrink() || a.Shrink() {
				t.Error("it does not shrink, or twice")
			}
			if a.instanceCount != 2*guaranteedInstances || a.stats.EvictedInstances == 0 {
				t.Errorf("%d instances, %+v", a.instanceCount, a.stats)
			}
		}
	}
	if a.instanceCount != 2*guaranteedInstances || a.opts.MaxEdges != leastEdges {
		t.Errorf("%d instances, room for %d edges", a.instanceCount, a.opts.MaxEdges)
	}
	if found := a.Finish(); len(found) == 0 {
		t.Error("the deadlock is lost")
	}
}
