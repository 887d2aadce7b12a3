package goodlock

import (
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// world is a World whose events are mainly those of locks.
type world struct {
	*eventtest.World
	locks   int
	threads int
	lifo    bool // only mutexes, released in reverse order of acquisition
}

func newWorld(rt *rapid.T, lifo bool) *world {
	w := &world{World: eventtest.NewWorld(eventtest.DrawnOrSeeded(rt)), lifo: lifo}
	w.locks = w.Between(2, 5, "locks")
	w.threads = w.Between(2, 5, "threads")
	return w
}

func (w *world) acquire(t event.ThreadID, stack event.StackID) {
	l := event.ObjectID(w.Between(1, w.locks, "lock"))
	op := eventtest.OneOf(w.Choices, []event.Op{event.Acquire, event.Acquire, event.Acquire, event.AcquireRead}, "mode")
	flags := eventtest.OneOf(w.Choices, []event.Flags{0, 0, 0, 0, 0, event.Try, event.Timed}, "flags")
	if w.lifo {
		op, flags = event.Acquire, 0
	}
	w.Acquire(event.Event{Thread: t, Op: op, Object: l, Stack: stack, Flags: flags})
}

func (w *world) release(t event.ThreadID) {
	h := w.Held(t)
	if len(h) == 0 {
		return
	}
	l := eventtest.OneOf(w.Choices, h, "released")
	if w.lifo {
		l = h[len(h)-1]
	}
	w.Release(event.Event{Thread: t, Object: l})
}

func (w *world) step() {
	t := eventtest.OneOf(w.Choices, w.Live, "thread")
	switch w.Between(0, 31, "action") {
	case 0:
		v := event.ObjectID(100 + w.Between(0, 1, "variable"))
		op := eventtest.OneOf(w.Choices, []event.Op{event.Read, event.Write}, "op")
		w.Emit(event.Event{Thread: t, Op: op, Object: v, Kind: event.KindVariable})
	case 1, 2, 17, 18:
		w.Fork(t, w.threads)
	case 3:
		w.End(t)
	case 4:
		w.Join(t)
	case 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16:
		w.release(t)
	default:
		w.acquire(t, event.StackID(w.Between(1, 3, "stack")))
	}
}

func randomRun(rt *rapid.T, lifo bool) []event.Event {
	w := newWorld(rt, lifo)
	for range eventtest.OneOf(w.Choices, []int{10, 30, 60, 120, 200}, "steps") {
		w.step()
	}
	eventtest.Stamp(w.Events)
	return w.Events
}
