package eraser

import "github.com/tracepredict/tracepredict/observer/event"

// Publication. Who makes an object prepares it before anybody else can know of
// it, and then hands it over: puts it into a queue under a lock, posts a
// semaphore. The pointer itself travels through memory that nobody watches, so the
// must-order has no edge for that, and a schedule in which the other thread comes
// first would seem possible, though there is no object to come to. So the
// accesses of a field's first owner that the order of this run has before the
// first access of another thread are done with when that one comes: Eraser's
// exclusive state, with the hand-over checked. Without one they stay: an object
// that is handed over without synchronisation is a race.

// publication is the order of this run, as vector clocks: the must-order, and the
// edges from each release to the acquires after it. It begins with the first
// access of a field: programs that watch none pay nothing.
type publication struct {
	on      bool
	slots   [][]event.Epoch                  // what each slot knows
	objects map[event.ObjectID][]event.Epoch // what their releases knew
}

// take follows the order of the run over an event.
func (p *publication) take(e *event.Event) {
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

// known returns what a slot knows, its must-order included.
func (p *publication) known(e *event.Event) []event.Epoch {
	for len(p.slots) <= int(e.Slot) {
		p.slots = append(p.slots, nil)
	}
	p.slots[e.Slot] = join(p.slots[e.Slot], e.Must)
	return p.slots[e.Slot]
}

func (p *publication) acquire(e *event.Event) {
	p.slots[e.Slot] = join(p.known(e), p.objects[e.Object])
}

func (p *publication) release(e *event.Event) {
	p.objects[e.Object] = join(p.objects[e.Object], p.known(e))
}

// join makes a know what b knows.
func join(a, b []event.Epoch) []event.Epoch {
	for len(a) < len(b) {
		a = append(a, 0)
	}
	for i, n := range b {
		a[i] = max(a[i], n)
	}
	return a
}

// before reports whether the event at (slot, epoch) came before e in the order of
// the run.
func (p *publication) before(slot uint32, epoch event.Epoch, e *event.Event) bool {
	known := p.known(e)
	return int(slot) < len(known) && epoch <= known[slot]
}

// published drops what the first owner of a field did before it handed the object
// over; e is the first access of another thread.
func (a *Analysis) published(v *variable, e *event.Event) {
	kept := v.accesses[:0]
	for _, x := range v.accesses {
		if x.thread != v.owner || !a.order.before(x.slot, x.epoch, e) {
			kept = append(kept, x)
		}
	}
	clear(v.accesses[len(kept):])
	v.accesses, v.last = kept, nil
}
