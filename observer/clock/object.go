package clock

import (
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// object is the state of an object, from its first use to Destroy.
type object struct {
	id   event.ObjectID // 0 once it is destroyed
	used uint64         // Seq of the latest event
	// The slot and epoch of the last use; epoch 0: there is none. uses may lack the last use
	// where it includes an earlier one of the same slot, after which that slot had no edge from
	// another slot; flushLastUse then adds it. So a lock that one thread acquires again and again
	// costs no access to uses.
	lastSlot  uint32
	lastEpoch event.Epoch
	uses      event.Clock // the join of the clocks of all uses
	init      mark        // of Init
	write     mark        // of the last write, and of those whose values went into its value without an edge
	value     uint64      // of the last write
	valued    bool        // value is known
	atomic    bool        // the last write was atomic
	evicted   bool        // it may have been used before Shrink evicted it
	order     order.Object
}

// object returns the state of e's object, and makes it if there is none; nil if e has no object
// that orders anything.
func (m *Must) object(e *event.Event) *object {
	if e.Object == 0 || e.Kind == event.KindInstance {
		return nil
	}
	if o := m.objectIf(e.Object); o != nil {
		return o
	}
	o := &object{}
	if n := len(m.spareObjects); n > 0 {
		o, m.spareObjects = m.spareObjects[n-1], m.spareObjects[:n-1]
	}
	o.id, o.evicted = e.Object, m.floor.mayHave(e.Object)
	m.objects[e.Object] = o
	m.objectCache[e.Object%cachedObjects] = o
	return o
}

// objectIf returns the state of an object, or nil if there is none.
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

// Drop drops the state of an object that no later event names, although no Destroy of it was
// recorded. It draws no edge.
func (m *Must) Drop(id event.ObjectID) {
	if o := m.objects[id]; o != nil {
		m.dropObject(id, o)
	}
}

// dropObject drops the state of an object. Its identifier does not come again. The buffers of at
// most maxIdle objects are kept for reuse.
func (m *Must) dropObject(id event.ObjectID, o *object) {
	delete(m.objects, id)
	m.matcher.Drop(&o.order)
	o.id = 0
	if len(m.spareObjects) >= maxIdle {
		return
	}
	o.init.reset()
	o.write.reset()
	o.uses.Reset()
	*o = object{init: o.init, write: o.write, uses: o.uses}
	m.spareObjects = append(m.spareObjects, o)
}

// recordUse records the last event of t as a use of the object.
func (o *object) recordUse(t *thread) {
	if o.lastSlot == t.slot && o.lastEpoch >= t.since && o.lastEpoch != 0 {
		o.lastEpoch = t.epoch
		return
	}
	o.flushLastUse()
	if !t.includes(o.uses.At(t.slot)) {
		o.uses.Join(&t.clock)
	}
	o.uses.Set(t.slot, t.epoch)
	o.lastSlot, o.lastEpoch = t.slot, t.epoch
}

// flushLastUse adds the last use to uses.
func (o *object) flushLastUse() {
	if o.lastEpoch != 0 {
		o.uses.Set(o.lastSlot, o.lastEpoch)
	}
}

// setWrite records e as the last write. Blind reports that no edge leads from the write before it,
// of whose value its value is made.
func (o *object) setWrite(t *thread, e *event.Event, blind bool) {
	if blind && o.write.epoch != 0 {
		o.write.join(t)
	} else {
		o.write.set(t)
	}
	o.value, o.valued = e.Value, e.Flags&event.HasValue != 0
	o.atomic = e.Flags&event.Atomic != 0
}

// contradicts reports whether e read another value than the last write wrote.
func (o *object) contradicts(e *event.Event) bool {
	return o.valued && e.Flags&event.HasValue != 0 && o.value != e.Value
}
