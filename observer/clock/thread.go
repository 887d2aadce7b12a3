package clock

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// follow brings v, which knows the event of t's slot at epoch, up to t's clock if nothing
// but the slot's own count has changed since; it reports whether so.
func follow(v order.Vector[event.Epoch], t *thread, epoch event.Epoch) bool {
	if epoch < t.since || epoch == 0 {
		return false
	}
	v[t.slot] = t.epoch
	return true
}

// mark is a remembered event: its identity and its clock. Epoch 0 is none.
type mark struct {
	slot  uint32
	epoch event.Epoch // several: the mark is of more events than one
	clock order.Vector[event.Epoch]
}

const several = ^event.Epoch(0)

// set remembers the last event of t.
func (k *mark) set(t *thread) {
	if k.slot != t.slot || k.epoch == several || !follow(k.clock, t, k.epoch) {
		k.clock.Copy(t.clock)
	}
	k.slot, k.epoch = t.slot, t.epoch
}

// join adds what a clock knows.
func (k *mark) join(d order.Vector[event.Epoch]) {
	k.clock.Join(d)
	k.epoch = several
}

// add adds the events of d, which is not empty.
func (k *mark) add(d *mark) {
	if k.epoch == 0 {
		k.slot, k.epoch = d.slot, d.epoch
		k.clock.Copy(d.clock)
		return
	}
	k.join(d.clock)
}

func (k *mark) reset() { k.epoch, k.clock = 0, k.clock[:0] }

// thread is the clock of a thread, alive or ended and not yet joined.
type thread struct {
	id       event.ThreadID // 0 once it cannot be joined any more
	slot     uint32
	epoch    event.Epoch
	since    event.Epoch // the epoch with which clock last gained from others
	clock    order.Vector[event.Epoch]
	ended    bool
	detached bool
	known    bool // in Must.threads
	idle     bool // in Must.idle
	holed    bool // events of it were lost
}

func (t *thread) tick() {
	t.epoch++
	if int(t.slot) >= len(t.clock) {
		t.clock.Extend(int(t.slot) + 1)
	}
	t.clock[t.slot] = t.epoch
}

// join draws the edge from k to the next event of t.
func (t *thread) join(k *mark) {
	if k.epoch > t.clock.At(k.slot) {
		t.joinClock(k.clock)
	}
}

// joinClock makes the next event of t know all that d knows.
func (t *thread) joinClock(d order.Vector[event.Epoch]) {
	t.clock.Join(d)
	t.since = t.epoch + 1
}

// thread finds a thread; one that nobody forked begins in a fresh slot.
func (m *Must) thread(id event.ThreadID) *thread {
	if t := m.threadIf(id); t != nil {
		return t
	}
	t := m.newThread(id)
	t.slot = m.freshSlot()
	return t
}

// threadIf finds a thread that is known, or nil.
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

func (m *Must) newThread(id event.ThreadID) *thread {
	var t *thread
	if n := len(m.spare); n > 0 {
		t, m.spare = m.spare[n-1], m.spare[:n-1]
		*t = thread{clock: t.clock[:0]}
	} else {
		t = &thread{}
	}
	t.known, t.id, t.since = true, id, 1
	m.threads[id] = t
	return t
}

func (m *Must) freshSlot() uint32 {
	m.slots++
	return m.slots - 1
}

// fork draws the edge to the child's first event and finds the child a slot.
func (m *Must) fork(t *thread, child event.ThreadID) {
	if c := m.threads[child]; c != nil {
		c.joinClock(t.clock)
		return
	}
	c := m.newThread(child)
	c.clock.Copy(t.clock)
	d := m.takeIdle(t)
	if d == nil {
		c.slot = m.freshSlot()
		return
	}
	c.slot, c.epoch = d.slot, d.epoch
	c.joinClock(d.clock) // brings something only where the reuse is forced
	m.recycle(d)
}

// takeIdle removes an ended thread whose last event t knows, or the oldest if
// there are too many.
func (m *Must) takeIdle(t *thread) *thread {
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
	d.idle = false
	return d
}

// retire makes the slot of an ended thread free to be taken.
func (m *Must) retire(t *thread) {
	if !t.ended {
		t.ended, t.idle = true, true
		m.idle = append(m.idle, t)
	}
}

func (m *Must) recycle(t *thread) {
	if !t.known && !t.idle {
		m.spare = append(m.spare, t)
	}
}

func (m *Must) end(t *thread, id event.ThreadID) {
	m.retire(t)
	if t.detached {
		m.forget(id)
	}
}

func (m *Must) joinThread(t *thread, peer event.ThreadID) {
	if p := m.threads[peer]; p != nil && p != t && p.epoch > t.clock.At(p.slot) {
		t.joinClock(p.clock)
	}
}

// forget drops a thread that can no longer be joined. A trace may say join
// without end: the join implies it.
func (m *Must) forget(peer event.ThreadID) {
	p := m.threads[peer]
	if p == nil {
		return
	}
	m.retire(p)
	p.known, p.id = false, 0
	delete(m.threads, peer)
	m.recycle(p)
}

func (m *Must) detach(peer event.ThreadID) {
	p := m.threads[peer]
	if p == nil {
		return
	}
	p.detached = true
	if p.ended {
		m.forget(peer)
	}
}
