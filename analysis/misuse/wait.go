package misuse

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// condition is the state of a condition that threads wait on.
type condition struct {
	waiters []waiter // threads in a wait that no broadcast has ended
	woken   int      // number of waiters that signals have woken; it is unknown which
}

// waiter is a thread in a wait on a condition.
type waiter struct {
	step  step
	mutex event.ObjectID
	timed bool // the wait has a time limit: it may have ended without an event yet
	// missed is the first signal or broadcast that did not reach the thread, since the memory of
	// the condition was overwritten. If there was none, its op is None.
	missed step
}

// blocked returns the wait of the latest thread that may wait with another mutex than the given one,
// and whether some thread certainly does. If none may, the op of the wait is None.
func (c *condition) blocked(mutex event.ObjectID) (last step, certain bool) {
	if c == nil {
		return step{}, false
	}
	var lastUntimed step
	all, untimed := -c.woken, -c.woken
	for _, w := range c.waiters {
		if w.mutex == mutex {
			continue
		}
		last, all = w.step, all+1
		if !w.timed {
			lastUntimed, untimed = w.step, untimed+1
		}
	}
	switch {
	case untimed > 0:
		return lastUntimed, true
	case all > 0:
		return last, false
	}
	return step{}, false
}

// leave removes a thread from the waiters. signalled reports whether a signal may have ended its
// wait.
func (c *condition) leave(id event.ThreadID, signalled bool) {
	i := slices.IndexFunc(c.waiters, func(w waiter) bool { return w.step.thread == id })
	if i < 0 {
		return
	}
	c.waiters = slices.Delete(c.waiters, i, i+1)
	if signalled && c.woken > 0 {
		c.woken--
	}
	c.woken = min(c.woken, len(c.waiters))
}

// condition processes the operations on conditions.
func (a *Analysis) condition(t *thread, e *event.Event) {
	switch e.Op {
	case event.Wait:
		a.beginWait(t, e)
	case event.Wake:
		a.leaveWait(t, e.Flags&event.TimedOut == 0)
	case event.Signal, event.Broadcast:
		c := a.conds[e.Object]
		if a.waiting == 0 || c == nil || e.Flags&event.HasValue != 0 && a.reachesNobody(t, e, c) {
			return
		}
		if e.Op == event.Broadcast {
			c.waiters, c.woken = c.waiters[:0], 0
		} else {
			c.woken = min(c.woken+1, len(c.waiters))
		}
	}
}

// reachesNobody processes a signal or a broadcast whose condition says in its memory that fewer
// threads wait than were seen to, and reports whether its memory was overwritten. Then the memory does
// not know of some thread that certainly waits: without a time limit, and for so long that the
// signalling thread has acquired the mutex since. Such a thread is not reported before the end of the
// run, or its own: it may wake without having been signalled.
func (a *Analysis) reachesNobody(t *thread, e *event.Event, c *condition) bool {
	held, known := a.locks.Thread(t.id), -c.woken
	certain := func(w *waiter) bool {
		i := held.Find(w.mutex)
		return !w.timed && (i >= 0 && held.Held[i].Seq > w.step.seq || t.releasedSince(w.mutex, w.step.seq))
	}
	for i := range c.waiters {
		if certain(&c.waiters[i]) {
			known++
		}
	}
	if known <= 0 || e.Value >= uint64(known) {
		return false
	}
	for i := range c.waiters {
		if w := &c.waiters[i]; certain(w) && w.missed.op == event.None {
			w.missed = stepOf(e)
		}
	}
	return true
}

// releasedSince reports whether one of the last locks that the thread released is this one, acquired
// after an event.
func (t *thread) releasedSince(lock event.ObjectID, seq uint64) bool {
	return slices.ContainsFunc(t.released[:], func(h locks.Held) bool { return h.Lock() == lock && h.Seq > seq })
}

// reportForgotten reports that the memory of a condition was overwritten while a thread waited on it,
// which waits to the end.
func (a *Analysis) reportForgotten(w *waiter) {
	if w.missed.op != event.None {
		a.report(finding.OverwrittenWaited, w.missed, w.step)
	}
}

func (a *Analysis) beginWait(t *thread, e *event.Event) {
	a.leaveWait(t, false)
	c := a.conds[e.Object]
	if c == nil {
		if len(a.conds) >= maxLive {
			maps.DeleteFunc(a.conds, func(_ event.ObjectID, c *condition) bool { return len(c.waiters) == 0 })
		}
		c = &condition{}
		a.conds[e.Object] = c
	}
	s := stepOf(e)
	if other, certain := c.blocked(e.Object2); other.op != event.None {
		var doubt reason.What
		if !certain {
			doubt = reason.PerhapsGaveUp
		}
		a.reportDoubted(doubt, finding.WaitTwoMutexes, s, other)
	}
	c.waiters = append(c.waiters, waiter{step: s, mutex: e.Object2, timed: e.Flags&event.Timed != 0})
	t.wait = c
	a.waiting++
}

// leaveWait ends the wait that a thread is in, if any.
func (a *Analysis) leaveWait(t *thread, signalled bool) {
	if t.wait == nil {
		return
	}
	t.wait.leave(t.id, signalled)
	t.wait = nil
	a.waiting--
}

// barrier is a barrier whose Init was recorded.
type barrier struct {
	threads      uint64 // threads of a generation; 0: unknown, or threads of other processes take part
	arrivals     uint64
	inside       []step // arrivals of the threads that have not departed
	last         step
	lastDeparted bool // the thread of last has departed
}

// blocked reports whether a thread waits at the barrier.
func (b *barrier) blocked() bool {
	return b != nil && b.threads > 0 && b.arrivals%b.threads != 0 && !b.lastDeparted
}

// leaving returns the arrival of a thread that has not departed, though all had arrived. If there is
// none, its op is None.
func (b *barrier) leaving() step {
	if b == nil || b.threads == 0 || len(b.inside) == 0 {
		return step{}
	}
	return b.inside[len(b.inside)-1]
}

// barrier processes arrivals and departures. If a thread departs from an incomplete generation, a
// thread of another process, whose events are not recorded, completed it.
func (a *Analysis) barrier(t *thread, e *event.Event) {
	if e.Op == event.BarrierArrive {
		b := a.barriers[e.Object]
		if t.barrier = b; b != nil {
			b.arrivals++
			b.inside = append(b.inside, stepOf(e))
			b.last, b.lastDeparted, t.arrival = stepOf(e), false, b.arrivals
		}
		return
	}
	if b := t.barrier; b != nil {
		b.inside = slices.DeleteFunc(b.inside, func(s step) bool { return s.thread == t.id })
	}
	if b := t.barrier; b != nil && b.threads > 0 {
		if generation := (t.arrival - 1) / b.threads; b.arrivals < (generation+1)*b.threads {
			b.threads = 0
		}
		b.lastDeparted = b.lastDeparted || b.last.thread == t.id
	}
	t.barrier = nil
}
