package happensbefore

import (
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// object is the state of a condition, barrier, semaphore, once or channel.
type object struct {
	init  *mark // nil: not observed
	uses  marks // the last uses, which Destroy comes after
	order order.Object
}

// past is a set of events that package order names by a Ref.
type past struct {
	one  mark   // the event, if it is one
	more vector // the join of their clocks, if they are several
}

// add adds the present event of t.
func (s *past) add(p *pool, t *thread) {
	if s.one.of == 0 && len(s.more) == 0 {
		s.one.set(p, t)
		return
	}
	s.several(p)
	var k mark
	k.set(p, t)
	joinMark(&s.more, p, &k)
	k.drop(p)
}

// merge adds the events of another set.
func (s *past) merge(p *pool, from *past) {
	s.several(p)
	joinMark(&s.more, p, &from.one)
	s.more.Join(from.more)
}

// several moves the event of one to more.
func (s *past) several(p *pool) {
	joinMark(&s.more, p, &s.one)
	s.one.drop(p)
}

func (s *past) drop(p *pool) {
	s.one.drop(p)
	s.more = s.more[:0]
}

func (a *Analysis) object(t *thread, e *event.Event) {
	o := a.others.known(e.Object)
	if o == nil {
		o = a.others.get(e.Object)
		o.init = a.inits[e.Object]
	}
	if o.init != nil {
		t.joinAt(&a.clocks, o.init)
	}
	if order.Synchronises(e.Op) {
		a.synchronise(t, o, e)
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
		t.joinVector(c, s.more)
	}
	if len(x.Sleepers) > 0 {
		t.joinVector(c, a.common(x))
	}
	for _, d := range x.Changes {
		for int(d.Set) >= len(a.sets) {
			a.sets = append(a.sets, past{})
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

// common returns the events that the clocks of more than x.Beyond sleepers' waits include.
func (a *Analysis) common(x *order.Match) vector {
	width := 0
	for _, s := range x.Sleepers {
		width = max(width, len(a.clocks.all[a.sets[s].one.of].known))
	}
	return a.shared.Beyond(x.Beyond, len(x.Sleepers), width, func(i int, slot uint32) event.Epoch {
		k := &a.sets[x.Sleepers[i]].one
		if k.slot == slot {
			return k.time
		}
		return a.clocks.all[k.of].known.At(slot)
	})
}

// use records the event as a use of the object, and advances the thread's time.
func (o *object) use(a *Analysis, t *thread) {
	o.uses.cover(&a.clocks, t)
	t.tick()
}

func (a *Analysis) destroyObject(t *thread, o *object, guessed bool) {
	if !guessed {
		t.joinAll(&a.clocks, o.uses)
	}
	o.uses.drop(&a.clocks)
	a.matcher.Drop(&o.order)
}
