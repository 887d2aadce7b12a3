package goodlock

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
	locks   event.ObjectID
	threads int
	lifo    bool // releases in reverse order of acquisition only
	order   []event.ObjectID
}

func newWorld(rt *rapid.T) *world {
	w := &world{
		pick:    picker(rt),
		holders: map[event.ObjectID]map[event.ThreadID]bool{}, live: []event.ThreadID{1}, next: 1,
	}
	w.locks = event.ObjectID(between(w, 2, 5, "locks"))
	w.threads = between(w, 2, 5, "threads")
	return w
}

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
	for l := event.ObjectID(1); l <= w.locks; l++ {
		if _, ok := w.holders[l][t]; ok {
			out = append(out, l)
		}
	}
	return out
}

func (w *world) acquire(t event.ThreadID, place event.PlaceID) {
	l := event.ObjectID(between(w, 1, int(w.locks), "lock"))
	op := oneOf(w, []event.Op{event.Acquire, event.Acquire, event.Acquire, event.AcquireRead}, "mode")
	flags := oneOf(w, []event.Flags{0, 0, 0, 0, 0, event.Try, event.Timed}, "flags")
	if w.lifo {
		op, flags = event.Acquire, 0
	}
	if _, again := w.holders[l][t]; again || !w.free(l, op == event.AcquireRead) {
		return
	}
	if w.holders[l] == nil {
		w.holders[l] = map[event.ThreadID]bool{}
	}
	w.holders[l][t] = op == event.Acquire
	w.order = append(w.order, l)
	w.emit(event.Event{Thread: t, Op: op, Object: l, Kind: event.KindRWLock, Place: place, Flags: flags})
}

func (w *world) release(t event.ThreadID) {
	h := w.held(t)
	if len(h) == 0 {
		return
	}
	l := oneOf(w, h, "released")
	if w.lifo {
		l = w.latest(h)
	}
	delete(w.holders[l], t)
	w.emit(event.Event{Thread: t, Op: event.Release, Object: l, Kind: event.KindRWLock})
}

// latest gives the lock of h that was acquired last.
func (w *world) latest(h []event.ObjectID) event.ObjectID {
	for i := len(w.order) - 1; i >= 0; i-- {
		if slices.Contains(h, w.order[i]) {
			return w.order[i]
		}
	}
	return 0
}

func (w *world) step() {
	t := oneOf(w, w.live, "thread")
	switch between(w, 0, 31, "action") {
	case 0:
		v := event.ObjectID(100 + between(w, 0, 1, "variable"))
		op := oneOf(w, []event.Op{event.Read, event.Write}, "op")
		w.emit(event.Event{Thread: t, Op: op, Object: v, Kind: event.KindVariable})
	case 1, 2, 17, 18:
		if len(w.live) < w.threads {
			w.next++
			w.live = append(w.live, w.next)
			w.emit(event.Event{Thread: t, Op: event.Fork, Peer: w.next})
			w.emit(event.Event{Thread: w.next, Op: event.Begin})
		}
	case 3:
		if t != 1 && len(w.held(t)) == 0 {
			w.emit(event.Event{Thread: t, Op: event.End})
			w.live = slices.DeleteFunc(w.live, func(x event.ThreadID) bool { return x == t })
			w.ended = append(w.ended, t)
		}
	case 4:
		if n := len(w.ended); n > 0 {
			w.emit(event.Event{Thread: t, Op: event.Join, Peer: w.ended[n-1]})
			w.ended = w.ended[:n-1]
		}
	case 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16:
		w.release(t)
	default:
		w.acquire(t, event.PlaceID(between(w, 1, 3, "place")))
	}
}

func randomRun(rt *rapid.T, lifo bool) []event.Event {
	w := newWorld(rt)
	w.lifo = lifo
	for range oneOf(w, []int{10, 30, 60, 120, 200}, "steps") {
		w.step()
	}
	eventtest.Stamp(w.events)
	return w.events
}
