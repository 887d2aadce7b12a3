package eventtest

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// World builds a feasible run one operation at a time: locks exclude each other, and
// threads live between fork and join. An operation that is not possible in the present
// state is left out.
type World struct {
	Choices
	Events []event.Event    // the run so far, not stamped
	Live   []event.ThreadID // threads that have begun and not ended; 1 is always there

	ended []event.ThreadID                    // not yet joined
	last  event.ThreadID                      // the thread created last
	held  map[event.ThreadID][]event.ObjectID // in the order in which they were acquired
	users map[event.ObjectID]int              // the number of readers that hold the lock, or exclusively
}

// exclusively is the entry in World.users of a lock that a writer holds.
const exclusively = -1

// NewWorld returns a world with the first thread, in which nothing has happened.
func NewWorld(c Choices) *World {
	return &World{Choices: c, Live: []event.ThreadID{1}, last: 1, held: map[event.ThreadID][]event.ObjectID{}, users: map[event.ObjectID]int{}}
}

// Emit adds any event, and numbers it.
func (w *World) Emit(e event.Event) {
	e.Seq = uint64(len(w.Events) + 1)
	w.Events = append(w.Events, e)
}

// Held returns the locks that a thread holds, in the order in which it acquired them. The
// caller must not change the slice.
func (w *World) Held(t event.ThreadID) []event.ObjectID { return w.held[t] }

// Acquire makes e.Thread acquire the lock e.Object, exclusively or, where e.Op is
// AcquireRead, as a reader, if the lock is free for that and the thread does not hold it.
func (w *World) Acquire(e event.Event) {
	users, shared := w.users[e.Object], e.Op == event.AcquireRead
	if slices.Contains(w.held[e.Thread], e.Object) || users != 0 && (users == exclusively || !shared) {
		return
	}
	if shared {
		w.users[e.Object]++
	} else {
		w.users[e.Object] = exclusively
	}
	w.held[e.Thread] = append(w.held[e.Thread], e.Object)
	e.Kind = event.KindRWLock
	w.Emit(e)
}

// Release makes e.Thread release the lock e.Object, which it holds.
func (w *World) Release(e event.Event) {
	i := slices.Index(w.held[e.Thread], e.Object)
	w.held[e.Thread] = slices.Delete(w.held[e.Thread], i, i+1)
	w.users[e.Object] = max(0, w.users[e.Object]-1)
	e.Op, e.Kind = event.Release, event.KindRWLock
	w.Emit(e)
}

// Fork makes a thread create another, which begins at once, if fewer than most are alive.
func (w *World) Fork(t event.ThreadID, most int) {
	if len(w.Live) >= most {
		return
	}
	w.last++
	w.Live = append(w.Live, w.last)
	w.Emit(event.Event{Thread: t, Op: event.Fork, Peer: w.last})
	w.Emit(event.Event{Thread: w.last, Op: event.Begin})
}

// End ends a thread, if it is not the first one and holds no lock.
func (w *World) End(t event.ThreadID) {
	if t == 1 || len(w.held[t]) > 0 {
		return
	}
	w.Emit(event.Event{Thread: t, Op: event.End})
	w.Live = slices.DeleteFunc(w.Live, func(x event.ThreadID) bool { return x == t })
	w.ended = append(w.ended, t)
}

// Join makes a thread join the one that ended last of those that no thread has joined, if
// there is any.
func (w *World) Join(t event.ThreadID) {
	if n := len(w.ended); n > 0 {
		w.Emit(event.Event{Thread: t, Op: event.Join, Peer: w.ended[n-1]})
		w.ended = w.ended[:n-1]
	}
}
