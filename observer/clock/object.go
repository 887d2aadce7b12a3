package clock

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// object is what the orders need to know of an object, from first use to Destroy.
type object struct {
	id event.ObjectID // 0 once it is destroyed
	// The last use, of that slot, is not in uses yet if the slot has been seen
	// there since its clock last gained from others: a lock that one thread
	// takes over and over costs no look at its clock.
	lastSlot  uint32
	lastEpoch event.Epoch
	uses      clock
	init      mark
	write     mark // of the last write
	value     uint64
	valued    bool
	atomic    bool // the last write was
	once      mark
	cond      *condition
	rounds    *barrier
	sem       *semaphore
	lock      *lock
	channel   *channel
}

// object finds the object of e, nil if e has none.
func (m *Must) object(e *event.Event) *object {
	if e.Object == 0 || e.Kind == event.KindInstance {
		return nil
	}
	if o := m.objectIf(e.Object); o != nil {
		return o
	}
	o := &object{}
	if n := len(m.spareOb); n > 0 {
		o, m.spareOb = m.spareOb[n-1], m.spareOb[:n-1]
	}
	o.id = e.Object
	m.objects[e.Object] = o
	m.recent[e.Object%recentObjects] = o
	return o
}

// objectIf finds an object that is known, or nil.
func (m *Must) objectIf(id event.ObjectID) *object {
	near := &m.recent[id%recentObjects]
	if o := *near; o != nil && o.id == id && id != 0 {
		return o
	}
	o := m.objects[id]
	if o != nil {
		*near = o
	}
	return o
}

// Drop forgets an object that no event will name again, though none told of its
// destruction. It draws no edge.
func (m *Must) Drop(id event.ObjectID) {
	if o := m.objects[id]; o != nil {
		m.dropObject(id, o)
	}
}

// dropObject forgets a destroyed object. Its identifier will not come again; its
// buffers will be used again, up to a few.
func (m *Must) dropObject(id event.ObjectID, o *object) {
	delete(m.objects, id)
	o.id = 0
	if len(m.spareOb) >= maxIdle {
		return
	}
	o.init.reset()
	o.write.reset()
	o.once.reset()
	*o = object{init: o.init, write: o.write, once: o.once, uses: o.uses[:0]}
	m.spareOb = append(m.spareOb, o)
}

func (o *object) use(t *thread) {
	if o.lastSlot == t.slot && o.lastEpoch >= t.since && o.lastEpoch != 0 {
		o.lastEpoch = t.epoch
		return
	}
	o.settle()
	if !o.uses.follow(t, o.uses.at(t.slot)) {
		o.uses.join(t.clock)
	}
	o.lastSlot, o.lastEpoch = t.slot, t.epoch
}

// settle makes uses know the last use.
func (o *object) settle() {
	if o.lastEpoch != 0 {
		o.uses[o.lastSlot] = o.lastEpoch
	}
}

func (o *object) setWrite(t *thread, e *event.Event) {
	o.write.set(t)
	o.value, o.valued = e.Value, e.Flags&event.HasValue != 0
	o.atomic = e.Flags&event.Atomic != 0
}

func (o *object) contradicts(e *event.Event) bool {
	return o.valued && e.Flags&event.HasValue != 0 && o.value != e.Value
}

// setup takes from Init what the object starts with.
func (o *object) setup(e *event.Event) {
	if e.Flags&event.HasValue == 0 {
		return
	}
	switch e.Kind {
	case event.KindSemaphore:
		s := o.semaphore()
		s.known, s.credit = true, e.Value
	case event.KindBarrier:
		o.barrier().size = e.Value
	}
}

func (o *object) conditions() *condition {
	if o.cond == nil {
		o.cond = &condition{}
	}
	return o.cond
}

func (o *object) barrier() *barrier {
	if o.rounds == nil {
		o.rounds = &barrier{}
	}
	return o.rounds
}

func (o *object) semaphore() *semaphore {
	if o.sem == nil {
		o.sem = &semaphore{}
	}
	return o.sem
}

func (o *object) locking() *lock {
	if o.lock == nil {
		o.lock = &lock{}
	}
	return o.lock
}

// push lengthens s by one and keeps what its spare capacity holds, so that
// buffers are used again.
func push[T any](s []T) ([]T, *T) {
	if len(s) < cap(s) {
		s = s[:len(s)+1]
	} else {
		var zero T
		s = append(s, zero)
	}
	return s, &s[len(s)-1]
}

// remove takes element i out, in order, and keeps it in the spare capacity.
func remove[T any](s []T, i int) []T {
	x := s[i]
	copy(s[i:], s[i+1:])
	s[len(s)-1] = x
	return s[:len(s)-1]
}

// condition holds who sleeps and which notifications may still explain a wake.
type condition struct {
	sleepers []sleeper
	sent     []notification // oldest first
}

type sleeper struct {
	thread event.ThreadID
	order  uint64
	mark   mark
}

type notification struct {
	order uint64
	all   bool
	mark  mark
}

func (c *condition) wait(t *thread, id event.ThreadID, order uint64) {
	var s *sleeper
	c.sleepers, s = push(c.sleepers)
	s.thread, s.order = id, order
	s.mark.set(t)
}

// notified keeps a notification while somebody sleeps whom it may have woken. A
// signal beyond the number of sleepers wakes nobody.
func (c *condition) notified(t *thread, order uint64, all bool) {
	if len(c.sleepers) == 0 || (!all && c.signals() >= len(c.sleepers)) {
		return
	}
	var n *notification
	c.sent, n = push(c.sent)
	n.order, n.all = order, all
	n.mark.set(t)
}

// signals counts the signals that have not been matched with a wake.
func (c *condition) signals() int {
	n := 0
	for i := range c.sent {
		if !c.sent[i].all {
			n++
		}
	}
	return n
}

// notify draws wait's release → notification. Whom a signal wakes is known only
// later, so it takes what all the sleepers have in common (exact for a single
// one); a broadcast takes what more sleepers have in common than earlier signals
// can have woken (for none: all of it).
func (m *Must) notify(t *thread, o *object, all bool) {
	if o == nil || o.cond == nil || len(o.cond.sleepers) == 0 {
		return
	}
	n := len(o.cond.sleepers)
	k := n - 1
	if all {
		k = o.cond.signals()
	}
	if k < n {
		m.kth(o.cond.sleepers, k)
		t.joinClock(m.scratch)
	}
}

// kth makes scratch the k-th largest (from 0) epoch of the sleepers in each slot:
// the events that more than k sleepers know, which are closed downwards.
func (m *Must) kth(ss []sleeper, k int) {
	length := 0
	for i := range ss {
		length = max(length, len(ss[i].mark.clock))
	}
	m.scratch = m.scratch[:0]
	for slot := range length {
		m.pick = m.pick[:0]
		for i := range ss {
			m.pick = append(m.pick, ss[i].mark.clock.at(uint32(slot)))
		}
		slices.Sort(m.pick)
		m.scratch = append(m.scratch, m.pick[len(ss)-1-k])
	}
}

// wake draws the edge from the oldest unmatched notification since the wait; in
// the order of the run from all of them.
func (m *Must) wake(t *thread, o *object, e *event.Event) {
	if o == nil || o.cond == nil {
		return
	}
	c := o.cond
	at := slices.IndexFunc(c.sleepers, func(s sleeper) bool { return s.thread == e.Thread })
	if at < 0 {
		return
	}
	since := c.sleepers[at].order
	c.sleepers = remove(c.sleepers, at)
	if e.Flags&event.TimedOut == 0 {
		m.match(t, c, since)
	}
	c.prune()
}

func (m *Must) match(t *thread, c *condition, since uint64) {
	taken := -1
	for i := range c.sent {
		n := &c.sent[i]
		if n.order < since {
			continue
		}
		if taken < 0 {
			taken = i
		}
		t.join(&n.mark)
		if !m.sync {
			break
		}
	}
	if taken >= 0 && !c.sent[taken].all {
		c.sent = remove(c.sent, taken)
	}
}

// prune drops notifications that are older than every sleeper.
func (c *condition) prune() {
	if len(c.sleepers) == 0 {
		c.sent = c.sent[:0]
		return
	}
	for len(c.sent) > 0 && c.sent[0].order < c.sleepers[0].order {
		c.sent = remove(c.sent, 0)
	}
}

// barrier is the rounds that not everybody has left. A round takes no more
// arrivals once it is full or somebody has departed: a fast thread that is
// back belongs to the next round, while slow ones have yet to leave this one.
type barrier struct {
	size   uint64 // 0: unknown
	rounds []round
}

type round struct {
	clock   clock
	inside  []event.ThreadID
	arrived uint64
	closed  bool
}

func (o *object) barrierArrive(t *thread, id event.ThreadID) {
	b := o.barrier()
	if n := len(b.rounds); n == 0 || b.rounds[n-1].closed {
		var r *round
		b.rounds, r = push(b.rounds)
		*r = round{clock: r.clock[:0], inside: r.inside[:0]}
	}
	r := &b.rounds[len(b.rounds)-1]
	r.clock.join(t.clock)
	r.inside = append(r.inside, id)
	r.arrived++
	r.closed = r.arrived == b.size
}

// barrierDepart draws the edges from all arrivals of the thread's round.
func (o *object) barrierDepart(t *thread, id event.ThreadID) {
	if o == nil || o.rounds == nil {
		return
	}
	b := o.rounds
	for i := range b.rounds {
		r := &b.rounds[i]
		at := slices.Index(r.inside, id)
		if at < 0 {
			continue
		}
		t.joinClock(r.clock)
		r.closed = true
		if r.inside = slices.Delete(r.inside, at, at+1); len(r.inside) == 0 {
			b.rounds = remove(b.rounds, i)
		}
		return
	}
}
