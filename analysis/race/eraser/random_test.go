package eraser

import (
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

const (
	firstLock, lockCount     = 1, 3
	firstVariable, variables = 10, 2
)

func act(w *eventtest.World) {
	t := eventtest.OneOf(w.Choices, w.Live, "thread")
	stack := event.StackID(w.Between(1, 3, "stack"))
	switch w.Between(0, 9, "action") {
	case 0, 1:
		l := event.ObjectID(w.Between(firstLock, firstLock+lockCount-1, "lock"))
		op := eventtest.OneOf(w.Choices, []event.Op{event.Acquire, event.AcquireRead}, "mode")
		w.Acquire(event.Event{Thread: t, Op: op, Object: l, Stack: stack})
	case 2:
		if h := w.Held(t); len(h) > 0 {
			w.Release(event.Event{Thread: t, Object: eventtest.OneOf(w.Choices, h, "released"), Stack: stack})
		}
	case 3:
		w.Fork(t, 4)
	case 4:
		w.End(t)
	case 5:
		w.Join(t)
	default:
		v := event.ObjectID(w.Between(firstVariable, firstVariable+variables-1, "variable"))
		op := eventtest.OneOf(w.Choices, []event.Op{event.Read, event.Read, event.Write, event.Update}, "op")
		flags := eventtest.OneOf(w.Choices, []event.Flags{0, 0, event.PerhapsAtomic, event.Atomic}, "flags")
		w.Emit(event.Event{Thread: t, Op: op, Object: v, Kind: event.KindVariable, Flags: flags, Stack: stack})
	}
}

func randomRun(rt *rapid.T) []event.Event {
	w := eventtest.NewWorld(eventtest.DrawnOrSeeded(rt))
	for range eventtest.OneOf(w.Choices, []int{5, 20, 60, 100}, "steps") {
		act(w)
	}
	eventtest.Stamp(w.Events)
	return w.Events
}
