package observer

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tracepredict/tracepredict/observer/event"
)

// leaving has the code whose locks are left out while the program runs.
type leaving struct {
	since uint64 // when that began, ns; 1: from the beginning; 0: all locks are observed

	next atomic.Uint64 // when the first of todo is due, ns; 0: there is none
	mu   sync.Mutex    // guards todo
	todo []leftPart
}

// newLeaving returns a leaving with code that is left out from the beginning, if there is some.
func newLeaving(from bool) *leaving {
	l := &leaving{}
	if from {
		l.since = 1
	}
	return l
}

// leftPart is code whose locks are left out from a time on: theirs are the holds at the call stacks of which it says so.
type leftPart struct {
	at   uint64
	code func(event.StackID) bool
}

// LeaveOut says that of some code no acquisitions and releases are recorded after a time, in ns: what it holds then is
// released. Any goroutine may call it, before a record with a later time is read.
func (o *Observer) LeaveOut(at uint64, code func(event.StackID) bool) {
	l := o.locks.leaving
	l.mu.Lock()
	defer l.mu.Unlock()
	l.todo = append(l.todo, leftPart{at, code})
	l.next.Store(l.todo[0].at)
}

// due reports whether a record with a time is the first after code was left out.
func (l *leaving) due(now uint64) bool {
	next := l.next.Load()
	return next != 0 && now >= next
}

// leaves releases what the code holds that is left out by now.
func (o *Observer) leaves() {
	l := o.locks.leaving
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for ; n < len(l.todo) && l.todo[n].at <= o.now; n++ {
		if l.since == 0 {
			l.since = l.todo[n].at
		}
		o.releaseHolds(l.todo[n].code)
	}
	l.todo = l.todo[n:]
	l.next.Store(0)
	if len(l.todo) > 0 {
		l.next.Store(l.todo[0].at)
	}
}

// releaseHolds sends a release for each lock that was acquired by some code. It is not marked as inferred: a thread whose
// last event is such a release would seem to have ended with the lock.
func (o *Observer) releaseHolds(code func(event.StackID) bool) {
	for _, tid := range slices.Sorted(maps.Keys(o.threads.live)) {
		t := o.threads.live[tid]
		for i := len(t.held) - 1; i >= 0; i-- {
			if h := t.held[i]; code(h.stack) {
				o.locks.release(t, nil, h.obj, 0)
			}
		}
	}
}

// mayHold reports whether a thread may hold a lock by an acquisition that was not recorded: no code that is observed has
// acquired the lock since other code was left out.
func (l *leaving) mayHold(obj *object) bool { return l.since != 0 && obj.acquired < l.since }
