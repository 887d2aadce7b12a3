package happensbefore

import (
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// object is the state of a condition, barrier, semaphore, once or channel.
type object struct {
	init    *mark  // nil: not observed
	used    uint64 // Seq of the latest event
	evicted bool   // it may have been used before Shrink evicted it
	uses    marks  // the last uses, which Destroy comes after
	order   order.Object

	// The slot and the time of the last notification of a condition; 0: there was none.
	notifier uint32
	notified event.Epoch
}

// eventSet is a set of events that package order identifies by a Ref.
type eventSet struct {
	one   mark   // the event, if the set has one
	clock vector // the join of the events' clocks, if the set has several
}

// add adds the current event of t.
func (s *eventSet) add(p *pool, t *thread) {
	if s.one.clock == 0 && s.clock.Len() == 0 {
		s.one.set(p, t)
		return
	}
	s.spill(p)
	var k mark
	k.set(p, t)
	joinMark(&s.clock, p, &k)
	k.drop(p)
}

// merge adds the events of another set.
func (s *eventSet) merge(p *pool, from *eventSet) {
	s.spill(p)
	joinMark(&s.clock, p, &from.one)
	s.clock.Join(&from.clock)
}

// spill moves the event of one to clock.
func (s *eventSet) spill(p *pool) {
	joinMark(&s.clock, p, &s.one)
	s.one.drop(p)
}

// drop removes all events.
func (s *eventSet) drop(p *pool) {
	s.one.drop(p)
	s.clock.Reset()
}

// object processes an event of a condition, barrier, semaphore, once or channel.
func (a *Analysis) object(t *thread, e *event.Event) {
	o := a.others.known(e.Object)
	if o == nil {
		o = a.others.get(e.Object)
		o.init, o.evicted = a.inits[e.Object], a.floor.mayHave(e.Object)
	}
	if o.used = e.Seq; o.evicted {
		a.joinFloor(t)
	}
	if o.init != nil {
		t.joinAt(&a.clocks, o.init)
	}
	if order.Synchronises(e.Op) {
		a.synchronise(t, o, e)
	}
	if e.Op == event.Signal || e.Op == event.Broadcast {
		o.notifier, o.notified = t.slot, t.time
	}
	o.use(a, t)
}

// synchronise draws the edges from earlier events of the object, and updates the sets of
// events that later edges lead from.
func (a *Analysis) synchronise(t *thread, o *object, e *event.Event) {
	c := &a.clocks
	x := a.matcher.Match(&o.order, e)
	for _, edge := range x.Edges {
		s := &a.sets[edge.From]
		t.joinAt(c, &s.one)
		t.joinVector(c, &s.clock)
	}
	if len(x.Sleepers) > 0 {
		t.joinVector(c, a.common(x))
	}
	for _, d := range x.Changes {
		for int(d.Set) >= len(a.sets) {
			a.sets = append(a.sets, eventSet{})
		}
		s := &a.sets[d.Set]
		if d.Fresh {
			s.drop(c)
		}
		if d.From != 0 {
			s.merge(c, &a.sets[d.From])
		} else {
			s.add(c, t)
		}
	}
}

// common returns the events that come before more than x.Beyond of the waits of x.Sleepers.
func (a *Analysis) common(x *order.Match) *vector {
	width := 0
	for _, s := range x.Sleepers {
		width = max(width, a.clocks.all[a.sets[s].one.clock].known.Len())
	}
	return a.shared.Beyond(x.Beyond, len(x.Sleepers), width, func(i int, slot uint32) event.Epoch {
		k := &a.sets[x.Sleepers[i]].one
		if k.slot == slot {
			return k.time
		}
		return a.clocks.all[k.clock].known.At(slot)
	})
}

// use records the event as a use of the object, and advances the thread's time.
func (o *object) use(a *Analysis, t *thread) {
	o.uses.cover(&a.clocks, t)
	t.tick()
}

func (a *Analysis) destroyObject(t *thread, o *object, e *event.Event) {
	if e.Flags&event.Inferred == 0 {
		if o.notified != 0 && !t.knows(&mark{slot: o.notifier, time: o.notified}) {
			a.addDestroy(e)
		}
		t.joinAll(&a.clocks, o.uses)
	}
	o.uses.drop(&a.clocks)
	a.matcher.Drop(&o.order)
}
