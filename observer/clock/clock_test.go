package clock_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
	"github.com/tracepredict/tracepredict/observer/order"
)

// world makes random traces of feasible runs.
type world struct {
	live   []event.ThreadID
	ended  []event.ThreadID
	asleep map[event.ThreadID]event.ObjectID
	inside map[event.ThreadID]event.ObjectID

	detached map[event.ThreadID]bool
	next     event.ThreadID
	object   event.ObjectID
	cond     event.ObjectID
	bar      event.ObjectID
	sem      event.ObjectID
	out      []event.Event
}

func drawTrace(t *rapid.T) []event.Event {
	w := &world{
		live: []event.ThreadID{1}, next: 2, object: 10, cond: 1, bar: 2, sem: 3,
		asleep: map[event.ThreadID]event.ObjectID{}, inside: map[event.ThreadID]event.ObjectID{},
		detached: map[event.ThreadID]bool{},
	}
	if rapid.Bool().Draw(t, "known") {
		w.out = append(w.out, event.Event{Thread: 1, Op: event.Init, Object: w.sem, Kind: event.KindSemaphore, Flags: event.HasValue, Value: uint64(rapid.IntRange(0, 2).Draw(t, "v"))})
	}
	for range rapid.IntRange(1, 80).Draw(t, "events") {
		w.step(t)
	}
	return w.out
}

func (w *world) step(t *rapid.T) {
	if len(w.live) == 0 {
		w.live = append(w.live, w.next) // a thread without a fork
		w.next++
	}
	id := rapid.SampledFrom(w.live).Draw(t, "thread")
	e := event.Event{Thread: id}
	switch {
	case w.asleep[id] != 0:
		e.Op, e.Object = event.Wake, w.asleep[id]
		if rapid.IntRange(0, 4).Draw(t, "timeout") == 0 {
			e.Flags = event.TimedOut
		}
		delete(w.asleep, id)
	case w.inside[id] != 0:
		e.Op, e.Object = event.BarrierDepart, w.inside[id]
		delete(w.inside, id)
	default:
		w.running(t, &e)
	}
	w.out = append(w.out, e)
}

var plainOps = []event.Op{
	event.Read, event.Write, event.Update, event.Acquire, event.Release, event.Signal, event.Broadcast, event.SemPost, event.SemWait,
	event.OnceDone, event.OnceLeave, event.Init, event.Destroy, event.Fork, event.Fork, event.End, event.End, event.Join, event.Join,
	event.Detach, event.Wait, event.Wait, event.BarrierArrive,
}

func (w *world) running(t *rapid.T, e *event.Event) {
	e.Op = rapid.SampledFrom(plainOps).Draw(t, "op")
	e.Object = w.object + event.ObjectID(rapid.IntRange(0, 2).Draw(t, "object"))
	switch e.Op {
	case event.Read, event.Write, event.Update:
		if rapid.Bool().Draw(t, "atomic") {
			e.Flags |= event.Atomic
		}
		if e.Op == event.Read && rapid.IntRange(0, 3).Draw(t, "source") == 0 {
			e.Flags |= event.NoSource
		}
		if e.Op != event.Write && rapid.IntRange(0, 3).Draw(t, "late") == 0 {
			e.Flags |= event.Late
		}
		if e.Op == event.Update && rapid.Bool().Draw(t, "unused") {
			e.Flags |= event.ResultUnused
		}
		if rapid.Bool().Draw(t, "valued") {
			e.Flags |= event.HasValue
			e.Value = uint64(rapid.IntRange(0, 1).Draw(t, "value"))
		}
	case event.Destroy:
		if rapid.Bool().Draw(t, "inferred") {
			e.Flags |= event.Inferred
		}
	case event.Fork:
		e.Object, e.Peer = 0, w.next
		w.live = append(w.live, w.next)
		w.next++
	case event.End:
		e.Object = 0
		w.drop(e.Thread)
		if !w.detached[e.Thread] {
			w.ended = append(w.ended, e.Thread)
		}
	case event.Join:
		e.Object = 0
		if len(w.ended) == 0 {
			e.Op = event.Begin
			return
		}
		i := rapid.IntRange(0, len(w.ended)-1).Draw(t, "joined")
		e.Peer = w.ended[i]
		w.ended = append(append([]event.ThreadID(nil), w.ended[:i]...), w.ended[i+1:]...)
	case event.Detach:
		e.Object, e.Peer = 0, rapid.SampledFrom(append(slices.Clone(w.live), w.ended...)).Draw(t, "detached")
		w.detached[e.Peer] = true
		w.ended = slices.DeleteFunc(slices.Clone(w.ended), func(x event.ThreadID) bool { return x == e.Peer })
	case event.Wait:
		e.Object = w.cond
		w.asleep[e.Thread] = w.cond
	case event.Signal, event.Broadcast:
		e.Object = w.cond
	case event.BarrierArrive:
		e.Object = w.bar
		w.inside[e.Thread] = w.bar
	case event.SemPost, event.SemWait:
		e.Object, e.Kind = w.sem, event.KindSemaphore
	}
}

func (w *world) drop(id event.ThreadID) {
	var live []event.ThreadID
	for _, x := range w.live {
		if x != id {
			live = append(live, x)
		}
	}
	w.live = live
}

// TestAgreesWithPlainModel: for every pair of events, Before reports the order of the plain model,
// which has sets of events instead of clocks with reused slots.
func TestAgreesWithPlainModel(t *testing.T) { agreesWithPlainModel(t, 0) }

// TestAgreesBeyondLowSlots: the same where clocks share memory, as the threads of the trace come after others.
func TestAgreesBeyondLowSlots(t *testing.T) { agreesWithPlainModel(t, event.LowSlots) }

// agreesWithPlainModel compares the orders of traces whose slots are those from a number on.
func agreesWithPlainModel(t *testing.T, others int) {
	reused := 0
	rapid.Check(t, eventtest.FiveTimes(func(t *rapid.T) {
		events := drawTrace(t)
		m, n := clock.New(), eventtest.NewNaive(order.Must)
		for i := range others { // which the plain model does not know, as they order nothing
			m.Stamp(&event.Event{Thread: event.ThreadID(1000 + i), Op: event.Begin})
		}
		threads := map[event.ThreadID]bool{}
		type id struct {
			slot  uint32
			epoch event.Epoch
		}
		seen := []id{{}}
		for i := range events {
			e := events[i]
			threads[e.Thread] = true
			m.Stamp(&e)
			if j := slices.Index(seen, id{e.Slot, e.Epoch}); j >= 0 {
				t.Fatalf("events %d and %d have one identity %v", j, i+1, seen[j])
			}
			seen = append(seen, id{e.Slot, e.Epoch})
			knows := n.Step(events[i])
			for j := 1; j < len(seen); j++ {
				if got, want := e.Before(seen[j].slot, seen[j].epoch), knows[j]; got != want {
					t.Fatalf("event %d (%v of thread %d): after event %d is %v, want %v", i+1, e.Op, e.Thread, j, got, want)
				}
			}
			m.Done(&e)
		}
		if m.Forced() != 0 {
			t.Fatalf("%d forced edges", m.Forced())
		}
		if m.Slots()-others < len(threads) {
			reused++
		}
	}))
	if reused == 0 {
		t.Error("no trace reused a slot: the test shows nothing")
	}
}
