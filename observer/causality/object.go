package causality

import (
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// object is the shared variable that stands for an object, from first use to Destroy.
type object struct {
	access Clock // V_x^a: the events that are, or come before, some access
	write  Clock // V_x^w: the events that are, or come before, some write

	// The thread of the last access, the version of its clock then, and whether the access was a
	// write; see repeats.
	last        *thread
	lastVersion uint64
	lastWrote   bool

	exclusion bool  // the edges of locks are left out (NewExclusion)
	acquires  Clock // of a lock: the acquires of its open critical sections
	failed    Clock // of a lock: the failed attempts since it was last held exclusively
	exclusive bool  // of a lock: its last acquire was exclusive
	order     order.Object
}

// maxSpare bounds the objects that are kept for reuse.
const maxSpare = 256

// object returns the state of e's object, and makes it if there is none; nil if e has no object
// that orders anything.
func (c *Clocks) object(e *event.Event) *object {
	if e.Object == 0 || e.Kind == event.KindInstance || e.Op.IsCall() {
		return nil
	}
	if o := c.objects[e.Object]; o != nil {
		return o
	}
	o := &object{}
	if n := len(c.spareObjects); n > 0 {
		o, c.spareObjects = c.spareObjects[n-1], c.spareObjects[:n-1]
		*o = object{access: o.access[:0], write: o.write[:0], acquires: o.acquires[:0], failed: o.failed[:0]}
	}
	o.exclusion = c.exclusion
	c.objects[e.Object] = o
	return o
}

// drop drops the state of an object that no later event names. It draws no edge.
func (c *Clocks) drop(id event.ObjectID) {
	if o := c.objects[id]; o != nil {
		delete(c.objects, id)
		c.matcher.Drop(&o.order)
		if len(c.spareObjects) < maxSpare {
			c.spareObjects = append(c.spareObjects, o)
		}
	}
}

// useLock is an operation of a lock without edges (NewExclusion), except those of failed attempts.
const useLock = order.UseNone + 1

// useOf returns how e uses the object, as the comment of the package describes.
func (o *object) useOf(e *event.Event) order.Use {
	if o.exclusion && e.Op >= event.Acquire && e.Op <= event.Release {
		return useLock
	}
	return o.order.UseOf(e, o.exclusive)
}

// before draws the edges into e. It returns the match of package order, or nil if e needs none.
func (c *Clocks) before(t *thread, o *object, e *event.Event) *order.Match {
	if e.Op == event.Join {
		if p := c.threads[e.Peer]; p != nil && p != t {
			t.join(p.clock)
		}
	}
	if o == nil {
		return nil
	}
	u := o.useOf(e)
	if u == order.UseNone || (u == order.UseRead || u == order.UseWrite) && o.repeats(t, u) {
		return nil
	}
	// A late read comes after all recorded accesses.
	if u == order.UseWrite || e.Flags&event.Late != 0 {
		t.join(o.access)
	} else {
		t.join(o.write)
	}
	switch {
	case u == order.UseMatched && order.Synchronises(e.Op):
		x := c.matcher.Match(&o.order, e)
		for _, edge := range x.Edges {
			t.join(c.sets[edge.From])
		}
		return x
	case u == useLock && e.Op == event.AcquireFailed:
		t.join(o.acquires)
	case u == useLock && e.Op == event.Release:
		t.join(o.failed)
	}
	return nil
}

// after records e for the edges that lead from it to later events.
func (c *Clocks) after(t *thread, o *object, e *event.Event, x *order.Match) {
	switch e.Op {
	case event.Fork:
		c.thread(e.Peer).join(t.clock)
	case event.Join:
		c.dropThread(e.Peer)
	case event.Detach:
		c.detach(e.Peer)
	case event.End:
		c.end(t)
		if t.detached {
			c.dropThread(e.Thread)
		}
	}
	if o == nil {
		return
	}
	if e.Op == event.Destroy {
		c.drop(e.Object)
		return
	}
	o.recordAccess(t, o.useOf(e))
	if x != nil {
		c.applyChanges(t, o, x)
	}
	if e.Op == event.Init {
		c.matcher.Match(&o.order, e)
	} else {
		o.recordLock(t, e.Op)
	}
}

// applyChanges makes the changes to sets that a match lists. None of them adds one set to
// another: only events of channels do that, and they are not matched.
func (c *Clocks) applyChanges(t *thread, o *object, x *order.Match) {
	for _, d := range x.Changes {
		for int(d.Set) >= len(c.sets) {
			c.sets = append(c.sets, nil)
		}
		if d.Fresh {
			c.sets[d.Set].Copy(t.clock)
		} else {
			c.sets[d.Set].Join(t.clock)
		}
	}
	if x.Unexplained {
		o.order.Uncount() // every operation writes it from now on; access includes all earlier ones
	}
}

// detach records that peer will not be joined, and drops it if it has ended.
func (c *Clocks) detach(peer event.ThreadID) {
	p := c.threads[peer]
	if p == nil {
		return
	}
	p.detached = true
	if p.ended {
		c.dropThread(peer)
	}
}

// repeats reports whether an access by t changes nothing and needs no edge: t made the last access
// too, its clock has not changed since, and if this one is a write, that one was.
func (o *object) repeats(t *thread, u order.Use) bool {
	return o.last == t && o.lastVersion == t.version && (u != order.UseWrite || o.lastWrote)
}

// recordAccess adds the last event of t, an access, to the clocks of the variable.
func (o *object) recordAccess(t *thread, u order.Use) {
	switch {
	case u == order.UseNone || o.repeats(t, u):
		return
	case u == order.UseWrite:
		o.access.Copy(t.clock)
		o.write.Copy(t.clock)
	default:
		o.access.Join(t.clock)
	}
	o.last, o.lastVersion, o.lastWrote = t, t.version, u == order.UseWrite
}

// recordLock records, for an operation of a lock, the acquires of its open critical sections and
// its failed attempts.
func (o *object) recordLock(t *thread, op event.Op) {
	switch op {
	case event.Acquire:
		o.exclusive = true
		o.acquires.Copy(t.clock)
		o.failed = o.failed[:0]
	case event.AcquireRead:
		o.exclusive = false
		o.acquires.Join(t.clock)
	case event.AcquireFailed:
		o.failed.Join(t.clock)
	case event.Release:
		if o.exclusive {
			o.acquires, o.failed = o.acquires[:0], o.failed[:0]
		}
	}
}
