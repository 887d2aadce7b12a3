package eraser

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// excludedOf returns the pairs of accesses that locks exclude from each other.
func excludedOf(events []event.Event) (pairs []finding.Pruned, more uint64) {
	a := New(Options{CollectPruned: true, EveryPair: true, History: 1000})
	for i := range events {
		a.Event(&events[i])
	}
	return a.Excluded()
}

// TestExcluded has one pair of call stacks three times, and one with a third call stack.
func TestExcluded(t *testing.T) {
	locked := func(th event.ThreadID, op event.Op, p event.StackID) []event.Event {
		return []event.Event{at(th, event.Acquire, l, 1), at(th, op, x, p), at(th, event.Release, l, 3)}
	}
	pairs, more := excludedOf(twoTasks(slices.Concat(
		locked(2, event.Write, 10), locked(3, event.Read, 11), locked(2, event.Write, 10), locked(3, event.Write, 12),
		[]event.Event{at(3, event.Read, x, 13)})...)) // a race
	type pair struct {
		a, b  event.StackID
		count uint64
	}
	var got []pair
	for _, p := range pairs {
		if p.Why != finding.CommonLock || p.Lock != l || p.Objects[0] != x || !slices.Equal(p.Evidence[0].Held, []event.ObjectID{l}) {
			t.Errorf("%+v", p)
		}
		got = append(got, pair{p.Evidence[0].Stack, p.Evidence[1].Stack, p.Count})
	}
	want := []pair{{10, 11, 2}, {10, 12, 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(pair{})); diff != "" || more != 0 {
		t.Errorf("%d more, (-want +got):\n%s", more, diff)
	}
}

// TestExcludedIsBounded checks that at most maxPruned pairs of call stacks are kept and the others
// counted.
func TestExcludedIsBounded(t *testing.T) {
	var body []event.Event
	for i := range event.StackID(2 * maxPruned) {
		th := event.ThreadID(2 + i%2)
		body = append(body, at(th, event.Acquire, l, 1), at(th, event.Write, x, 100+i), at(th, event.Release, l, 3))
	}
	if pairs, more := excludedOf(twoTasks(body...)); len(pairs) != maxPruned || more < maxPruned {
		t.Errorf("%d pairs, %d more", len(pairs), more)
	}
}

// TestOrderedAgainstPlainModel checks that the pairs of call stacks of which one access comes
// first in every schedule are reported as ordered, unless they are reported as a race or as
// excluded by a lock.
func TestOrderedAgainstPlainModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := randomRun(rt)
		accesses := accessesOf(events)
		pair := func(x, y naiveAccess) naivePair {
			return naivePair{x.Object, keyOf(&access{stack: x.Stack, op: x.Op}, &y.Event)}
		}
		a := New(Options{CollectPruned: true, EveryPair: true, History: 1000})
		for i := range events {
			a.Event(&events[i])
		}
		got := naivePairs(accesses)
		excluded, _ := a.Excluded()
		ordered, _ := a.Ordered()
		for _, p := range slices.Concat(excluded, ordered) {
			x, y := evidence(rt, accesses, p.Evidence[0].Seq), evidence(rt, accesses, p.Evidence[1].Seq)
			if p.Why == finding.Ordered && (!naiveOrdered(x, y) || !slices.Equal(slices.Sorted(slices.Values(p.Evidence[1].Held)), slices.Sorted(slices.Values(y.all)))) {
				rt.Fatalf("%+v is not ordered", p.Evidence)
			}
			got[pair(x, y)] = true
		}
		for j, y := range accesses {
			for _, x := range accesses[:j] {
				if naiveOrdered(x, y) && !got[pair(x, y)] {
					rt.Fatalf("%+v and %+v are not reported", x, y)
				}
			}
		}
	})
}

func naiveOrdered(x, y naiveAccess) bool {
	return x.Object == y.Object && x.Thread != y.Thread && (x.Op.IsWrite() || y.Op.IsWrite()) &&
		!atomicPair(x.Flags, y.Flags) && y.Before(x.Slot, x.Epoch)
}

// TestExcludedAgainstPlainModel checks that the pairs of call stacks of unordered conflicting
// accesses are races or excluded by a lock.
func TestExcludedAgainstPlainModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := randomRun(rt)
		accesses := accessesOf(events)
		want, got := map[naivePair]bool{}, map[naivePair]bool{}
		for j, y := range accesses {
			for _, x := range accesses[:j] {
				free := x
				free.all, free.exclusive = nil, nil
				if naiveRace(free, y) && !naiveRace(x, y) {
					want[naivePair{x.Object, keyOf(&access{stack: x.Stack, op: x.Op}, &y.Event)}] = true
				}
			}
		}
		pairs, _ := excludedOf(events)
		for _, p := range pairs {
			x, y := evidence(rt, accesses, p.Evidence[0].Seq), evidence(rt, accesses, p.Evidence[1].Seq)
			if !slices.Contains(x.all, p.Lock) || !slices.Contains(y.all, p.Lock) || naiveRace(x, y) || y.Before(x.Slot, x.Epoch) {
				rt.Fatalf("%+v is not excluded by %d", p.Evidence, p.Lock)
			}
			got[naivePair{p.Objects[0], keyOf(&access{stack: x.Stack, op: x.Op}, &y.Event)}] = true
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(naivePair{}, pairKey{})); diff != "" {
			rt.Fatalf("-want +got:\n%s", diff)
		}
	})
}
