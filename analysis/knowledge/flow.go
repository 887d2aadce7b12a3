package knowledge

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// object is the shared variable that stands for an object.
type object struct {
	access pool // what is known from all accesses, to those that write
	write  pool // what is known from writes, to all
	// The last access: its thread, the version of what that knew, and whether it wrote.
	last        *thread
	lastVersion uint64
	lastWrote   bool

	used      uint64 // Seq of its last event
	passesOn  bool   // it is a variable or a lock: the order of its events needs no matching
	holders   int    // of a lock
	exclusive bool   // of a lock: its last acquire was exclusive
	order     order.Object
}

// object returns the state of e's object; nil if e has none that passes knowledge on.
func (m *Monitor) object(e *event.Event) *object {
	if e.Object == 0 || e.Kind == event.KindInstance || e.Op.IsCall() || e.Op.IsMisuse() {
		return nil
	}
	o := m.objects[e.Object]
	if o == nil {
		o = &object{passesOn: e.Kind >= event.KindVariable && e.Kind <= event.KindSpin || e.Kind == event.KindField}
		m.objects[e.Object] = o
	}
	o.used = e.Seq
	return o
}

// useOf returns how e uses the object: the order of this run, as package observer/causality draws
// it.
func (o *object) useOf(e *event.Event) order.Use {
	if e.Op == event.AcquireAgain {
		return order.UseNone // the thread holds the lock, which has nothing new for it
	}
	return o.order.UseOf(e, o.exclusive)
}

// repeats reports whether an access by t passes on nothing new.
func (o *object) repeats(t *thread, u order.Use) bool {
	return o.last == t && o.lastVersion == t.version && (u != order.UseWrite || o.lastWrote)
}

// receive lets t know what its event e brings. It returns the match of package order, nil if e
// needs none.
func (m *Monitor) receive(t *thread, o *object, e *event.Event) *order.Match {
	now := momentOf(e)
	if p := m.threads[e.Peer]; e.Op == event.Join && p != nil && p != t {
		m.take(t, &pool{p.vector, p.last}, now)
	}
	if o == nil {
		return nil
	}
	u := o.useOf(e)
	if u == order.UseNone || u != order.UseMatched && o.repeats(t, u) {
		return nil
	}
	if u == order.UseWrite || e.Flags&event.Late != 0 {
		m.take(t, &o.access, now)
	} else {
		m.take(t, &o.write, now)
	}
	if u != order.UseMatched || !order.Synchronises(e.Op) {
		return nil
	}
	x := m.matcher.Match(&o.order, e)
	for _, edge := range x.Edges {
		if int(edge.From) < len(m.sets) {
			m.take(t, &m.sets[edge.From], now)
		}
	}
	return x
}

// take lets t know what a pool holds.
func (m *Monitor) take(t *thread, p *pool, now moment) {
	news := m.vectors.join(&t.vector, p.vector, func(h *hop) *hop {
		if h != nil && h.to.seq == 0 {
			return newHop(h.from, now, h.before)
		}
		return newHop(p.by, now, h)
	})
	if news {
		t.version++
		m.learned = true
	}
}

// leave passes on what t knows after its event e, to those who will access its object.
func (m *Monitor) leave(t *thread, o *object, e *event.Event, x *order.Match) {
	now := momentOf(e)
	t.last = now
	m.lives(t, e, now)
	if o == nil {
		return
	}
	if e.Op == event.Destroy {
		m.forget(e.Object, o)
		return
	}
	m.record(t, o, o.useOf(e), now)
	if x != nil {
		m.change(t, o, x, now)
	}
	switch e.Op {
	case event.Init:
		m.matcher.Match(&o.order, e)
	case event.Acquire:
		o.exclusive = true
		o.holders++
	case event.AcquireRead:
		o.exclusive = false
		o.holders++
	case event.Release:
		o.holders = max(0, o.holders-1)
	}
}

// leastObjects is the number of objects below which Shrink forgets none.
const leastObjects = 1 << 10

// Shrink forgets what half of the variables and locks pass on, those that were not used for the longest time, but for locks
// that are held. It reports whether there were any. A thread that uses one again learns nothing of what came before, so
// that findings are likely at most from then on.
func (m *Monitor) Shrink() bool {
	if len(m.objects) < leastObjects {
		return false
	}
	var used []uint64
	for _, o := range m.objects {
		if o.forgettable() {
			used = append(used, o.used)
		}
	}
	if len(used) == 0 {
		return false
	}
	slices.Sort(used)
	last := used[(len(used)-1)/2]
	for id, o := range m.objects {
		if o.forgettable() && o.used <= last {
			m.forget(id, o)
		}
	}
	m.objects = maps.Collect(maps.All(m.objects)) // which has less memory
	m.vectors.spare, m.forgot = nil, true
	return true
}

func (o *object) forgettable() bool { return o.passesOn && o.holders == 0 }

// lives passes on knowledge to threads that begin, and drops threads that nobody can join.
func (m *Monitor) lives(t *thread, e *event.Event, now moment) {
	switch e.Op {
	case event.Fork:
		p := m.thread(e.Peer)
		p.forked = true
		m.take(p, &pool{t.vector, now}, now)
	case event.Join:
		delete(m.gone, e.Peer)
		m.leaveThread(e.Peer)
	case event.Detach:
		if p := m.threads[e.Peer]; p != nil {
			if p.detached = true; p.ended {
				m.leaveThread(e.Peer)
			}
		}
	case event.End:
		if m.end(t); t.detached {
			m.leaveThread(e.Thread)
		}
	}
}

// leaveThread drops what a thread knew, since nobody can come to know it any more.
func (m *Monitor) leaveThread(id event.ThreadID) {
	if t := m.threads[id]; t != nil {
		delete(m.threads, id)
		m.vectors.share(&t.vector, nil)
	}
}

// forget drops an object that no later event names.
func (m *Monitor) forget(id event.ObjectID, o *object) {
	delete(m.objects, id)
	m.vectors.share(&o.access.vector, nil)
	m.vectors.share(&o.write.vector, nil)
	m.matcher.Drop(&o.order)
}

// record adds what t knows to what an object passes on.
func (m *Monitor) record(t *thread, o *object, u order.Use, now moment) {
	switch {
	case u == order.UseNone || o.repeats(t, u):
		return
	case u == order.UseWrite:
		m.set(&o.access, t, now)
		m.set(&o.write, t, now)
	default:
		m.add(&o.access.vector, t, now)
	}
	o.last, o.lastVersion, o.lastWrote = t, t.version, u == order.UseWrite
}

// set makes a pool what t knows.
func (m *Monitor) set(p *pool, t *thread, now moment) {
	m.vectors.share(&p.vector, t.vector)
	p.by = now
}

// add adds to a vector what t knows.
func (m *Monitor) add(v **vector, t *thread, now moment) {
	if *v == nil && t.vector == nil {
		return
	}
	m.vectors.join(v, t.vector, func(h *hop) *hop { return newHop(now, moment{}, h) })
}

// change makes the changes to sets that a match lists.
func (m *Monitor) change(t *thread, o *object, x *order.Match, now moment) {
	for _, d := range x.Changes {
		for int(d.Set) >= len(m.sets) {
			m.sets = append(m.sets, pool{})
		}
		if p := &m.sets[d.Set]; d.Fresh {
			m.set(p, t, now)
		} else {
			m.add(&p.vector, t, now)
		}
	}
	if x.Unexplained {
		o.order.Uncount()
	}
}
