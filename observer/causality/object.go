package causality

import "github.com/tracepredict/tracepredict/observer/event"

// object is the shared variable that stands for an object, from first use to Destroy.
type object struct {
	access Clock // V_x^a: what precedes or is some access
	write  Clock // V_x^w: what precedes or is some write

	// Who touched it last, with which clock, and how: the same again changes nothing.
	last        *thread
	lastVersion uint64
	lastWrote   bool

	free      bool  // of a lock: it draws no edges
	taken     Clock // of such a lock: the takings of those who hold it
	failed    Clock // and the attempts that failed since
	exclusive bool  // of a lock: it is held, or was last held, by one alone
	once      Clock
	barrier   *barrier
	semaphore *semaphore
}

// maxSpare bounds the objects kept to be used again.
const maxSpare = 256

// object finds the object of e; nil if it has none that orders anything.
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
		*o = object{access: o.access[:0], write: o.write[:0], once: o.once[:0], taken: o.taken[:0], failed: o.failed[:0]}
	}
	o.free = c.free
	c.objects[e.Object] = o
	return o
}

// Drop forgets an object that no event will name again. It draws no edge.
func (c *Clocks) Drop(id event.ObjectID) {
	if o := c.objects[id]; o != nil {
		delete(c.objects, id)
		if len(c.spareObjects) < maxSpare {
			c.spareObjects = append(c.spareObjects, o)
		}
	}
}

// use is what an operation does to the variable that stands for its object.
type use uint8

const (
	reads use = iota
	writes
	locks  // it is of a lock that draws no edges but for failed attempts
	passes // it comes after the writes and stays out of V_x^w, as a read, but has edges of its own
	ignores
)

// useOf is the table of package causality's comment.
func (o *object) useOf(e *event.Event) use {
	if o.free && e.Op >= event.Acquire && e.Op <= event.Release {
		return locks
	}
	switch e.Op {
	case event.Read, event.AcquireRead, event.Wait:
		return reads
	case event.Write, event.Update, event.Acquire, event.Signal, event.Broadcast,
		event.Send, event.Sent, event.Receive, event.Receiving, event.ReceiveFailed:
		return writes
	case event.Release:
		return either(o.exclusive, writes, reads)
	case event.AcquireFailed:
		return either(o.exclusive, reads, writes)
	case event.Wake:
		return either(e.Flags&event.TimedOut != 0, ignores, writes)
	case event.SemPost, event.SemWait, event.SemFailed:
		return either(o.semaphore != nil, passes, writes)
	case event.Holds, event.Blocked:
		return ignores // they tell again what was, or what did not happen
	case event.Init, event.Destroy:
		return either(e.Flags&event.Inferred != 0, ignores, writes)
	}
	return passes
}

func either(cond bool, a, b use) use {
	if cond {
		return a
	}
	return b
}

// before joins what comes before e.
func (c *Clocks) before(t *thread, o *object, e *event.Event) {
	if e.Op == event.Join {
		if p := c.threads[e.Peer]; p != nil && p != t {
			t.join(p.clock)
		}
	}
	if o == nil {
		return
	}
	u := o.useOf(e)
	if u == ignores || (o.last == t && o.lastVersion == t.version && (u != writes || o.lastWrote)) && u < locks {
		return
	}
	// A late read comes after all accesses: it is one of those before the last write.
	if u == writes || e.Flags&event.Late != 0 {
		t.join(o.access)
	} else {
		t.join(o.write)
	}
	switch e.Op {
	case event.AcquireFailed:
		if o.free {
			t.join(o.taken)
		}
	case event.Release:
		if o.free {
			t.join(o.failed)
		}
	case event.BarrierArrive:
		o.gather(t)
	case event.BarrierDepart:
		o.depart(t, e.Thread)
	case event.OnceLeave:
		t.join(o.once)
	case event.SemPost, event.SemWait, event.SemFailed:
		o.semaphore.before(t, e.Op)
	}
}

// after remembers e for what comes after it.
func (c *Clocks) after(t *thread, o *object, e *event.Event) {
	switch e.Op {
	case event.Fork:
		c.thread(e.Peer).join(t.clock)
	case event.Join:
		c.forget(e.Peer)
	case event.Detach:
		c.detach(e.Peer)
	case event.End:
		c.end(t)
		if t.detached {
			c.forget(e.Thread)
		}
	}
	if o == nil {
		return
	}
	if e.Op == event.Destroy {
		c.Drop(e.Object)
		return
	}
	o.touched(t, o.useOf(e))
	o.settle(t, e)
}

func (c *Clocks) detach(peer event.ThreadID) {
	p := c.threads[peer]
	if p == nil {
		return
	}
	p.detached = true
	if p.ended {
		c.forget(peer)
	}
}

// touched makes the variable know the access.
func (o *object) touched(t *thread, u use) {
	switch {
	case u == ignores:
		return
	case o.last == t && o.lastVersion == t.version && (u != writes || o.lastWrote):
		return
	case u == writes:
		o.access.set(t.clock)
		o.write.set(t.clock)
	default:
		o.access.join(t.clock)
	}
	o.last, o.lastVersion, o.lastWrote = t, t.version, u == writes
}

// settle does what is particular to a kind of object.
func (o *object) settle(t *thread, e *event.Event) {
	switch e.Op {
	case event.Acquire:
		o.exclusive = true
		o.taken.set(t.clock)
		o.failed = o.failed[:0]
	case event.AcquireRead:
		o.exclusive = false
		o.taken.join(t.clock)
	case event.AcquireFailed:
		o.failed.join(t.clock)
	case event.Release:
		if o.exclusive {
			o.taken, o.failed = o.taken[:0], o.failed[:0]
		}
	case event.OnceDone:
		o.once.set(t.clock)
	case event.BarrierArrive:
		o.arrive(t, e.Thread)
	case event.SemPost, event.SemWait, event.SemFailed:
		if o.semaphore != nil && !o.semaphore.after(t, e.Op) {
			o.semaphore = nil // every operation writes it from now on; access knows them all
		}
	case event.Init:
		o.setup(e)
	}
}

// setup takes from Init what the object starts with.
func (o *object) setup(e *event.Event) {
	if e.Flags&event.HasValue == 0 {
		return
	}
	switch e.Kind {
	case event.KindSemaphore:
		o.semaphore = &semaphore{credit: e.Value}
	case event.KindBarrier:
		o.barrier = &barrier{size: e.Value}
	}
}
