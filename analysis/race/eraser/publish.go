package eraser

import "github.com/tracepredict/tracepredict/observer/event"

// Publication. A thread that creates an object initialises it before any other thread can have a
// pointer to it, and then publishes it: it puts it into a queue under a lock, or posts a semaphore.
// The pointer itself passes through memory that is not observed. So the must-order has no edge for
// it, and a schedule in which another thread accesses the object first would seem possible, though
// that thread has no pointer then. So at the first access of another thread to a field, the
// accesses by the field's first owner that happen before it in this run are set apart: pairs with
// them are no Races. This is Eraser's exclusive state, with a check that the object was published.
// Accesses without a happens-before edge to the other thread's access are as others: publishing an
// object without synchronisation is a race.
//
// A first owner may also publish the object, and access it after that. Its accesses are set apart
// too, since nothing here shows which is which. With Options.EveryPair such pairs are Published, for
// callers who can show that their schedule leaves out nothing that may have passed the pointer on.

// publication is the happens-before order of this run, as vector clocks: the must-order, and the
// edges from each release to the later acquires. It starts with the first access of a field, so
// programs without observed fields do not pay for it.
type publication struct {
	enabled bool                            // a field has been accessed
	slots   []*event.Clock                  // by slot: its vector clock
	objects map[event.ObjectID]*event.Clock // by object: the join of the clocks of its releases
	// floor is the join of the clocks of the objects that shrink evicted: they count as released before every acquire
	// of an object of which nothing is known. So more accesses seem published, and fewer are races.
	floor event.Clock
}

// update updates the clocks for an event.
func (p *publication) update(e *event.Event) {
	atomic := e.Flags&event.Atomic != 0
	switch e.Op {
	case event.Acquire, event.AcquireRead, event.SemWait, event.Wake, event.OnceLeave, event.BarrierDepart, event.Receive:
		p.acquire(e)
	case event.Release, event.SemPost, event.Signal, event.Broadcast, event.OnceDone, event.BarrierArrive, event.Send:
		p.release(e)
	case event.Read:
		if atomic {
			p.acquire(e)
		}
	case event.Write:
		if atomic {
			p.release(e)
		}
	case event.Update:
		if atomic {
			p.acquire(e)
			p.release(e)
		}
	case event.Destroy:
		delete(p.objects, e.Object)
	}
}

// clock returns the clock of the event's slot, joined with its must-order clock.
func (p *publication) clock(e *event.Event) *event.Clock {
	for len(p.slots) <= int(e.Slot) {
		p.slots = append(p.slots, nil)
	}
	c := p.slots[e.Slot]
	if c == nil {
		c = &event.Clock{}
		p.slots[e.Slot] = c
	}
	if e.Must != nil {
		c.Join(e.Must)
	}
	return c
}

func (p *publication) acquire(e *event.Event) {
	c, known := p.clock(e), p.objects[e.Object]
	if known == nil {
		known = &p.floor
	}
	c.Join(known)
}

func (p *publication) release(e *event.Event) {
	c := p.objects[e.Object]
	if c == nil {
		c = p.floor.Clone()
		p.objects[e.Object] = c
	}
	c.Join(p.clock(e))
	c.Raise(e.Slot, e.Epoch)
}

// before reports whether the event at (slot, epoch) happens before e in this run.
func (p *publication) before(slot uint32, epoch event.Epoch, e *event.Event) bool {
	return e.Before(slot, epoch) || epoch <= p.clock(e).At(slot)
}

// setApart marks the accesses that the first owner of a field made before another thread's first
// access e, and that happen before it.
func (a *Analysis) setApart(v *variable, e *event.Event) {
	for _, x := range v.accesses {
		x.published = x.thread == v.owner && a.publication.before(x.slot, x.epoch, e)
	}
	v.last = nil
}

// Bounds of the pairs with published accesses that are kept: of all, and of those at one pair of call
// stacks, which are one error on several objects as a rule.
const (
	maxPublished     = 1 << 10
	maxPublishedPair = 8
)

// publishedPairs are the pairs of which one access is published.
type publishedPairs struct {
	all   []*raceReport
	pairs map[pairKey]*publishedPair
}

// publishedPair is the number of reports at one pair of call stacks, and the last of them.
type publishedPair struct {
	n    int
	last *raceReport
}

// add records that x, which is published, and e have nothing but locks between them.
func (p *publishedPairs) add(x *access, t *thread, e *event.Event) {
	k := keyOf(x, e)
	d := p.pairs[k]
	switch {
	case d != nil && d.last.variable == e.Object:
		d.last.count++
		d.last.addInstance(k, x, e)
		return
	case len(p.all) == maxPublished || d != nil && d.n == maxPublishedPair:
		return
	case d == nil:
		d = &publishedPair{}
		p.pairs[k] = d
	}
	d.n, d.last = d.n+1, newReport(x, t, e)
	d.last.addInstance(k, x, e)
	p.all = append(p.all, d.last)
}

// Published returns pairs of accesses, as Races does, of which the first owner made one before it
// published the object for all that is seen, at most 1,024. They are races only if a schedule shows
// them that leaves out nothing by which the object may have been published. It needs
// Options.EveryPair.
func (a *Analysis) Published() []Race { return racesOf(a.published.all) }
