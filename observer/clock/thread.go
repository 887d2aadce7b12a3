package clock

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// clock is a vector clock; what lies beyond its length is zero.
type clock []event.Epoch

func (c clock) at(slot uint32) event.Epoch {
	if int(slot) < len(c) {
		return c[slot]
	}
	return 0
}

// join makes c the pointwise maximum of c and d.
func (c *clock) join(d clock) {
	c.extend(len(d))
	s := (*c)[:len(d)]
	for i, v := range d {
		if v > s[i] {
			s[i] = v
		}
	}
}

// extend makes c at least n long. Capacity may hold old epochs: it clears them.
func (c *clock) extend(n int) {
	old := len(*c)
	if n <= old {
		return
	}
	*c = slices.Grow(*c, n-old)[:n]
	clear((*c)[old:])
}

// follow brings c, which knows the event of t's slot at epoch, up to t's clock
// if nothing but the slot's own count has changed since; it answers whether so.
func (c clock) follow(t *thread, epoch event.Epoch) bool {
	if epoch < t.since || epoch == 0 {
		return false
	}
	c[t.slot] = t.epoch
	return true
}

func (c *clock) copy(d clock) { *c = append((*c)[:0], d...) }

// mark is a remembered event: its identity and its clock. Epoch 0 is none.
type mark struct {
	slot  uint32
	epoch event.Epoch
	clock clock
}

// set remembers the last event of t.
func (k *mark) set(t *thread) {
	if k.slot != t.slot || !k.clock.follow(t, k.epoch) {
		k.clock.copy(t.clock)
	}
	k.slot, k.epoch = t.slot, t.epoch
}

func (k *mark) reset() { k.epoch, k.clock = 0, k.clock[:0] }

// thread is the clock of a thread, alive or ended and not yet joined.
type thread struct {
	id       event.ThreadID // 0 once it cannot be joined any more
	slot     uint32
	epoch    event.Epoch
	since    event.Epoch // the epoch with which clock last gained from others
	clock    clock
	ended    bool
	detached bool
	known    bool // in Must.threads
	idle     bool // in Must.idle
	holed    bool // events of it were lost
}

func (t *thread) tick() {
	t.epoch++
	if int(t.slot) >= len(t.clock) {
		t.clock.extend(int(t.slot) + 1)
	}
	t.clock[t.slot] = t.epoch
}

// join draws the edge from k to the next event of t.
func (t *thread) join(k *mark) {
	if k.epoch > t.clock.at(k.slot) {
		t.joinClock(k.clock)
	}
}

// joinClock makes the next event of t know all that d knows.
func (t *thread) joinClock(d clock) {
	t.clock.join(d)
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
	near := &m.lately[id%recently]
	if t := *near; t != nil && t.id == id && id != 0 {
		return t
	}
	t := m.threads[id]
	if t != nil {
		*near = t
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
	c.clock.copy(t.clock)
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
	at := slices.IndexFunc(m.idle, func(d *thread) bool { return d.epoch <= t.clock.at(d.slot) })
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
	if p := m.threads[peer]; p != nil && p != t && p.epoch > t.clock.at(p.slot) {
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
