package lockout

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// maxEnded bounds the waits on a condition that have ended and are kept.
const maxEnded = 32

// condition holds the waits on a condition, and the notifications that have not ended one.
type condition struct {
	asleep  []sleep
	signals []sent
	ended   []sleep // by a signal each, the latest maxEnded
}

// sleep is a wait on a condition.
type sleep struct {
	thread event.ThreadID
	seq    uint64
	stack  event.StackID
	timed  bool
	mutex  event.ObjectID
	looks  []event.ObjectID // the variables that the thread read last since it acquired the mutex
	wake   uint64
	by     sent // the signal that ended it
}

// sent is a notification.
type sent struct {
	seq    uint64
	thread event.ThreadID
	all    bool // it is a broadcast
}

func (s *search) condition(id event.ObjectID) *condition {
	c := s.conditions[id]
	if c == nil {
		c = &condition{}
		s.conditions[id] = c
	}
	return c
}

// sleep records that a wait begins.
func (c *condition) sleep(t *thread, e *event.Event) {
	x := sleep{thread: e.Thread, seq: e.Seq, stack: e.Stack, timed: e.Flags&event.Timed != 0, mutex: t.mutex.object}
	for _, l := range t.looks.last {
		if l.seq > t.mutex.seq && t.mutex.seq != 0 {
			x.looks = append(x.looks, l.variable)
		}
	}
	c.asleep = append(c.asleep, x)
}

// notify records a notification.
func (c *condition) notify(e *event.Event) {
	if len(c.asleep) > 0 {
		c.signals = append(c.signals, sent{e.Seq, e.Thread, e.Op == event.Broadcast})
	}
}

// wake ends the wait of a thread, and returns it if a signal did that: the oldest since it began that
// has ended no other wait.
func (c *condition) wake(e *event.Event) (x sleep, ok bool) {
	at := slices.IndexFunc(c.asleep, func(x sleep) bool { return x.thread == e.Thread })
	if at < 0 {
		return x, false
	}
	x = c.asleep[at]
	c.asleep = slices.Delete(c.asleep, at, at+1)
	by := slices.IndexFunc(c.signals, func(n sent) bool { return n.seq > x.seq })
	if ok = by >= 0 && e.Flags&(event.TimedOut|event.Inferred) == 0; ok {
		x.wake, x.by = e.Seq, c.signals[by]
		if ok = !x.by.all; ok {
			c.signals = slices.Delete(c.signals, by, by+1)
		}
	}
	if len(c.asleep) == 0 {
		c.signals = c.signals[:0]
	}
	return x, ok
}

// wakeFrom adds the candidates for signals that could have woken the thread of e or another one.
func (s *search) wakeFrom(e *event.Event) {
	c := s.condition(e.Object)
	x, ok := c.wake(e)
	if !ok {
		return
	}
	for _, o := range c.ended {
		s.taken(e, o, x)
	}
	if len(c.ended) == maxEnded {
		c.ended = slices.Delete(c.ended, 0, 1)
	}
	c.ended = append(c.ended, x)
}

// taken adds the candidate for the earlier of the signals that ended two waits, if the other thread
// could have taken it, and not gone on.
func (s *search) taken(e *event.Event, x, y sleep) {
	if y.by.seq < x.by.seq {
		x, y = y, x
	}
	if x.thread == y.thread || x.timed || y.timed || x.mutex != y.mutex || y.seq > x.by.seq || s.notifiers[use{y.thread, e.Object}] {
		return
	}
	sections := lastOf(s.requests[y.mutex], y.by.seq, func(r request) bool { return r.thread == y.by.thread })
	if len(sections) == 0 || sections[0].seq < x.by.seq {
		return
	}
	s.add(e, request{stack: x.stack}, request{stack: y.stack}, Candidate{
		Taken: x.by.seq, Wake: x.wake, Sites: [2]event.StackID{x.stack, y.stack}, Data: x.looksElsewhere(&y),
	})
}

// looksElsewhere reports whether two threads read variables before they waited, and no common one.
func (x *sleep) looksElsewhere(y *sleep) bool {
	return len(x.looks) > 0 && len(y.looks) > 0 && !slices.ContainsFunc(x.looks, func(v event.ObjectID) bool { return slices.Contains(y.looks, v) })
}
