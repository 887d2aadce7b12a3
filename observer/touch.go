package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Accesses that hardware watchpoints saw. Such a record says that the variable
// was touched, and by which instruction; what it did there is asked of who knows
// the code (Options.Touch), once for an instruction.
//
// One operation may touch a variable several times: the kernel copies into it byte
// by byte, a string instruction likewise, and a variable that lies badly has two
// watchpoints. These are one event, with the value that they leave behind. Whether
// more come is known when something else does: so the access waits for the next
// record of its thread or of its variable.

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
	record bpf.Record
	what   Touch
	parts  int32 // watchpoints that saw it, a bit each
	due    bool  // its event is still to be sent
}

const (
	touchHints = bpf.TouchSource | bpf.TouchDest
	maxPart    = 3
)

func touchPart(r *bpf.Record) int32 { return 1 << (r.Result / bpf.TouchPart & maxPart) }

func touchCount(r *bpf.Record) int32 { return r.Result / bpf.TouchCount }

// touched takes an access that a hardware watchpoint saw.
func (o *Observer) touched(t *thread, r *bpf.Record) {
	p := &t.touch
	if p.due && p.continues(r) {
		p.parts |= touchPart(r)
		p.record = *r
		return
	}
	o.settle(t)
	if v := t.process.vars[r.Object]; v != nil && v.touching != nil {
		o.settle(v.touching)
	}
	p.record, p.what, p.parts, p.due = *r, o.touch(t, r), touchPart(r), true
	o.variable(t, r, o.site(r)).touching = t
}

// continues reports whether a record belongs to the access before it.
func (p *pendingTouch) continues(r *bpf.Record) bool {
	q := &p.record
	same := q.Entered == r.Entered
	if last := p.what.Repeats && r.Entered == p.what.Last; !same && !last {
		return false
	}
	if q.Object != r.Object || q.Sp != r.Sp || (q.Flags^r.Flags)&bpf.RecKernel != 0 {
		return false
	}
	// Each turn of a copy leaves fewer to do, and all are within the variable.
	left, before := touchCount(r), touchCount(q)
	if same && left == before {
		return p.parts&touchPart(r) == 0 && q.Value == r.Value
	}
	return p.what.Repeats && r.Result&touchHints != 0 && left < before && before-left <= maxVariable
}

// maxVariable is the most bytes that a watched variable has.
const maxVariable = 8

// settle sends the access of a thread that waited for what may belong to it.
func (o *Observer) settle(t *thread) {
	p := &t.touch
	if !p.due {
		return
	}
	p.due = false
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
	key := touchKey{ip: r.Entered, object: r.Object, hint: r.Result & touchHints}
	what, ok := t.process.touches[key]
	if !ok {
		what = o.opts.Touch(Trap{
			TGID: r.Tgid, Site: r.Site, IP: r.Entered, Object: r.Object, Kernel: r.Flags&bpf.RecKernel != 0,
			Source: r.Result&bpf.TouchSource != 0, Dest: r.Result&bpf.TouchDest != 0,
		})
		if t.process.touches == nil {
			t.process.touches = map[touchKey]Touch{}
		}
		t.process.touches[key] = what
	}
	return what
}
