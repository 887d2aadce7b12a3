package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Accesses that hardware watchpoints saw. The record of one shows that the variable was
// touched, and by which instruction. What the instruction did there is asked of
// Options.Touch, once for each instruction.
//
// One operation may touch a variable several times: the kernel copies into it or out of it
// byte by byte in one system call, a string instruction does likewise, and a variable that
// is not aligned has two watchpoints. These are one event, with the value that they leave
// behind. Whether more records belong to an access is known only at the next record of its
// thread or of its variable, so the access waits for that. Only a system call touches one
// variable, then another, then the first again.

// Trap is an access that a hardware watchpoint saw.
type Trap struct {
	TGID   uint32
	Site   uint32
	IP     uint64 // instruction pointer after the access
	Object uint64
	Kernel bool // IP is in the kernel
	Source bool // the register of string instructions' source pointed to the variable
	Dest   bool // that of their destination did
}

// Touch is what such an access was.
type Touch struct {
	Op      event.Op // Read, Write or Update; None where the code does not tell
	Atomic  bool
	Foreign bool // not the program's: the dynamic loader's, putting addresses right
	Repeats bool // one of several that a copy or a string instruction may make
	// Last, of one that repeats, is the instruction pointer after the last turn;
	// 0 where it is that of the others.
	Last uint64
}

// touchKey is an instruction that touched a variable, in a process.
type touchKey struct {
	ip, object uint64
	hint       int32
}

// pendingTouch is an access that more records may belong to.
type pendingTouch struct {
	record bpf.Record // the last
	what   Touch      // of all so far
	parts  int32      // watchpoints that saw it, a bit each
}

const (
	touchHints = bpf.TouchSource | bpf.TouchDest
	maxPart    = 3
)

func touchPart(r *bpf.Record) int32 { return 1 << (r.Result / bpf.TouchPart & maxPart) }

func touchCount(r *bpf.Record) int32 { return r.Result / bpf.TouchCount }

// touched handles the record of a hardware watchpoint.
func (o *Observer) touched(t *thread, r *bpf.Record) {
	what := o.touch(t, r)
	for i := range t.touches {
		if p := t.touches[i]; p.continues(r) {
			p.join(r, what)
			copy(t.touches[i:], t.touches[i+1:]) // in the order of their last records
			t.touches[len(t.touches)-1] = p
			return
		}
	}
	if n := len(t.touches); n > 0 && !sameCall(&t.touches[n-1].record, r) {
		o.settle(t)
	}
	if v := t.process.vars[r.Object]; v != nil && v.touching != nil {
		o.settle(v.touching)
	}
	t.touches = append(t.touches, pendingTouch{record: *r, what: what, parts: touchPart(r)})
	o.variable(t, r, o.site(r)).touching = t
}

// sameCall reports whether the kernel made two accesses in one system call of their
// thread.
func sameCall(q, r *bpf.Record) bool {
	return q.Flags&r.Flags&bpf.RecKernel != 0 && q.Result&r.Result&bpf.TouchCall != 0 && touchCount(q) == touchCount(r)
}

// join adds a record that continues the access.
func (p *pendingTouch) join(r *bpf.Record, what Touch) {
	if sameCall(&p.record, r) {
		p.what.Op = joined(p.what.Op, what.Op)
		p.what.Atomic = p.what.Atomic && what.Atomic
	}
	p.parts |= touchPart(r)
	p.record = *r
}

// joined returns what two accesses by one system call are together. A write after which
// the variable is read is a write: it reads its own value. Where it is not known what
// one of them was, the value that they leave tells.
func joined(first, second event.Op) event.Op {
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
	same := q.Extra == r.Extra
	if last := p.what.Repeats && r.Extra == p.what.Last; !same && !last {
		return false
	}
	if q.Sp != r.Sp || (q.Flags^r.Flags)&bpf.RecKernel != 0 {
		return false
	}
	// Each turn of a copy leaves fewer to do, and all are within the variable.
	left, before := touchCount(r), touchCount(q)
	if same && left == before {
		return p.parts&touchPart(r) == 0 && q.Value == r.Value
	}
	return p.what.Repeats && r.Result&touchHints != 0 && left < before && before-left <= maxVariable
}

// maxVariable is the size of the largest watched variable, in bytes.
const maxVariable = 8

// settle sends the accesses of a thread that waited for what may belong to them.
func (o *Observer) settle(t *thread) {
	due := t.touches
	t.touches = due[:0]
	for i := range due {
		o.sendTouch(t, &due[i])
	}
}

func (o *Observer) sendTouch(t *thread, p *pendingTouch) {
	r := &p.record
	info := o.site(r)
	v := o.variable(t, r, info)
	v.touching = nil
	what := p.what
	if what.Foreign {
		return
	}
	flags := info.Flags
	if what.Atomic {
		flags |= event.Atomic
	}
	if r.Flags&bpf.RecKernel != 0 {
		flags |= event.Kernel
	}
	op := what.Op
	if op == event.None {
		o.stats.Untold++
		if op = event.Read; v.last.known && v.last.value != info.value(r.Value) {
			op = event.Write
		}
	}
	now := o.now
	o.now = r.Time
	o.access(t, r, v, op, info, flags)
	o.now = now
}

// touch asks, once for each instruction, what an access was.
func (o *Observer) touch(t *thread, r *bpf.Record) Touch {
	if o.opts.Touch == nil {
		return Touch{}
	}
	key := touchKey{ip: r.Extra, object: r.Object, hint: r.Result & touchHints}
	what, ok := t.process.touches[key]
	if !ok {
		what = o.opts.Touch(Trap{
			TGID: r.Tgid, Site: r.Site, IP: r.Extra, Object: r.Object, Kernel: r.Flags&bpf.RecKernel != 0,
			Source: r.Result&bpf.TouchSource != 0, Dest: r.Result&bpf.TouchDest != 0,
		})
		if t.process.touches == nil {
			t.process.touches = map[touchKey]Touch{}
		}
		t.process.touches[key] = what
	}
	return what
}
