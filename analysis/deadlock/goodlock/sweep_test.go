package goodlock

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// mortal changes a run so that free locks are now and then destroyed, and new ones used in their
// place: rarely enough in some runs that two threads nest the same ones.
func mortal(rt *rapid.T, events []event.Event) []event.Event {
	var out []event.Event
	lives := rapid.IntRange(2, 20).Draw(rt, "lives")
	holders := map[event.ObjectID]int{}
	name := map[event.ObjectID]event.ObjectID{}
	next := event.ObjectID(1000)
	add := func(e event.Event) {
		e.Seq, e.Must = uint64(len(out)+1), nil
		out = append(out, e)
	}
	for _, e := range events {
		of := e.Object
		if n := name[of]; n != 0 {
			e.Object = n
		}
		add(e)
		switch {
		case e.Op.IsAcquire():
			holders[of]++
		case e.Op == event.Release:
			if holders[of]--; holders[of] == 0 && rapid.IntRange(0, lives).Draw(rt, "destroy") == 0 {
				add(event.Event{Thread: e.Thread, Op: event.Destroy, Object: e.Object, Kind: e.Kind, Flags: event.Inferred})
				next++
				name[of] = next
			}
		}
	}
	eventtest.Stamp(out)
	return out
}

func lockRings(fs []finding.Finding) []string {
	var out []string
	for _, f := range fs {
		locks := slices.Clone(f.Objects)
		slices.Sort(locks)
		out = append(out, fmt.Sprint(locks))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestSweepKeepsFindings checks that what sweeps discard is in no later cycle of two.
func TestSweepKeepsFindings(t *testing.T) {
	dropped, found := uint64(0), 0
	rapid.Check(t, eventtest.FiveTimes(func(rt *rapid.T) {
		events := mortal(rt, randomRun(rt, false))
		often, never := New(Options{MaxThreads: 2}), New(Options{MaxThreads: 2})
		often.sweepAfter = 1
		for i := range events {
			often.Event(&events[i])
			never.Event(&events[i])
		}
		dropped += often.Stats().EvictedEdges
		want := lockRings(never.Finish())
		found += len(want)
		if d := cmp.Diff(want, lockRings(often.Finish())); d != "" {
			rt.Fatalf("-want +got:\n%s", d)
		}
	}))
	if dropped == 0 || found == 0 {
		t.Errorf("%d edges were dropped and %d cycles found: the test shows nothing", dropped, found)
	}
}

// TestDestroyedLocksAreDropped checks that a hundred thousand locks, each destroyed after its use within
// another, leave next to nothing in memory.
func TestDestroyedLocksAreDropped(t *testing.T) {
	a := New(Options{})
	e := func(op event.Op, o event.ObjectID) {
		a.Event(&event.Event{Thread: 1, Op: op, Object: o, Kind: event.KindMutex, Epoch: 1, Must: event.ClockOf(1)})
	}
	for l := event.ObjectID(2); l < 100_000; l++ {
		e(event.Acquire, 1)
		e(event.Acquire, l)
		e(event.Release, l)
		e(event.Release, 1)
		e(event.Destroy, l)
	}
	s := a.Stats()
	if a.nodes > 2*minDestroyed || s.Edges > 2*minDestroyed || len(a.destroyed) > 2*minDestroyed || len(a.forest.locks) > 2*minDestroyed {
		t.Errorf("%d nodes, %d destroyed locks, %d locks in use, %+v", a.nodes, len(a.destroyed), len(a.forest.locks), s)
	}
	if s.DroppedEdges != 0 || s.BudgetHit {
		t.Errorf("%+v", s)
	}
}
