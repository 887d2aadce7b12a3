package clock

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// includes reports whether a clock that includes the event of t's slot at epoch includes all of
// t's clock but the slot's own count: nothing else has changed since that epoch.
func (t *thread) includes(epoch event.Epoch) bool { return epoch >= t.since && epoch != 0 }

// mark is an event, with its clock, or a set of events.
type mark struct {
	slot  uint32
	epoch event.Epoch // 0: no event; manyEvents: a set of more events than one
	clock event.Clock // of a set: the join of their clocks; of an event: its entry for slot may be less than epoch
}

// manyEvents is the epoch of a mark of more events than one.
const manyEvents = ^event.Epoch(0)

// set makes k the mark of the last event of t.
func (k *mark) set(t *thread) {
	if k.slot != t.slot || k.epoch == manyEvents || !t.includes(k.epoch) {
		k.clock.Copy(&t.clock)
	}
	k.slot, k.epoch = t.slot, t.epoch
}

// join adds the last event of t.
func (k *mark) join(t *thread) {
	k.spread()
	k.clock.Join(&t.clock)
	k.clock.Raise(t.slot, t.epoch)
}

// spread makes k a set of more events than one.
func (k *mark) spread() {
	if k.epoch != manyEvents && k.epoch != 0 {
		k.clock.Raise(k.slot, k.epoch)
	}
	k.epoch = manyEvents
}

// add adds the events of the mark d, which is not empty.
func (k *mark) add(d *mark) {
	if k.epoch == 0 {
		k.slot, k.epoch = d.slot, d.epoch
		k.clock.Copy(&d.clock)
		return
	}
	k.spread()
	d.joinTo(&k.clock)
}

// joinTo joins the clock of k, which is not empty, to v.
func (k *mark) joinTo(v *event.Clock) {
	v.Join(&k.clock)
	if k.epoch != manyEvents {
		v.Raise(k.slot, k.epoch)
	}
}

// reset makes k the mark of no event.
func (k *mark) reset() {
	k.epoch = 0
	k.clock.Reset()
}

// thread is the state of a thread that is alive, or has ended and not been joined.
type thread struct {
	id       event.ThreadID // 0 once it cannot be joined any more
	slot     uint32
	epoch    event.Epoch // of the last event
	since    event.Epoch // the first epoch after the last edge from another slot
	clock    event.Clock // its entry for slot may be less than epoch
	ended    bool
	detached bool
	inTable  bool   // it is in Must.threads
	inIdle   bool   // it is in Must.idle
	hasHole  bool   // events of it were lost
	floor    uint64 // number of evictions whose floor the thread knows
}

// tick counts the next event of t.
func (t *thread) tick() {
	t.epoch++
	if t.slot < event.LowSlots {
		t.clock.Set(t.slot, t.epoch)
	} // else the thread can share all of its clock for as long as it learns nothing
}

// join draws the edge from k to the next event of t.
func (t *thread) join(k *mark) {
	if k.epoch > t.clock.At(k.slot) && (k.slot != t.slot || k.epoch > t.epoch) {
		k.joinTo(&t.clock)
		t.since = t.epoch + 1
	}
}

// joinClock draws the edges from all events that d includes to the next event of t.
func (t *thread) joinClock(d *event.Clock) {
	t.clock.Join(d)
	t.since = t.epoch + 1
}

// joinThread draws the edge from the last event of p to the next event of t.
func (t *thread) joinThread(p *thread) {
	t.joinClock(&p.clock)
	t.clock.Raise(p.slot, p.epoch)
}

// thread returns the state of a thread. A thread without a fork begins in a fresh slot.
func (m *Must) thread(id event.ThreadID) *thread {
	if t := m.threadIf(id); t != nil {
		return t
	}
	t := m.newThread(id)
	t.slot = m.freshSlot()
	if id <= m.floor.threads {
		m.joinFloor(t) // an event of a thread that had ended
	}
	return t
}

// threadIf returns the state of a thread, or nil if there is none.
func (m *Must) threadIf(id event.ThreadID) *thread {
	cached := &m.threadCache[id%cachedThreads]
	if t := *cached; t != nil && t.id == id && id != 0 {
		return t
	}
	t := m.threads[id]
	if t != nil {
		*cached = t
	}
	return t
}

// newThread makes the state of a thread, without a slot.
func (m *Must) newThread(id event.ThreadID) *thread {
	var t *thread
	if n := len(m.spare); n > 0 {
		t, m.spare = m.spare[n-1], m.spare[:n-1]
		t.clock.Reset()
		*t = thread{clock: t.clock}
	} else {
		t = &thread{}
	}
	t.inTable, t.id, t.since = true, id, 1
	m.threads[id] = t
	return t
}

// freshSlot returns a slot that no thread has had.
func (m *Must) freshSlot() uint32 {
	m.slots++
	return m.slots - 1
}

// fork draws the edge to the child's first event and assigns the child a slot.
func (m *Must) fork(t *thread, child event.ThreadID) {
	if c := m.threads[child]; c != nil {
		c.joinThread(t)
		return
	}
	c := m.newThread(child)
	c.clock.Copy(&t.clock)
	c.clock.Raise(t.slot, t.epoch)
	d := m.reuseIdle(t)
	if d == nil {
		c.slot = m.freshSlot()
		return
	}
	c.slot, c.epoch = d.slot, d.epoch
	c.joinThread(d) // this adds something only where the reuse is forced
	m.recycle(d)
}

// reuseIdle removes from Must.idle an ended thread whose last event comes before t's next one,
// or the oldest if there are more than maxIdle. It returns nil if there is neither.
func (m *Must) reuseIdle(t *thread) *thread {
	at := slices.IndexFunc(m.idle, func(d *thread) bool { return d.epoch <= t.clock.At(d.slot) })
	if at < 0 {
		if len(m.idle) <= maxIdle {
			return nil
		}
		at = 0
		m.forced++
	}
	d := m.idle[at]
	m.idle = slices.Delete(m.idle, at, at+1)
	d.inIdle = false
	return d
}

// retire makes the slot of an ended thread available for reuse.
func (m *Must) retire(t *thread) {
	if !t.ended {
		t.ended, t.inIdle = true, true
		m.idle = append(m.idle, t)
	}
}

// recycle keeps the state of a thread for reuse, unless it is still needed.
func (m *Must) recycle(t *thread) {
	if !t.inTable && !t.inIdle {
		m.spare = append(m.spare, t)
	}
}

// end ends a thread.
func (m *Must) end(t *thread, id event.ThreadID) {
	m.retire(t)
	if t.detached {
		m.dropThread(id)
	}
}

// joinThread draws the edge from the last event of peer to the next event of t.
func (m *Must) joinThread(t *thread, peer event.ThreadID) {
	p := m.threads[peer]
	if p == nil && peer <= m.floor.threads {
		m.joinFloor(t)
	}
	if p != nil && p != t && p.epoch > t.clock.At(p.slot) {
		t.joinThread(p)
	}
}

// dropThread drops a thread that can no longer be joined. A trace may contain a Join without an
// End: the Join implies it.
func (m *Must) dropThread(peer event.ThreadID) {
	p := m.threads[peer]
	if p == nil {
		return
	}
	m.retire(p)
	p.inTable, p.id = false, 0
	delete(m.threads, peer)
	m.recycle(p)
}

// detach records that peer will not be joined, and drops it if it has ended.
func (m *Must) detach(peer event.ThreadID) {
	p := m.threads[peer]
	if p == nil {
		return
	}
	p.detached = true
	if p.ended {
		m.dropThread(peer)
	}
}
