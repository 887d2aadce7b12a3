package eraser

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestHandover checks that a variable is no candidate, whatever locks were held, if it passes from
// one owner to the next by an order that every schedule keeps. If another schedule may have
// another order, it is one.
func TestHandover(t *testing.T) {
	const s, c, b, o event.ObjectID = 20, 21, 22, 23
	write := func(th event.ThreadID) event.Event { return at(th, event.Write, x, event.StackID(th)) }
	op := func(th event.ThreadID, op event.Op, o event.ObjectID) event.Event { return at(th, op, o, 1) }
	initialised := func(o event.ObjectID, k event.Kind, n uint64) event.Event {
		return event.Event{Thread: 1, Op: event.Init, Object: o, Kind: k, Value: n, Flags: event.HasValue}
	}
	waits := func(th event.ThreadID) []event.Event {
		out := op(th, event.Release, l)
		back := op(th, event.Acquire, l)
		out.Flags, back.Flags = event.InCondWait, event.InCondWait
		return []event.Event{out, {Thread: th, Op: event.Wait, Object: c, Object2: l}, {Thread: 1, Op: event.Signal, Object: c}, {Thread: th, Op: event.Wake, Object: c, Object2: l}, back}
	}
	join := func(lists ...[]event.Event) (all []event.Event) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	for name, tt := range map[string]struct {
		run  []event.Event
		want int
	}{
		"join":   {[]event.Event{write(2), op(2, event.End, 0), {Thread: 1, Op: event.Join, Peer: 2}, write(1)}, 0},
		"create": {[]event.Event{write(1), {Thread: 1, Op: event.Fork, Peer: 4}, op(4, event.Begin, 0), write(4)}, 0},
		// Whether another thread posts later is not known yet: package engine leaves this out at the end.
		"semaphore, one who posts":    {[]event.Event{initialised(s, event.KindSemaphore, 0), write(2), op(2, event.SemPost, s), op(3, event.SemWait, s), write(3)}, 1},
		"semaphore that was not zero": {[]event.Event{initialised(s, event.KindSemaphore, 1), write(2), op(2, event.SemPost, s), op(3, event.SemWait, s), write(3)}, 1},
		"semaphore, two who post":     {[]event.Event{initialised(s, event.KindSemaphore, 0), op(1, event.SemPost, s), write(2), op(2, event.SemPost, s), op(3, event.SemWait, s), op(3, event.SemWait, s), write(3)}, 1},
		"barrier":                     {[]event.Event{initialised(b, event.KindBarrier, 2), write(2), op(2, event.BarrierArrive, b), op(3, event.BarrierArrive, b), op(3, event.BarrierDepart, b), write(3)}, 0},
		"once":                        {[]event.Event{write(2), op(2, event.OnceDone, o), op(3, event.OnceLeave, o), write(3)}, 0},
		"signal":                      {[]event.Event{op(3, event.Acquire, l), op(3, event.Release, l), op(3, event.Wait, c), write(2), op(2, event.Signal, c), op(3, event.Wake, c), op(3, event.Acquire, l), write(3)}, 0},
		"signal before the wait":      {[]event.Event{write(2), op(2, event.Signal, c), op(3, event.Wait, c), {Thread: 3, Op: event.Wake, Object: c, Flags: event.TimedOut}, write(3)}, 1},
		"one lock alone":              {[]event.Event{write(2), op(2, event.Acquire, l), op(2, event.Release, l), op(3, event.Acquire, l), op(3, event.Release, l), write(3)}, 1},
		// The wait releases the lock, and acquires it again at its end.
		"both under the lock, one waits": {join([]event.Event{op(2, event.Acquire, l), write(2)}, waits(2), []event.Event{at(2, event.Write, x, 9), op(2, event.Release, l), op(3, event.Acquire, l), write(3), op(3, event.Release, l)}), 0},
		"the outer lock goes on":         {join([]event.Event{op(2, event.Acquire, m), op(2, event.Acquire, l)}, waits(2)[:4], []event.Event{write(2), op(2, event.Acquire, l), op(2, event.Release, l), op(2, event.Release, m), op(3, event.Acquire, l), write(3), op(3, event.Release, l)}), 1},
		// Reused memory is another variable, or another lock.
		"another variable there": {[]event.Event{write(2), op(2, event.Destroy, x), at(3, event.Write, x+50, 2)}, 0},
		"another lock there":     {[]event.Event{op(2, event.Acquire, l), write(2), op(2, event.Release, l), op(2, event.Destroy, l), op(3, event.Acquire, l+50), write(3), op(3, event.Release, l+50)}, 1},
		// Only the outermost level of a recursive lock is an event. An inner acquire would change
		// nothing.
		"taken twice": {[]event.Event{op(2, event.Acquire, l), op(2, event.Acquire, l), write(2), op(2, event.Release, l), op(3, event.Acquire, l), write(3), op(3, event.Release, l)}, 0},
	} {
		a := analyse(Options{EveryPair: true}, twoTasks(tt.run...))
		if got := a.Finish(); len(got) != tt.want {
			t.Errorf("%s: %d findings, want %d: %+v", name, len(got), tt.want, got)
		}
	}
}

// TestSetsAreOnce checks that equal locksets have one identifier, whatever the order in which
// their locks were acquired, and that a cached result is not computed again.
func TestSetsAreOnce(t *testing.T) {
	sets := newTable()
	of := func(held ...event.ObjectID) setID {
		id := setID(0)
		for _, o := range held {
			id = sets.add(id, locks.MemberOf(o, false))
		}
		return id
	}
	if of(1, 2, 3) != of(3, 1, 2) || of(1, 2) == of(1, 3) {
		t.Error("sets of the same locks have two names, or of others one")
	}
	read := sets.add(of(1), locks.MemberOf(2, true))
	if read == of(1, 2) {
		t.Error("the mode is not part of the set")
	}
	if got := sets.refine(of(1, 2), read, true); got != of(1) {
		t.Errorf("a write under 1 and the read side of 2 leaves %v of 1 and 2", sets.sets[got])
	}
	if got := sets.refine(of(1, 2), read, false); got != of(1, 2) {
		t.Errorf("a read there leaves %v", sets.sets[got])
	}
	n := len(sets.refined)
	for range 10 {
		sets.refine(of(1, 2), read, true)
	}
	if len(sets.refined) != n {
		t.Error("an intersection was made twice")
	}
}
