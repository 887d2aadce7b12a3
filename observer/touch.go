package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// This file handles accesses that hardware watchpoints saw. The record of an access shows
// which variable was accessed and by which instruction. Options.Touch finds, once for each
// instruction, whether it reads or writes.
//
// One operation may access a variable several times: the kernel copies into it or out of it
// byte by byte in one system call, a string instruction does likewise, and a variable that
// is not aligned has two watchpoints. These accesses are one event, with the last value.
// Whether more records belong to such an access is known only at the next record of its thread
// or of its variable, so the access is pending until then. Only a system call accesses one
// variable, then another, then the first again. All other accesses are sent at once, so that
// their events stand where their records do.

// Trap is an access that a hardware watchpoint saw.
type Trap struct {
	TGID   uint32
	Site   uint32
	IP     uint64 // instruction pointer after the access
	Object uint64
	Kernel bool // IP is in the kernel
	Source bool // the source register of string instructions pointed to the variable
	Dest   bool // the destination register of string instructions pointed to the variable
}

// Touch classifies an access that a hardware watchpoint saw.
type Touch struct {
	Op         event.Op // Read, Write or Update; None if the code does not show which
	Atomic     bool
	Relocation bool // the dynamic loader made the access, to relocate an address; it makes no event
	Repeats    bool // one of several accesses of a copy or a string instruction
	Wider      bool // if it is a Read: of more bytes than the variable has (event.Wider)
	// Last, of an access that repeats, is the instruction pointer after the last
	// iteration; 0 if it is that of the other iterations.
	Last uint64
}

// touchKey identifies an instruction that accessed a variable, in one process.
type touchKey struct {
	ip, object uint64
	hint       int32 // touchHints bits of the record's Result
}

// pendingTouch is an access to which further records may belong.
type pendingTouch struct {
	record bpf.Record // the last one
	what   Touch      // of all records so far together
	parts  int32      // set of watchpoints that saw the access, one bit each
}

const (
	touchHints = bpf.TouchSource | bpf.TouchDest
	maxPart    = 3
)

// touchPart returns the bit of the watchpoint that made a record; see pendingTouch.parts.
func touchPart(r *bpf.Record) int32 { return 1 << (r.Result / bpf.TouchPart & maxPart) }

// touchCount returns the remaining count of a repeated instruction, or the number of a system call,
// from the record of a watchpoint.
func touchCount(r *bpf.Record) int32 { return r.Result / bpf.TouchCount }

// touched handles the record of a hardware watchpoint.
func (vs *variables) touched(t *thread, r *bpf.Record) {
	what := vs.touch(t, r)
	for i := range t.touches {
		if p := t.touches[i]; p.continues(r) {
			p.extend(r, what)
			copy(t.touches[i:], t.touches[i+1:]) // touches stay in the order of their last records
			t.touches[len(t.touches)-1] = p
			return
		}
	}
	if n := len(t.touches); n > 0 && !sameCall(&t.touches[n-1].record, r) {
		vs.flushTouches(t)
	}
	if v := t.process.vars[r.Object]; v != nil && v.touching != nil {
		vs.flushTouches(v.touching)
	}
	t.touches = append(t.touches, pendingTouch{record: *r, what: what, parts: touchPart(r)})
	info := vs.site(r)
	vs.variable(t, r, info).touching = t
	if info.OneWatchpoint && !what.Repeats && r.Flags&bpf.RecKernel == 0 {
		vs.flushTouches(t)
	}
}

// sameCall reports whether the kernel made two accesses in one system call of their
// thread.
func sameCall(q, r *bpf.Record) bool {
	return q.Flags&r.Flags&bpf.RecKernel != 0 && q.Result&r.Result&bpf.TouchCall != 0 && touchCount(q) == touchCount(r)
}

// extend adds a further record to the access.
func (p *pendingTouch) extend(r *bpf.Record, what Touch) {
	if sameCall(&p.record, r) {
		p.what.Op = combinedOp(p.what.Op, what.Op)
		p.what.Atomic = p.what.Atomic && what.Atomic
	}
	p.parts |= touchPart(r)
	p.record = *r
}

// combinedOp returns the operation that two accesses by one system call make together. A
// write followed by a read is a write: the read sees the written value. If an unknown access
// is followed by a read, the result is unknown (None), and sendTouch decides by the value.
func combinedOp(first, second event.Op) event.Op {
	switch {
	case first.IsWrite():
		return first
	case first == event.Read && second.IsWrite():
		return event.Update
	case first == event.None && second == event.Read:
		return event.None
	}
	return second
}

// continues reports whether a record belongs to the access before it.
func (p *pendingTouch) continues(r *bpf.Record) bool {
	q := &p.record
	if q.Object != r.Object {
		return false
	}
	if (q.Flags|r.Flags)&bpf.RecKernel != 0 && (q.Result|r.Result)&bpf.TouchCall != 0 {
		return sameCall(q, r)
	}
	same := q.Ip() == r.Ip()
	if last := p.what.Repeats && r.Ip() == p.what.Last; !same && !last {
		return false
	}
	if q.Sp != r.Sp || (q.Flags^r.Flags)&bpf.RecKernel != 0 {
		return false
	}
	// Each iteration of a copy reduces the remaining count, and stays within the variable.
	left, before := touchCount(r), touchCount(q)
	if same && left == before {
		return p.parts&touchPart(r) == 0 && q.Value == r.Value
	}
	return p.what.Repeats && r.Result&touchHints != 0 && left < before && before-left <= maxVariable
}

// maxVariable is the size of the largest watched variable, in bytes.
const maxVariable = 8

// flushTouches sends the events of the pending accesses of a thread.
func (vs *variables) flushTouches(t *thread) {
	due := t.touches
	t.touches = due[:0]
	for i := range due {
		vs.sendTouch(t, &due[i])
	}
}

func (vs *variables) sendTouch(t *thread, p *pendingTouch) {
	r := &p.record
	info := vs.site(r)
	v := vs.variable(t, r, info)
	v.touching = nil
	what := p.what
	if what.Relocation {
		return
	}
	flags := info.Flags | event.Watched
	if what.Atomic {
		flags |= event.Atomic
	}
	if r.Flags&bpf.RecKernel != 0 {
		flags |= event.Kernel
	}
	op := what.Op
	if op == event.None {
		vs.stats.Unclassified++
		if op = event.Read; v.last.known && v.last.value != info.value(r.Value) {
			op = event.Write
		}
	}
	if what.Wider && op == event.Read {
		flags |= event.Wider
	}
	now := vs.now
	vs.now = r.Time
	vs.access(t, r, v, op, info, flags)
	vs.now = now
}

// touch returns the classification of an access. It calls Options.Touch once for each
// instruction, variable and hint of a process.
func (vs *variables) touch(t *thread, r *bpf.Record) Touch {
	if vs.classify == nil {
		return Touch{}
	}
	key := touchKey{ip: r.Ip(), object: r.Object, hint: r.Result & touchHints}
	what, ok := t.process.touches[key]
	if !ok {
		what = vs.classify(Trap{
			TGID: r.Tgid, Site: r.Site, IP: r.Ip(), Object: r.Object, Kernel: r.Flags&bpf.RecKernel != 0,
			Source: r.Result&bpf.TouchSource != 0, Dest: r.Result&bpf.TouchDest != 0,
		})
		if t.process.touches == nil {
			t.process.touches = map[touchKey]Touch{}
		}
		t.process.touches[key] = what
	}
	return what
}
