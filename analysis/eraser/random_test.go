package eraser

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// world runs random threads one step at a time, so that what it records is a
// feasible run: locks exclude, threads live between fork and join.
type world struct {
	events  []event.Event
	holders map[event.ObjectID]map[event.ThreadID]bool // of a lock; true: exclusively
	live    []event.ThreadID
	ended   []event.ThreadID
	next    event.ThreadID
}

const (
	firstLock, locks         = 1, 3
	firstVariable, variables = 10, 2
)

func (w *world) emit(e event.Event) {
	e.Seq = uint64(len(w.events) + 1)
	w.events = append(w.events, e)
}

func (w *world) free(l event.ObjectID, shared bool) bool {
	for _, exclusive := range w.holders[l] {
		if exclusive || !shared {
			return false
		}
	}
	return true
}

func (w *world) held(t event.ThreadID) []event.ObjectID {
	var out []event.ObjectID
	for l := event.ObjectID(firstLock); l < firstLock+locks; l++ {
		if _, ok := w.holders[l][t]; ok {
			out = append(out, l)
		}
	}
	return out
}

func (w *world) step(rt *rapid.T) {
	t := rapid.SampledFrom(w.live).Draw(rt, "thread")
	place := event.PlaceID(rapid.IntRange(1, 3).Draw(rt, "place"))
	switch rapid.IntRange(0, 9).Draw(rt, "action") {
	case 0, 1:
		l := event.ObjectID(rapid.IntRange(firstLock, firstLock+locks-1).Draw(rt, "lock"))
		shared := rapid.Bool().Draw(rt, "shared")
		if !w.free(l, shared) {
			return
		}
		op := event.Acquire
		if shared {
			op = event.AcquireRead
		}
		if _, ok := w.holders[l][t]; ok {
			return
		}
		if w.holders[l] == nil {
			w.holders[l] = map[event.ThreadID]bool{}
		}
		w.holders[l][t] = !shared
		w.emit(event.Event{Thread: t, Op: op, Object: l, Kind: event.KindRWLock, Place: place})
	case 2:
		if h := w.held(t); len(h) > 0 {
			l := rapid.SampledFrom(h).Draw(rt, "released")
			delete(w.holders[l], t)
			w.emit(event.Event{Thread: t, Op: event.Release, Object: l, Kind: event.KindRWLock, Place: place})
		}
	case 3:
		if len(w.live) < 4 {
			w.next++
			w.live = append(w.live, w.next)
			w.emit(event.Event{Thread: t, Op: event.Fork, Peer: w.next})
			w.emit(event.Event{Thread: w.next, Op: event.Begin})
		}
	case 4:
		if t != 1 && len(w.held(t)) == 0 {
			w.emit(event.Event{Thread: t, Op: event.End})
			w.live = slices.DeleteFunc(w.live, func(x event.ThreadID) bool { return x == t })
			w.ended = append(w.ended, t)
		}
	case 5:
		if n := len(w.ended); n > 0 {
			w.emit(event.Event{Thread: t, Op: event.Join, Peer: w.ended[n-1]})
			w.ended = w.ended[:n-1]
		}
	default:
		v := event.ObjectID(rapid.IntRange(firstVariable, firstVariable+variables-1).Draw(rt, "variable"))
		op := rapid.SampledFrom([]event.Op{event.Read, event.Read, event.Write, event.Update}).Draw(rt, "op")
		flags := rapid.SampledFrom([]event.Flags{0, 0, 0, event.Atomic}).Draw(rt, "flags")
		w.emit(event.Event{Thread: t, Op: op, Object: v, Kind: event.KindVariable, Flags: flags, Place: place})
	}
}

func randomRun(rt *rapid.T) []event.Event {
	w := &world{holders: map[event.ObjectID]map[event.ThreadID]bool{}, live: []event.ThreadID{1}, next: 1}
	for range rapid.IntRange(1, 60).Draw(rt, "steps") {
		w.step(rt)
	}
	eventtest.Stamp(w.events)
	return w.events
}
