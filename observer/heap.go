package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Memory that is freed and allocated again is other memory: what lay in it has
// ended, and what comes next at an address is another object. Nothing is ordered
// by that (the event is an inferred Destroy): the allocator's own locks are not
// seen, and who frees need not be ordered with who used. Only blocks that may hold
// an object with a watched field are told of.

// block is an allocated block of memory.
type block struct {
	size   uint64
	place  event.StackID // where it was allocated
	thread event.ThreadID
}

// heap is what is known of a process's allocated memory.
type heap struct {
	blocks addrs[*block]
	// alive are the addresses of everything with a lifetime.
	alive addrs[struct{}]
}

// heapOf returns the heap of a process, made when it is first told of.
func (o *Observer) heapOf(p *process) *heap {
	if p.heap == nil {
		p.heap = &heap{}
		for addr := range p.vars {
			p.heap.alive.put(addr, struct{}{})
		}
		for addr := range p.objects {
			p.heap.alive.put(addr, struct{}{})
		}
		for addr := range p.things {
			p.heap.alive.put(addr, struct{}{})
		}
	}
	return p.heap
}

// born notes that something at an address has a lifetime.
func (p *process) born(addr uint64) {
	if p.heap != nil {
		p.heap.alive.put(addr, struct{}{})
	}
}

// died notes that something at an address has ended; what else is there lives on.
func (p *process) died(addr uint64) {
	if p.heap != nil && p.vars[addr] == nil && p.objects[addr] == nil && p.things[addr] == nil {
		p.heap.alive.remove(addr)
	}
}

// blockAt returns the block around an address, nil if none is known.
func (p *process) blockAt(addr uint64) *block {
	if p.heap == nil {
		return nil
	}
	if at, b, ok := p.heap.blocks.upTo(addr); ok && addr-at < b.size {
		return b
	}
	return nil
}

// heapCall handles malloc, free, realloc and similar functions.
func (o *Observer) heapCall(t *thread, r *bpf.Record) {
	h := o.heapOf(t.process)
	switch bpf.Op(r.Op) {
	case bpf.OpAlloc:
		o.allocated(t, r)
	case bpf.OpFree:
		o.freed(t, h, r.Object)
	case bpf.OpConstruct, bpf.OpDestruct:
		o.endObjects(t, h, r.Object, r.Value) // in whatever block, or on a stack
	case bpf.OpMove:
		if r.Flags&bpf.RecLeave == 0 {
			t.moving, t.movingAt = nil, r.Object
			if at, b, ok := h.blocks.upTo(r.Object); ok && at == r.Object {
				t.moving = b
			}
			return
		}
		o.moved(t, h, r)
	}
}

// allocated begins the lifetime of a block. An operator that calls malloc tells
// of the same block again.
func (o *Observer) allocated(t *thread, r *bpf.Record) {
	h := o.heapOf(t.process)
	if at, b, ok := h.blocks.upTo(r.Object); ok && at == r.Object && b == t.latest && b.size == r.Value {
		return
	}
	o.endWithin(t, h, r.Object, r.Value)
	b := &block{size: r.Value, place: event.StackID(r.Stack), thread: t.id}
	h.blocks.put(r.Object, b)
	t.latest = b
}

// freed ends the lifetime of a block.
func (o *Observer) freed(t *thread, h *heap, addr uint64) {
	at, b, ok := h.blocks.upTo(addr)
	if !ok || at != addr {
		return
	}
	o.endWithin(t, h, addr, b.size)
}

// moved handles the return of realloc. The old block has been freed meanwhile, and its
// memory may belong to another block already.
func (o *Observer) moved(t *thread, h *heap, r *bpf.Record) {
	old, from := t.moving, t.movingAt
	t.moving = nil
	if r.Flags&bpf.RecFailed != 0 {
		return
	}
	_, now, _ := h.blocks.upTo(from)
	if old == nil || now != old {
		old = nil
	}
	if old != nil && r.Object == from && r.Value >= old.size {
		old.size = r.Value // grown where it is
		return
	}
	if old != nil && r.Object == from {
		o.endWithin(t, h, from+r.Value, old.size-r.Value)
		old.size = r.Value
		return
	}
	if old != nil {
		o.endWithin(t, h, from, old.size)
	}
	if r.Object != 0 {
		o.allocated(t, r)
	}
}

// endWithin ends all that lies in a piece of memory: blocks, variables, locks and
// instances.
func (o *Observer) endWithin(t *thread, h *heap, addr, size uint64) {
	end := addr + size
	if end < addr {
		end = ^uint64(0)
	}
	for at, _, ok := h.blocks.next(addr, end); ok; at, _, ok = h.blocks.next(addr, end) {
		h.blocks.remove(at)
	}
	o.endObjects(t, h, addr, size)
}

// endObjects ends the variables, locks and instances in a piece of memory.
func (o *Observer) endObjects(t *thread, h *heap, addr, size uint64) {
	end := addr + size
	if end < addr {
		end = ^uint64(0)
	}
	p := t.process
	for at, _, ok := h.alive.next(addr, end); ok; at, _, ok = h.alive.next(addr, end) {
		h.alive.remove(at)
		if v := p.vars[at]; v != nil {
			o.endVariable(t, at, v)
		}
		if obj := p.objects[at]; obj != nil {
			o.drop(t, nil, obj)
		}
		if x := p.things[at]; x != nil {
			o.gone(t, at, x)
		}
	}
}

// endVariable ends the lifetime of a variable.
func (o *Observer) endVariable(t *thread, addr uint64, v *variable) {
	if v.touching != nil {
		o.settle(v.touching)
	}
	e := o.begin(t, nil, event.Destroy)
	e.Object, e.Kind, e.Flags = v.id, v.kind, event.Inferred
	o.send()
	delete(t.process.vars, addr)
}
