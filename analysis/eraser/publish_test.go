package eraser

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

// play gives events their clocks and hands them to an analysis that keeps every pair.
func play(events []event.Event) int {
	a, must := New(Options{EveryPair: true}), clock.New()
	for i := range events {
		e := &events[i]
		e.Seq = uint64(i + 1)
		must.Stamp(e)
		a.Event(e)
		must.Done(e)
	}
	return len(a.Finish())
}

func TestPublication(t *testing.T) {
	const lock, other, field = 1, 2, 3
	ev := func(op event.Op, thread event.ThreadID, object event.ObjectID) event.Event {
		kind := event.KindMutex
		if op.IsAccess() {
			kind = event.KindField
		}
		return event.Event{Op: op, Thread: thread, Object: object, Kind: kind, Place: event.PlaceID(10*uint32(thread) + uint32(op))}
	}
	begin := []event.Event{
		{Op: event.Begin, Thread: 1}, {Op: event.Fork, Thread: 1, Peer: 2}, {Op: event.Begin, Thread: 2}, {Op: event.Fork, Thread: 1, Peer: 3}, {Op: event.Begin, Thread: 3},
	}
	section := func(thread event.ThreadID, object event.ObjectID) []event.Event {
		return []event.Event{ev(event.Acquire, thread, object), ev(event.Release, thread, object)}
	}
	write := func(thread event.ThreadID) []event.Event { return []event.Event{ev(event.Write, thread, field)} }
	for _, c := range []struct {
		name  string
		parts [][]event.Event
		races int
	}{
		{"handed over under a lock", [][]event.Event{write(1), section(1, lock), section(2, lock), write(2)}, 0},
		{"handed over twice", [][]event.Event{write(1), section(1, lock), section(3, lock), section(3, other), section(2, other), write(2)}, 0},
		{"not handed over", [][]event.Event{write(1), write(2)}, 1},
		{"under another lock", [][]event.Event{write(1), section(1, lock), section(2, other), write(2)}, 1},
		{"written after the hand-over", [][]event.Event{write(1), section(1, lock), section(2, lock), write(1), write(2)}, 1},
		{"back without need of one", [][]event.Event{write(1), section(1, lock), section(2, lock), write(2), write(1)}, 1},
	} {
		events := append([]event.Event(nil), begin...)
		for _, p := range c.parts {
			events = append(events, p...)
		}
		if got := play(events); got != c.races {
			t.Errorf("%s: %d races, want %d", c.name, got, c.races)
		}
	}
}
