package observer

import (
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// This file follows memory. When a block is freed, or a mapping removed, the lifetimes of the
// objects in it end, and the next use of their addresses is another object. The end is an inferred
// Destroy, which orders nothing: the allocator's own locks are not observed, and the
// thread that frees a block need not be ordered with those that used it. The probes record
// the ends of memory that may contain an object, and allocations only of blocks that may contain an
// object with a watched field, or in which threads share a word.

// heaps follows the memory of processes, and ends what lives in memory that ends.
type heaps struct {
	*core
	threads   *threadTable
	variables *variables
	locks     *locks
	calls     *calls
	stacks    *stacks
	seesFrees func(tgid uint32) bool // Options.SeesFrees
}

// threadHeap is what heaps knows of a thread.
type threadHeap struct {
	lastBlock   *block // the block that it allocated last
	reallocated *block // the block that its current call of realloc moves; nil: none is known
	reallocAddr uint64 // address of that block
}

// block is an allocated block of memory.
type block struct {
	size   uint64         // bytes
	moving bool           // realloc is moving it, and its allocation was not recorded
	stack  event.StackID  // call stack of the allocation
	thread event.ThreadID // thread that allocated it
	// late reports that the allocation was recorded after the fact; see pastAllocation.
	late bool
}

// heap is the allocated memory of a process.
type heap struct {
	blocks addrs[*block]
	// live has the address of each live variable, synchronisation object and instance.
	live addrs[struct{}]
	// frees are the last calls that ended blocks, in a ring; nextFree is the place of the next one.
	frees    [1 << 10]blockFree
	nextFree int
}

// blockFree is a call that ended a block.
type blockFree struct{ addr, time uint64 }

// addFree adds a call that ends the block at an address.
func (h *heap) addFree(r *bpf.Record) {
	h.frees[h.nextFree] = blockFree{r.Object, r.Time}
	h.nextFree = (h.nextFree + 1) % len(h.frees)
}

// freedSince reports whether the block at an address ended after a time, as far as the recent ends show that are kept.
func (h *heap) freedSince(addr, time uint64) bool {
	return slices.ContainsFunc(h.frees[:], func(f blockFree) bool { return f.addr == addr && f.time > time })
}

// heapOf returns the heap of a process, and makes it at the first record about the heap.
func (hs *heaps) heapOf(p *process) *heap {
	if p.heap == nil {
		p.heap = &heap{}
		for addr := range p.vars {
			p.heap.live.put(addr, struct{}{})
		}
		for addr := range p.objects {
			p.heap.live.put(addr, struct{}{})
		}
		for addr := range p.instances {
			p.heap.live.put(addr, struct{}{})
		}
	}
	return p.heap
}

// addLive records that a variable, object or instance lives at an address.
func (p *process) addLive(addr uint64) {
	if p.heap != nil {
		p.heap.live.put(addr, struct{}{})
	}
}

// removeLive records that a variable, object or instance at an address has ended. The
// address stays in the heap while another of the three lives there.
func (p *process) removeLive(addr uint64) {
	if p.heap != nil && p.vars[addr] == nil && p.objects[addr] == nil && p.instances[addr] == nil {
		p.heap.live.remove(addr)
	}
}

// blockAt returns the block around an address, and where it begins; nil if none is known.
func (p *process) blockAt(addr uint64) (at uint64, b *block) {
	if p.heap == nil {
		return 0, nil
	}
	if at, b, ok := p.heap.blocks.upTo(addr); ok && addr-at < b.size {
		return at, b
	}
	return 0, nil
}

// pastAllocation handles the record of an allocation of the past: a word of the block is shared, and the block has not
// been freed. Where frees are not observed, or were not yet when it was allocated, it may be another block by now; so
// may it if it was freed between the access by which it is shared and the record.
func (hs *heaps) pastAllocation(r *bpf.Record) {
	p := hs.threads.processes[r.Tgid]
	if p == nil || r.Allocated() < hs.startTime || hs.seesFrees != nil && !hs.seesFrees(r.Tgid) {
		return
	}
	h := hs.heapOf(p)
	if at, old, ok := h.blocks.upTo(r.Object); ok && at == r.Object && !old.late || h.freedSince(r.Object, r.Allocated()) {
		return
	}
	b := &block{size: r.Value, stack: event.StackID(r.Stack), late: true}
	if b.stack == 0 {
		b.stack = hs.stacks.siteStack(r)
	}
	if t := hs.threads.threadAt(r.Tid, r.Allocated()); t != nil {
		b.thread = t.id
	}
	h.blocks.put(r.Object, b)
}

// heapCall handles malloc, free, realloc, munmap and similar functions.
func (hs *heaps) heapCall(t *thread, r *bpf.Record) {
	h := hs.heapOf(t.process)
	switch bpf.Op(r.Op) {
	case bpf.OpAlloc:
		hs.allocated(t, r)
	case bpf.OpFree:
		hs.freed(t, h, r)
	case bpf.OpConstruct, bpf.OpDestruct:
		hs.endObjects(t, h, nil, r.Object, r.Value) // in any block or on a stack
	case bpf.OpMove:
		if r.Flags&bpf.RecLeave == 0 {
			t.moves(h, r)
		} else {
			hs.moved(t, h, r)
		}
	}
}

// allocated begins the lifetime of a block. A C++ operator new that calls malloc causes a
// second record for the same block, which is ignored.
func (hs *heaps) allocated(t *thread, r *bpf.Record) {
	h := hs.heapOf(t.process)
	if at, b, ok := h.blocks.upTo(r.Object); ok && at == r.Object && b == t.lastBlock && b.size == r.Value {
		return
	}
	if r.Result != 0 {
		t.process.leaveWithin(r.Object, r.Object+r.Value)
	}
	hs.endWithin(t, h, nil, r.Object, r.Value)
	if r.Result != 0 {
		return
	}
	b := &block{size: r.Value, stack: event.StackID(r.Stack), thread: t.id}
	h.blocks.put(r.Object, b)
	t.lastBlock = b
}

// freed ends the lifetime of a block or a mapping. What is in a mapping may be in another one too, so
// that a lock there may go on being held; but who accesses it at its address then, crashes.
func (hs *heaps) freed(t *thread, h *heap, r *bpf.Record) {
	size := r.Value
	if at, b, ok := h.blocks.upTo(r.Object); ok && at == r.Object {
		size = max(size, b.size)
	}
	free := r
	h.addFree(r)
	if r.Result != 0 {
		free = nil
		t.process.leaveWithin(r.Object, r.Object+size)
	}
	if r.Result == 0 || r.Result == unmaps {
		hs.freesWords(t, h, r, size)
	}
	hs.endWithin(t, h, free, r.Object, size)
	if r.Result == unloads {
		t.process.unloaded(r.Object, r.Object+size, hs.stats.Events)
	}
}

// maxFreesWords bounds the events of one call that frees memory.
const maxFreesWords = 64

// freesWords sends a write, with flag Freed, of each variable behind a pointer in a block that t frees and that
// another thread has accessed: their accesses race with the free unless something orders them.
func (hs *heaps) freesWords(t *thread, h *heap, free *bpf.Record, size uint64) {
	at, end, sent := free.Object, free.Object+size, 0
	for sent < maxFreesWords && at < end {
		next, _, ok := h.live.next(at, end)
		if !ok {
			return
		}
		at = next + 1
		v := t.process.vars[next]
		if v == nil || !slices.ContainsFunc(v.past, func(a pastAccess) bool { return a.thread != t }) {
			continue
		}
		e := hs.begin(t, free, event.Write)
		e.Object, e.Kind, e.Flags = v.id, v.kind, event.Freed
		hs.send()
		sent++
	}
}

// Results of OpFree records: of memory that the dynamic loader unmaps, and of a mapping that munmap ends.
const (
	unloads = 2
	unmaps  = 3
)

// unload is memory that the dynamic loader has unmapped, after the event seq.
type unload struct{ lo, hi, seq uint64 }

// maxUnloads bounds the unloads that are kept of a process.
const maxUnloads = 4096

// unloaded records that the dynamic loader has unmapped memory.
func (p *process) unloaded(lo, hi, seq uint64) {
	if i := slices.IndexFunc(p.unloads, func(u unload) bool { return u.lo == lo && u.hi == hi }); i >= 0 {
		p.unloads[i].seq = seq
	} else if len(p.unloads) < maxUnloads {
		p.unloads = append(p.unloads, unload{lo, hi, seq})
	}
}

// UnloadedAfter returns the number of the last event before a process has last unmapped a library that
// was in a range of memory; 0 if that was not recorded.
func (o *Observer) UnloadedAfter(tgid uint32, lo, hi uint64) (seq uint64) {
	if p := o.threads.processes[tgid]; p != nil {
		for _, u := range p.unloads {
			if u.lo <= lo && hi <= u.hi {
				seq = max(seq, u.seq)
			}
		}
	}
	return seq
}

// moves handles the entry of realloc.
func (t *thread) moves(h *heap, r *bpf.Record) {
	t.reallocated, t.reallocAddr = nil, r.Object
	h.addFree(r)
	if at, b, ok := h.blocks.upTo(r.Object); ok && at == r.Object {
		t.reallocated = b
	} else if r.Value > 0 {
		t.reallocated = &block{size: r.Value, moving: true}
		h.blocks.put(r.Object, t.reallocated)
	}
}

// moved handles the return of realloc. The old block has been freed by then, and its
// memory may already belong to another block.
func (hs *heaps) moved(t *thread, h *heap, r *bpf.Record) {
	old, from := t.reallocated, t.reallocAddr
	t.reallocated = nil
	if _, now, _ := h.blocks.upTo(from); now != old {
		old = nil
	}
	if old != nil && old.moving {
		h.blocks.remove(from)
	}
	if r.Flags&bpf.RecFailed != 0 {
		return
	}
	if old == nil || r.Object != from {
		if old != nil {
			hs.freesWords(t, h, &bpf.Record{Object: from, Stack: r.Stack}, old.size)
			hs.endWithin(t, h, nil, from, old.size)
		}
		if r.Object != 0 {
			hs.allocated(t, r)
		}
		return
	}
	if r.Value < old.size {
		hs.endWithin(t, h, nil, from+r.Value, old.size-r.Value)
	}
	old.size = r.Value
	if old.moving && r.Result == 0 {
		h.blocks.put(from, &block{size: r.Value, stack: event.StackID(r.Stack), thread: t.id})
	}
}

// endWithin ends the lifetimes of the blocks, variables, objects and instances that begin in
// a range of size bytes. Free is the record of the call that frees the memory; nil: the call is not
// known.
func (hs *heaps) endWithin(t *thread, h *heap, free *bpf.Record, addr, size uint64) {
	end := addr + size
	if end < addr {
		end = ^uint64(0)
	}
	for at, _, ok := h.blocks.next(addr, end); ok; at, _, ok = h.blocks.next(addr, end) {
		h.blocks.remove(at)
	}
	hs.endObjects(t, h, free, addr, size)
}

// endObjects ends the lifetimes of the variables, objects and instances that begin in a
// range of size bytes; free as for endWithin.
func (hs *heaps) endObjects(t *thread, h *heap, free *bpf.Record, addr, size uint64) {
	end := addr + size
	if end < addr {
		end = ^uint64(0)
	}
	flags := event.Inferred
	if free != nil {
		flags |= event.Freed
	}
	p := t.process
	for at, _, ok := h.live.next(addr, end); ok; at, _, ok = h.live.next(addr, end) {
		h.live.remove(at)
		if v := p.vars[at]; v != nil {
			hs.variables.endVariable(t, at, v)
		}
		if obj := p.objects[at]; obj != nil {
			hs.locks.endObjectAs(t, free, obj, flags)
		}
		if x := p.instances[at]; x != nil {
			hs.calls.endInstance(t, at, x)
		}
	}
}

// discard discards what is known of the memory of a process.
func (hs *heaps) discard(p *process) { p.heap = nil }
