package causality_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// plain returns the order of the run by its definition: the transitive closure of
// ordersDirectly.
func plain(events []event.Event) [][]bool {
	n := len(events)
	before := make([][]bool, n)
	for i := range before {
		before[i] = make([]bool, n)
	}
	for i := range n {
		for j := i + 1; j < n; j++ {
			before[i][j] = ordersDirectly(events, i, j)
		}
	}
	for k := range n {
		for i := range k {
			if before[i][k] {
				for j := k + 1; j < n; j++ {
					before[i][j] = before[i][j] || before[k][j]
				}
			}
		}
	}
	return before
}

func ordersDirectly(events []event.Event, i, j int) bool {
	a, b := &events[i], &events[j]
	switch {
	case a.Thread == b.Thread, a.Op == event.Fork && a.Peer == b.Thread, b.Op == event.Join && b.Peer == a.Thread:
		return true
	case a.Object == 0 || a.Object != b.Object:
		return false
	case a.Op == event.Init:
		return true
	case a.Object == eventtest.Semaphore:
		return semaphoreOrders(events, i, j)
	case a.Object == eventtest.Barrier:
		return a.Op == event.BarrierArrive && generation(events, i) <= generation(events, j) && (b.Op == event.BarrierDepart || generation(events, i) < generation(events, j))
	case a.Object == eventtest.Once:
		return a.Op == event.OnceDone
	}
	x, y := accessOf(events, i), accessOf(events, j)
	return x != 0 && y != 0 && (x == 'w' || y == 'w')
}

// accessOf returns 'r' or 'w', the access by the event of the variable that stands for its
// object; 0 for none.
func accessOf(events []event.Event, i int) byte {
	e := &events[i]
	exclusive := false
	for _, o := range events[:i] {
		if o.Object == e.Object && (o.Op == event.Acquire || o.Op == event.AcquireRead) {
			exclusive = o.Op == event.Acquire
		}
	}
	switch e.Op {
	case event.Read, event.AcquireRead, event.Wait:
		return 'r'
	case event.Release:
		if !exclusive {
			return 'r'
		}
	case event.AcquireFailed:
		if exclusive {
			return 'r'
		}
	case event.Wake:
		if e.Flags&event.TimedOut != 0 {
			return 0
		}
	}
	return 'w'
}

// semaphoreOrders reports whether a semaphore orders two events: post j before wait v+j, with
// v = 1; the wait that emptied it before a failure; a failure before the next post.
func semaphoreOrders(events []event.Event, i, j int) bool {
	count := func(upTo int, op event.Op) (n int) {
		for _, e := range events[:upTo+1] {
			if e.Object == eventtest.Semaphore && e.Op == op {
				n++
			}
		}
		return n
	}
	a, b := events[i].Op, events[j].Op
	switch {
	case a == event.SemPost && b == event.SemWait:
		return count(i, a)+1 == count(j, b)
	case a == event.SemWait && b == event.SemFailed:
		return count(i, a) == count(j, a)
	case a == event.SemFailed && b == event.SemPost:
		return count(i, b)+1 == count(j, b)
	}
	return false
}

// generation returns the number of the generation of eventtest.Barrier, a barrier of two threads,
// to which the event belongs.
func generation(events []event.Event, i int) int {
	n := 0
	for _, e := range events[:i+1] {
		if e.Object == eventtest.Barrier && e.Op == events[i].Op {
			n++
		}
	}
	return (n - 1) / 2
}

func runs(t *testing.T, check func(t *testing.T, events []event.Event, relevant func(i int) bool)) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		events := eventtest.RandomRun(r, 10+r.IntN(90))
		one := r.IntN(3)
		check(t, events, func(i int) bool {
			return events[i].Op == event.Write || (one == 0 && events[i].Op == event.SemPost) || (one == 1 && i%3 == 0)
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestTheorem1(t *testing.T) {
	runs(t, func(t *testing.T, events []event.Event, relevant func(i int) bool) {
		before := plain(events)
		c := causality.New()
		slots, clocks := make([]uint32, len(events)), make([]causality.Clock, len(events))
		for i := range events {
			slot, v := c.Stamp(&events[i], relevant(i))
			slots[i], clocks[i] = slot, slices.Clone(v)
		}
		for i := range events {
			for j := range events {
				if i == j || !relevant(i) || !relevant(j) {
					continue
				}
				if got := clocks[i].At(slots[i]) <= clocks[j].At(slots[i]); got != before[i][j] {
					t.Errorf("events %d and %d: before %v, want %v", i+1, j+1, got, before[i][j])
				}
			}
		}
	})
}

// TestLemma1 counts the relevant events that clocks include: (a) that of a thread those that
// precede or are its last event; (b) V_x^a those that precede or are some access of x so far, (c)
// V_x^w some write. In the paper's text (b) and (c) are about the last access only.
func TestLemma1(t *testing.T) {
	runs(t, func(t *testing.T, events []event.Event, relevant func(i int) bool) {
		before := plain(events)
		s := stampRun(events, relevant)
		var threads []event.ThreadID
		for i := range events {
			if !slices.Contains(threads, events[i].Thread) {
				threads = append(threads, events[i].Thread)
			}
		}
		count := func(known func(i int) bool) []uint32 {
			out := make([]uint32, len(threads))
			for i := range events {
				if relevant(i) && known(i) {
					out[slices.Index(threads, events[i].Thread)]++
				}
			}
			return out
		}
		for j := range events {
			want := count(func(i int) bool { return i == j || before[i][j] })
			if diff := cmp.Diff(want, s.ByThread(s.clocks[j], threads)); diff != "" {
				t.Fatalf("(a) event %d: %s", j+1, diff)
			}
		}
		for _, x := range []event.ObjectID{eventtest.ObjectX, eventtest.ObjectY} {
			access, write := s.raw.Variable(x)
			some := func(writes bool) []uint32 {
				return count(func(i int) bool {
					for j := range events {
						if events[j].Object == x && (events[j].Op == event.Write || !writes) && (i == j || before[i][j]) {
							return true
						}
					}
					return false
				})
			}
			if diff := cmp.Diff(some(false), s.ByThread(access, threads)); diff != "" {
				t.Fatalf("(b): %s", diff)
			}
			if diff := cmp.Diff(some(true), s.ByThread(write, threads)); diff != "" {
				t.Fatalf("(c): %s", diff)
			}
		}
	})
}

func TestSlotsAndMemoryAreBounded(t *testing.T) {
	c := causality.New()
	next := event.ThreadID(2)
	for range 1000 {
		child := next
		next++
		for _, e := range []event.Event{
			{Thread: 1, Op: event.Fork, Peer: child}, {Thread: 1, Op: event.Detach, Peer: child}, {Thread: child, Op: event.Write, Object: event.ObjectID(child)},
			{Thread: child, Op: event.Destroy, Object: event.ObjectID(child)}, {Thread: child, Op: event.End},
		} {
			c.Stamp(&e, e.Op == event.Write)
		}
	}
	if c.Slots() > 64 || c.Live() > 4 || c.Forced() == 0 {
		t.Errorf("%d slots, %d alive, %d forced", c.Slots(), c.Live(), c.Forced())
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	events := slices.DeleteFunc(eventtest.RandomRun(r, 2000), func(e event.Event) bool {
		return e.Op == event.End || e.Op == event.Fork || e.Op == event.Join || e.Op == event.SemPost || e.Op == event.Init || e.Object == eventtest.Barrier
	})
	c := causality.New()
	run := func() {
		for i := range events {
			c.Stamp(&events[i], events[i].Op == event.Write)
		}
	}
	for range 3 {
		run()
	}
	if n := testing.AllocsPerRun(5, run); n > 0 {
		t.Errorf("%v allocations for %d events", n, len(events))
	}
}
