package predict

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestNecessary compares what must come before a choice of instances, joined from what each needs, with the set that
// is made for that choice alone, and counts what the first costs: no more than a few times the record.
func TestNecessary(t *testing.T) {
	f := newFeed(Options{})
	f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
	f.add(event.Event{Thread: 2, Op: event.Begin})
	var sides Pattern = make([][]uint64, 2)
	const n = 100
	for range n {
		sides[0] = append(sides[0], f.nest(1, lockA, lockC))
		f.add(event.Event{Thread: 1, Op: event.Write, Object: 77, Flags: event.Atomic})
		f.add(event.Event{Thread: 2, Op: event.Read, Object: 77, Flags: event.Atomic})
		sides[1] = append(sides[1], f.nest(2, lockB, lockC))
	}
	q := f.h.ask(finding.Race, sides)
	base := slices.Clone(f.h.cut)
	r := newReversal(q, base, 1<<40)
	for i := range n {
		for j := range n {
			r.chosen[0], r.index[0] = f.h.find(sides[0][i]), i
			r.chosen[1], r.index[1] = f.h.find(sides[1][j]), j
			for _, free := range []bool{true, false} {
				got, ok := r.necessary(base, free, false)
				before := r.steps
				want, wanted := r.necessary(base, free, true)
				r.steps = before
				if ok != wanted || ok && !slices.Equal(got.at, want.at) {
					t.Fatalf("instances %d and %d, free %v: %v %v, want %v %v", i, j, free, got, ok, want, wanted)
				}
			}
		}
	}
	if spent := 1<<40 - r.steps; spent > 4*n*n {
		t.Errorf("%d steps for %d choices", spent, n*n)
	}
}
