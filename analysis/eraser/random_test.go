package eraser

import (
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// world runs random threads one step at a time, so that what it records is a
// feasible run: locks exclude, threads live between fork and join.
type world struct {
	pick    func(n int, what string) int // from 0 to n-1
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

// picker draws either each choice by itself, so that failures shrink, or a
// seed for all, so that long runs are as varied as short ones.
func picker(rt *rapid.T) func(n int, what string) int {
	if rapid.Bool().Draw(rt, "one by one") {
		return func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(rt, what) }
	}
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
	return func(n int, _ string) int { return r.IntN(n) }
}

func between(w *world, low, high int, what string) int { return low + w.pick(high-low+1, what) }

func oneOf[T any](w *world, s []T, what string) T { return s[w.pick(len(s), what)] }

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

func (w *world) step() {
	t := oneOf(w, w.live, "thread")
	place := event.PlaceID(between(w, 1, 3, "place"))
	switch between(w, 0, 9, "action") {
	case 0, 1:
		l := event.ObjectID(between(w, firstLock, firstLock+locks-1, "lock"))
		shared := w.pick(2, "shared") == 1
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
			l := oneOf(w, h, "released")
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
		v := event.ObjectID(between(w, firstVariable, firstVariable+variables-1, "variable"))
		op := oneOf(w, []event.Op{event.Read, event.Read, event.Write, event.Update}, "op")
		flags := oneOf(w, []event.Flags{0, 0, 0, event.Atomic}, "flags")
		w.emit(event.Event{Thread: t, Op: op, Object: v, Kind: event.KindVariable, Flags: flags, Place: place})
	}
}

func randomRun(rt *rapid.T) []event.Event {
	w := &world{pick: picker(rt), holders: map[event.ObjectID]map[event.ThreadID]bool{}, live: []event.ThreadID{1}, next: 1}
	for range oneOf(w, []int{5, 20, 60, 100}, "steps") {
		w.step()
	}
	eventtest.Stamp(w.events)
	return w.events
}
