package eventtest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestWorldIsPossible: whichever operations a world is given, no two threads hold a lock unless
// both are readers, and a thread acts only between its creation and its end.
func TestWorldIsPossible(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := NewWorld(DrawnOrSeeded(rt))
		for range 60 {
			act(w, OneOf(w.Choices, w.Live, "thread"))
		}
		holders := map[event.ObjectID]map[event.ThreadID]event.Op{1: {}, 2: {}}
		live := []event.ThreadID{1}
		for i, e := range w.Events {
			if !slices.Contains(live, e.Thread) || e.Seq != uint64(i+1) {
				t.Fatalf("%+v of the living %v", e, live)
			}
			switch e.Op {
			case event.Acquire, event.AcquireRead:
				for _, op := range holders[e.Object] {
					if op == event.Acquire || e.Op == event.Acquire {
						t.Fatalf("%+v beside %v", e, holders[e.Object])
					}
				}
				holders[e.Object][e.Thread] = e.Op
			case event.Release:
				if _, ok := holders[e.Object][e.Thread]; !ok {
					t.Fatalf("%+v of %v", e, holders[e.Object])
				}
				delete(holders[e.Object], e.Thread)
			case event.Fork:
				live = append(live, e.Peer)
			case event.End:
				live = slices.DeleteFunc(live, func(x event.ThreadID) bool { return x == e.Thread })
			case event.Join:
				if slices.Contains(live, e.Peer) {
					t.Fatalf("%+v of the living %v", e, live)
				}
			}
		}
	})
}

func act(w *World, t event.ThreadID) {
	switch w.Between(0, 7, "action") {
	case 0:
		w.Fork(t, 4)
	case 1:
		w.End(t)
	case 2:
		w.Join(t)
	case 3, 4:
		if h := w.Held(t); len(h) > 0 {
			w.Release(event.Event{Thread: t, Object: OneOf(w.Choices, h, "released")})
		}
	default:
		op := OneOf(w.Choices, []event.Op{event.Acquire, event.AcquireRead}, "mode")
		w.Acquire(event.Event{Thread: t, Op: op, Object: event.ObjectID(w.Between(1, 2, "lock"))})
	}
}
