package eraser

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

// play stamps events with their clocks, passes them to an analysis with EveryPair, and returns the
// number of its findings.
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
		return event.Event{Op: op, Thread: thread, Object: object, Kind: kind, Stack: event.StackID(10*uint32(thread) + uint32(op))}
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

// TestPublishedPairs checks that pairs with published accesses are kept apart, that the pairs of many
// objects at one pair of call stacks take bounded memory, and that none are kept without EveryPair.
func TestPublishedPairs(t *testing.T) {
	const objects = 10 * maxPublishedPair
	for _, every := range []bool{true, false} {
		a, must, seq := New(Options{EveryPair: every}), clock.New(), uint64(0)
		send := func(e event.Event) {
			seq++
			e.Seq = seq
			must.Stamp(&e)
			a.Event(&e)
			must.Done(&e)
		}
		send(event.Event{Op: event.Begin, Thread: 1})
		send(event.Event{Op: event.Fork, Thread: 1, Peer: 2})
		send(event.Event{Op: event.Begin, Thread: 2})
		for i := range objects {
			field := event.ObjectID(i + 2)
			for thread := event.ThreadID(1); thread <= 2; thread++ {
				for _, op := range []event.Op{event.Acquire, event.Release} {
					send(event.Event{Op: op, Kind: event.KindMutex, Thread: thread, Object: 1})
				}
				send(event.Event{Op: event.Write, Kind: event.KindField, Thread: thread, Object: field, Stack: event.StackID(thread)})
				send(event.Event{Op: event.Acquire, Kind: event.KindMutex, Thread: thread, Object: 1})
				send(event.Event{Op: event.Release, Kind: event.KindMutex, Thread: thread, Object: 1})
			}
		}
		want := 0
		if every {
			want = maxPublishedPair
		}
		if got := a.Published(); len(got) != want || len(a.Races()) != 0 {
			t.Errorf("every pair %t: %d pairs are published and %d races, want %d and 0", every, len(got), len(a.Races()), want)
		}
	}
}

// TestObjectsThatComeAndGo checks that the same race on any number of objects keeps a bounded
// number of reports, and that all are counted.
func TestObjectsThatComeAndGo(t *testing.T) {
	a := New(Options{EveryPair: true})
	const objects = 10 * maxRetired
	for i := range uint64(objects) {
		id := event.ObjectID(i + 1)
		for slot := range uint32(2) {
			must := &event.Clock{}
			must.Set(slot, event.Epoch(i+1))
			a.Event(&event.Event{Seq: 3*i + uint64(slot) + 1, Op: event.Write, Kind: event.KindField, Thread: event.ThreadID(slot + 1), Object: id,
				Stack: event.StackID(slot + 1), Slot: slot, Epoch: event.Epoch(i + 1), Must: must})
		}
		a.Event(&event.Event{Seq: 3*i + 3, Op: event.Destroy, Kind: event.KindField, Flags: event.Inferred, Thread: 1, Object: id})
	}
	count := 0
	found := a.Finish()
	for _, f := range found {
		count += f.Count
	}
	if len(found) > maxRetired || count != objects {
		t.Errorf("%d findings count %d races, want at most %d and %d", len(found), count, maxRetired, objects)
	}
}
