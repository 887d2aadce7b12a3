package stats

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/observer/event"
)

func TestCounter(t *testing.T) {
	var c Counter
	for _, e := range []event.Event{
		{Op: event.Begin},
		{Op: event.Acquire, Object: 2, Kind: event.KindMutex},
		{Op: event.Write, Object: 3, Kind: event.KindVariable},
		{Op: event.Write, Object: 4, Kind: event.KindField},
		{Op: event.Release, Object: 2, Kind: event.KindMutex},
		{Op: event.Wait, Object: 1, Kind: event.KindCond, Object2: 5},
		{Op: event.Wake, Object: 1, Kind: event.KindCond, Object2: 5},
		{Op: event.AcquireRead, Object: 6, Kind: event.KindRWLock},
		{Op: event.Signal, Object: 1, Kind: event.KindCond},
		{Op: event.NumOps}, // an operation that a later version may add
	} {
		c.Event(&e)
	}
	want := []Count{{event.Write, 2}, {event.Acquire, 1}, {event.AcquireRead, 1}, {event.Release, 1}, {event.Begin, 1}, {event.Wait, 1}, {event.Wake, 1}, {event.Signal, 1}}
	if diff := cmp.Diff(want, c.Events()); diff != "" {
		t.Error(diff)
	}
	c.Event(&event.Event{Op: event.Update, Object: 7, Kind: event.KindVariable, Flags: event.Atomic})
	c.Event(&event.Event{Op: event.Read, Object: 3, Kind: event.KindVariable})
	if first, more := c.Raced(), c.MoreRaced(event.KindVariable); !slices.Equal(first, []event.ObjectID{3, 4}) || more != 0 {
		t.Errorf("races can be in %v and %d more; want 3, 4", first, more)
	}
	if n := c.Objects(event.KindVariable); n != 2 {
		t.Errorf("%d variables, want 2", n)
	}
	if c.Variables() != 3 || c.Locks() != 3 {
		t.Errorf("%d variables, %d locks; want 3 and 3", c.Variables(), c.Locks())
	}
}

// TestSlidingSet adds identifiers as runs do: new ones nearly in order, and old ones at any time.
func TestSlidingSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r slidingSet
		met := map[uint64]bool{}
		next := uint64(1)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			step := rapid.SampledFrom([]uint64{1, 3, window / 2, window - 1}).Draw(t, "step")
			for _, id := range []uint64{next + step, next, 1 + next/2} {
				if !met[id] && id+window <= r.last {
					continue // No run has a new identifier so far behind.
				}
				if got := r.add(id); got == met[id] {
					t.Fatalf("identifier %d: fresh %v, met %v", id, got, met[id])
				}
				met[id] = true
			}
			next += step + 1
		}
	})
}

func TestRecentLeaps(t *testing.T) {
	var r slidingSet
	for _, id := range []uint64{1, window, 1 << 40, 1<<40 + window, 1<<63 + 1} {
		if !r.add(id) || r.add(id) {
			t.Errorf("identifier %d is not met once", id)
		}
	}
}

func TestLatency(t *testing.T) {
	var now uint64
	l := NewLatency(func() uint64 { return now })
	for i := range uint64(4) {
		l.Event(100 * (i + 1)) // 100, 200, 300, 400
	}
	now = 500
	l.LevelsClosed(0)
	l.LevelsClosed(2) // 400, 300
	l.Event(0)        // without a time
	now = 410
	l.LevelsClosed(3) // 110
	l.LevelsClosed(3)
	now = 390
	l.LevelsClosed(9) // 0, since the clock of another core may be behind; there were five events
	h := l.Spread()
	if h.N() != 4 || h.Max() != 400 || h.Quantile(0) != 0 || h.Quantile(1) != 400 {
		t.Errorf("%d values up to %d, from %d to %d", h.N(), h.Max(), h.Quantile(0), h.Quantile(1))
	}
	var none *Latency
	none.Event(1)
	none.LevelsClosed(1)
}

func TestLatencyKeepsOrder(t *testing.T) {
	var now uint64
	l := NewLatency(func() uint64 { return now })
	var closed uint64
	for i := uint64(1); i <= 1000; i++ {
		l.Event(i)
		if now = i; i%3 != 0 { // the queue grows by a third of the events
			closed++
			l.LevelsClosed(closed)
		}
	}
	now = 1000
	l.LevelsClosed(1000)
	if h := l.Spread(); h.N() != 1000 || h.Max() != 333 {
		t.Errorf("%d values up to %d, want 1000 up to 333", h.N(), h.Max())
	}
}

func TestHistogramAgainstSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var h Histogram
		var all []uint64
		for range 1 + r.IntN(300) {
			v := r.Uint64() >> r.IntN(64)
			h.add(v)
			all = append(all, v)
		}
		slices.Sort(all)
		for _, q := range []float64{0, 0.5, 0.99, 1} {
			exact := all[max(int(q*float64(len(all))+0.999999), 1)-1]
			if got := h.Quantile(q); got < exact || got-exact > exact/32 {
				t.Fatalf("quantile %v of %d values: %d, exactly %d", q, len(all), got, exact)
			}
		}
	}
	var none Histogram
	if none.Quantile(0.5) != 0 || none.Max() != 0 {
		t.Error("an empty histogram has values")
	}
}

func TestNothingIsAllocatedForAnEvent(t *testing.T) {
	var now, levels uint64
	l := NewLatency(func() uint64 { now += 7; return now })
	var c Counter
	e := event.Event{Op: event.Write, Kind: event.KindVariable}
	l.Event(1)
	if n := testing.AllocsPerRun(1000, func() {
		e.Object++
		c.Event(&e)
		l.Event(now + 1)
		levels++
		l.LevelsClosed(levels)
	}); n != 0 {
		t.Errorf("%v allocations an event", n)
	}
}
