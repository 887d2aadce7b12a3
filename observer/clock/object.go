package clock

import (
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// object is what the orders need to know of an object, from first use to Destroy.
type object struct {
	id event.ObjectID // 0 once it is destroyed
	// The last use, of that slot, is not in uses yet if the slot has been seen
	// there since its clock last gained from others: a lock that one thread
	// takes over and over costs no look at its clock.
	lastSlot  uint32
	lastEpoch event.Epoch
	uses      order.Vector[event.Epoch]
	init      mark
	write     mark // of the last write
	value     uint64
	valued    bool
	atomic    bool // the last write was
	order     order.Object
}

// object finds the object of e, nil if e has none.
func (m *Must) object(e *event.Event) *object {
	if e.Object == 0 || e.Kind == event.KindInstance {
		return nil
	}
	if o := m.objectIf(e.Object); o != nil {
		return o
	}
	o := &object{}
	if n := len(m.spareOb); n > 0 {
		o, m.spareOb = m.spareOb[n-1], m.spareOb[:n-1]
	}
	o.id = e.Object
	m.objects[e.Object] = o
	m.objectCache[e.Object%cachedObjects] = o
	return o
}

// objectIf finds an object that is known, or nil.
func (m *Must) objectIf(id event.ObjectID) *object {
	cached := &m.objectCache[id%cachedObjects]
	if o := *cached; o != nil && o.id == id && id != 0 {
		return o
	}
	o := m.objects[id]
	if o != nil {
		*cached = o
	}
	return o
}

// Drop forgets an object that no event will name again, though none told of its
// destruction. It draws no edge.
func (m *Must) Drop(id event.ObjectID) {
	if o := m.objects[id]; o != nil {
		m.dropObject(id, o)
	}
}

// dropObject forgets a destroyed object. Its identifier will not come again; its
// buffers will be used again, up to a few.
func (m *Must) dropObject(id event.ObjectID, o *object) {
	delete(m.objects, id)
	m.matcher.Drop(&o.order)
	o.id = 0
	if len(m.spareOb) >= maxIdle {
		return
	}
	o.init.reset()
	o.write.reset()
	*o = object{init: o.init, write: o.write, uses: o.uses[:0]}
	m.spareOb = append(m.spareOb, o)
}

func (o *object) use(t *thread) {
	if o.lastSlot == t.slot && o.lastEpoch >= t.since && o.lastEpoch != 0 {
		o.lastEpoch = t.epoch
		return
	}
	o.settle()
	if !follow(o.uses, t, o.uses.At(t.slot)) {
		o.uses.Join(t.clock)
	}
	o.lastSlot, o.lastEpoch = t.slot, t.epoch
}

// settle makes uses know the last use.
func (o *object) settle() {
	if o.lastEpoch != 0 {
		o.uses[o.lastSlot] = o.lastEpoch
	}
}

func (o *object) setWrite(t *thread, e *event.Event) {
	o.write.set(t)
	o.value, o.valued = e.Value, e.Flags&event.HasValue != 0
	o.atomic = e.Flags&event.Atomic != 0
}

func (o *object) contradicts(e *event.Event) bool {
	return o.valued && e.Flags&event.HasValue != 0 && o.value != e.Value
}
