package misuse

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// condition is one that threads wait on.
type condition struct {
	waiters []waiter // that no broadcast has woken
	woken   int      // of these, which ones nobody knows: so many signals were sent
}

// waiter is a thread in a wait on a condition.
type waiter struct {
	step  step
	mutex event.ObjectID
	timed bool // it may have given up, and that not be recorded yet
}

// blocked returns a thread that certainly waits, with another mutex than the one given: of
// those that it may be the last.
func (c *condition) blocked(mutex event.ObjectID) (step, bool) {
	if c == nil {
		return step{}, false
	}
	var last step
	certain := -c.woken
	for _, w := range c.waiters {
		if !w.timed && w.mutex != mutex {
			last = w.step
			certain++
		}
	}
	return last, certain > 0
}

// leave takes a thread off; signalled says that it may be the one that was woken.
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

// condition serves what is done to conditions.
func (a *Analysis) condition(t *thread, e *event.Event) {
	switch e.Op {
	case event.Wait:
		a.waits(t, e)
	case event.Wake:
		a.leaveWait(t, e.Flags&event.TimedOut == 0)
	case event.Signal:
		if a.waiting > 0 {
			if c := a.conds[e.Object]; c != nil {
				c.woken = min(c.woken+1, len(c.waiters))
			}
		}
	case event.Broadcast:
		if a.waiting > 0 {
			if c := a.conds[e.Object]; c != nil {
				c.waiters, c.woken = c.waiters[:0], 0
			}
		}
	}
}

func (a *Analysis) waits(t *thread, e *event.Event) {
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
	if other, ok := c.blocked(e.Object2); ok {
		a.report(finding.WaitTwoMutexes, s, other)
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

// barrier is one whose initialisation was seen.
type barrier struct {
	takes    uint64 // threads of a generation; 0: that is not known, or other processes come too
	arrivals uint64
	last     step
	left     bool // last has departed
}

// blocked reports whether a thread waits at the barrier.
func (b *barrier) blocked() bool {
	return b != nil && b.takes > 0 && b.arrivals%b.takes != 0 && !b.left
}

// barrier serves arrivals and departures. Who departs from a generation that is not complete
// was let go by somebody who was not seen, of another process.
func (a *Analysis) barrier(t *thread, e *event.Event) {
	if e.Op == event.BarrierArrive {
		b := a.barriers[e.Object]
		if t.barrier = b; b != nil {
			b.arrivals++
			b.last, b.left, t.arrival = stepOf(e), false, b.arrivals
		}
		return
	}
	if b := t.barrier; b != nil && b.takes > 0 {
		if generation := (t.arrival - 1) / b.takes; b.arrivals < (generation+1)*b.takes {
			b.takes = 0
		}
		b.left = b.left || b.last.thread == t.id
	}
	t.barrier = nil
}
