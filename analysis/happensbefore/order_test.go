package happensbefore

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
	"github.com/tracepredict/tracepredict/observer/order"
)

// stamp identifies an event, with its clock.
type stamp struct {
	slot  uint32
	time  event.Epoch
	knows vector
}

func (s *stamp) before(o *stamp) bool { return s.time <= o.knows.At(s.slot) }

// orders returns the events that come before each event of a run by the plain model, and the
// stamps of the events in the order of the analysis. Both are taken after each event, and so
// include the edge from the write that a read reads.
func orders(run []event.Event) (want []eventtest.Set, got []stamp) {
	must, plain, a := clock.New(), eventtest.NewNaive(order.Must|order.Observed|order.Outcome), New(Options{})
	for i := range run {
		e := run[i]
		plain.Step(e)
		want = append(want, maps.Clone(plain.Last(e.Thread)))
		must.Stamp(&e)
		before := a.thread(&e).time
		a.Event(&e)
		must.Done(&e)
		t := a.slots[e.Slot]
		got = append(got, stamp{slot: e.Slot, time: before, knows: *t.clock.known.Clone()})
	}
	return want, got
}

// lived adds lifetimes to the objects of a run: they are destroyed, some by an inferred Destroy,
// and come again with another identifier, as if at the same address.
func lived(r *rand.Rand, run []event.Event) []event.Event {
	var out []event.Event
	names, next := map[event.ObjectID]event.ObjectID{}, event.ObjectID(100)
	for _, e := range run {
		if o := []event.ObjectID{eventtest.ObjectX, eventtest.ObjectY, eventtest.Mutex, eventtest.RWLock, eventtest.Semaphore, eventtest.Once}[r.IntN(6)]; r.IntN(12) == 0 {
			now := names[o]
			if now == 0 {
				now = o
			}
			next++
			names[o] = next
			kind := map[bool]event.Kind{true: event.KindVariable, false: event.KindSemaphore}[o <= eventtest.ObjectY]
			out = append(out, event.Event{Thread: e.Thread, Op: event.Destroy, Object: now, Kind: kind, Flags: event.Flags(r.IntN(2)) * event.Inferred})
			if r.IntN(2) == 0 || o == eventtest.Semaphore {
				out = append(out, event.Event{Thread: e.Thread, Op: event.Init, Object: next, Kind: kind, Flags: event.HasValue, Value: uint64(r.IntN(2))})
			}
		}
		if to := names[e.Object]; to != 0 {
			e.Object = to
		}
		if e.Op == event.Read && r.IntN(10) == 0 {
			e.Flags |= []event.Flags{event.Late, event.NoSource, event.Late | event.Atomic, event.Late | event.Atomic | event.NoSource}[r.IntN(4)]
		}
		out = append(out, e)
	}
	return out
}

// TestOrderIsThatOfTheTable: the order is that of the plain model.
func TestOrderIsThatOfTheTable(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 5))
		run := eventtest.RandomRun(r, 60)
		if seed%3 == 0 {
			run = eventtest.RandomSections(r, 60)
		}
		for i := range run {
			if o := run[i].Object; seed%5 == 0 && run[i].Op.IsAccess() && o == eventtest.ObjectX {
				run[i].Flags |= event.Atomic
			}
		}
		if seed%4 < 2 {
			run = eventtest.Messages(r, lived(r, run))
		}
		want, got := orders(run)
		for j := range run {
			for i := range run[:j] {
				if w, g := want[j][i+1], got[i].before(&got[j]); w != g {
					t.Fatalf("seed %d: event %d (%v) before %d (%v): %v, want %v", seed, i+1, run[i], j+1, run[j], g, w)
				}
			}
		}
	}
}
