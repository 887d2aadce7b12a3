package predict

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

// drawAccesses returns accesses of few threads to few variables, after the first events of others, which order
// nothing: the threads of the accesses have slots from others on.
func drawAccesses(t *rapid.T, others int) []event.Event {
	var events []event.Event
	for i := range others {
		events = append(events, event.Event{Thread: event.ThreadID(1000 + i), Op: event.Begin})
	}
	ops := []event.Op{event.Read, event.Write, event.Update, event.Fork}
	next := event.ThreadID(9)
	for range rapid.IntRange(1, 60).Draw(t, "events") {
		e := event.Event{Thread: event.ThreadID(rapid.IntRange(1, int(next)-1).Draw(t, "thread")), Op: rapid.SampledFrom(ops).Draw(t, "op")}
		if e.Op == event.Fork {
			e.Peer = next
			next++
		} else {
			e.Object, e.Kind = event.ObjectID(rapid.IntRange(1, 3).Draw(t, "variable")), event.KindVariable
			e.Flags = event.Flags(rapid.IntRange(0, 1).Draw(t, "atomic")) * event.Atomic
		}
		events = append(events, e)
	}
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	return events
}

// TestNeedsImplyTheMustOrder: the closure of what comes before an event is what its clock includes, although the needs of
// slots beyond the first are left out where others imply them.
func TestNeedsImplyTheMustOrder(t *testing.T) {
	left := 0
	rapid.Check(t, func(t *rapid.T) {
		m, h := clock.New(), New(Options{})
		var kept []event.Event
		last, rises := map[uint32]*event.Clock{}, 0
		for _, e := range drawAccesses(t, event.LowSlots) {
			m.Stamp(&e)
			h.Event(&e)
			e.Must = e.Must.Clone()
			kept = append(kept, e)
			last[e.Slot].Clone().HighRises(e.Must, func(slot uint32, _ event.Epoch) {
				if slot != e.Slot {
					rises++
				}
			})
			last[e.Slot] = e.Must
			m.Done(&e)
		}
		for i := range kept {
			e := &kept[i]
			c := h.start()
			c.before(e)
			for slot := range uint32(len(h.slots)) {
				want := e.Must.At(slot)
				if slot == e.Slot {
					want = e.Epoch - 1
				}
				if c.at[slot] != want {
					t.Fatalf("before event %d of slot %d the closure has slot %d up to %d, the clock up to %d", i+1, e.Slot, slot, c.at[slot], want)
				}
			}
		}
		needs := 0
		for _, s := range h.slots {
			needs += len(s.needs)
		}
		left += rises - needs
	})
	if left == 0 {
		t.Error("no need was left out: the test shows nothing")
	}
}
