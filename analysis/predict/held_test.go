package predict

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestHeldIsWhatIsHeld: whatever is evicted or discarded, the locks held at an epoch that is
// kept are those of a plain set of held locks.
func TestHeldIsWhatIsHeld(t *testing.T) {
	evicted := 0
	rapid.Check(t, func(t *rapid.T) {
		m := draw(eventtest.Drawn(t), 300, rapid.Bool().Draw(t, "full"))
		eventtest.Stamp(m.out)
		h := New(Options{Sections: rapid.IntRange(2, 8).Draw(t, "sections"), Events: rapid.IntRange(16, 200).Draw(t, "kept")})
		now := map[uint32]map[event.ObjectID]bool{}
		then := map[point][]event.ObjectID{}
		for i := range m.out {
			e := m.out[i]
			h.Event(&e)
			if now[e.Slot] == nil {
				now[e.Slot] = map[event.ObjectID]bool{}
			}
			if e.Op.IsAcquire() {
				now[e.Slot][e.Object] = true
			}
			if e.Op == event.Release {
				delete(now[e.Slot], e.Object)
			}
			then[point{e.Slot, e.Epoch}] = slices.Sorted(maps.Keys(now[e.Slot]))
		}
		h.moveLoneOf(0)
		if rapid.Bool().Draw(t, "tidy") {
			h.removeStale()
		}
		for p, want := range then {
			s := h.slots[p.slot]
			if g, in := s.gapAt(p.epoch); p.epoch < h.cut[p.slot] || (in && g.last != p.epoch) {
				evicted++
				continue
			}
			var got []event.ObjectID
			for x := range s.heldAt(p.epoch) {
				got = append(got, x.lock)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Fatalf("slot %d holds %v after epoch %d, want %v", p.slot, got, p.epoch, want)
			}
		}
	})
	if evicted == 0 {
		t.Error("nothing was evicted: the test shows nothing")
	}
}

// TestNoAllocation: an event of a run in its steady state allocates nothing.
func TestNoAllocation(t *testing.T) {
	f := newFeed(Options{Sections: 16, Events: 4096})
	f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
	round := func() {
		for range 500 {
			f.nest(1, lockA, lockB)
			f.nest(2, lockA, lockC)
		}
		f.add(event.Event{Thread: 1, Op: event.Acquire, Object: lockA})
		f.add(event.Event{Thread: 1, Op: event.Write, Object: varX})
		f.add(event.Event{Thread: 1, Op: event.Release, Object: lockA})
		f.add(event.Event{Thread: 2, Op: event.Read, Object: varX})
	}
	for range 20 {
		round()
	}
	if n := testing.AllocsPerRun(10, round); n > 2 {
		t.Errorf("%v allocations in 4000 events", n)
	}
}
