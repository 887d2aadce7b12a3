package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Held is a lock that a thread holds.
type Held struct {
	Object event.ObjectID
	Kind   event.Kind
	Addr   uint64
	Shared bool // for reading
}

// Live is a thread that lives.
type Live struct {
	Thread    event.ThreadID
	TID, TGID uint32
	Pointer   uint64 // its thread pointer; 0 if unknown
	Holds     []Held
	Cond      uint64 // the condition that it waits on, 0: none
}

// Living returns the threads that live, in order of creation, with what they hold as
// far as that was seen.
func (o *Observer) Living() []Live {
	var out []Live
	for _, t := range o.living() {
		l := Live{Thread: t.id, TID: t.tid, TGID: t.process.id, Pointer: t.tp}
		for i := range t.held {
			obj := t.held[i].obj
			l.Holds = append(l.Holds, Held{Object: obj.id, Kind: obj.kind, Addr: obj.addr, Shared: obj.holder != t})
		}
		if t.wait != nil {
			l.Cond = t.wait.cond.addr
		}
		out = append(out, l)
	}
	return out
}

// Still reports whether something may hang: a thread that holds a lock or waits, or all
// threads, made no event since event number since. It returns the number of the last
// event, to be passed the next time.
func (o *Observer) Still(since uint64) (still bool, last uint64) {
	all := len(o.threads) > 0
	for _, t := range o.threads {
		switch {
		case t.seen > since:
			all = false
		case len(t.held) > 0 || t.wait != nil:
			return true, o.stats.Events
		}
	}
	return all, o.stats.Events
}

// ObjectAt returns the kind of the live object at an address of a process; ok is false
// if none was seen there.
func (o *Observer) ObjectAt(tgid uint32, addr uint64) (kind event.Kind, ok bool) {
	p := o.processes[tgid]
	if p == nil {
		return 0, false
	}
	if obj := p.objects[addr]; obj != nil {
		return obj.kind, true
	}
	return 0, false
}

// Block is a thread that was found to wait.
type Block struct {
	TID, TGID uint32
	Op        event.Op   // what it attempts, see event.Attempt
	Ring      bool       // likewise
	Handlers  bool       // likewise
	Addr      uint64     // of what it waits for; 0: unknown, or a thread
	Kind      event.Kind // of that, where no event has told
	Readers   int        // likewise
	Flags     event.Flags
	Peer      uint32   // kernel's id of the thread that it waits for the end of
	Stack     []uint64 // its calling chain, innermost first
	Start     uint64   // address of its start routine, as the chain tells; 0: it does not
	// Holds are addresses of mutexes that others wait for and that it holds by
	// what stands in them: it may have taken them before the observation began.
	Holds []uint64
}

// Blocked makes events of threads that were found at t (CLOCK_MONOTONIC, ns) to block
// each other for ever, or to wait for nobody. Between their Holds and Blocked there
// are no other events.
func (o *Observer) Blocked(at uint64, all []Block) {
	o.now = max(o.now, at)
	waits := make([]waiter, len(all))
	for i, b := range all { // first: what one holds may be named by where another waits for it
		waits[i] = o.waiter(b)
	}
	for i, b := range all {
		r, t, obj := &waits[i].record, waits[i].thread, waits[i].object
		o.holds(t, b)
		peer := o.peer(b)
		e := o.begin(t, r, event.Blocked)
		e.Value, e.Flags, e.Peer = event.Attempt{Op: b.Op, Following: len(all) - 1 - i, Cycle: b.Ring, Handlers: b.Handlers, Readers: b.Readers}.Value(), b.Flags|event.HasValue|event.Inferred, peer
		if obj != nil {
			e.Object, e.Kind = obj.id, obj.kind
		}
		o.send()
	}
}

// Sighting is what a Block speaks of, by the identifiers of the run.
type Sighting struct {
	Thread event.ThreadID
	Object event.ObjectID // 0 without an address
	Peer   event.ThreadID // 0 without one
	Place  event.StackID  // 0 without a chain
}

// Seen returns the identifiers of what Blocks speak of, without making events. A thread
// that is not known has ended since, and must not come back: its Sighting is empty.
func (o *Observer) Seen(at uint64, all []Block) []Sighting {
	o.now = max(o.now, at)
	out := make([]Sighting, len(all))
	for i, b := range all {
		if o.threads[b.TID] == nil {
			continue
		}
		w := o.waiter(b)
		out[i] = Sighting{Thread: w.thread.id, Peer: o.peer(b), Place: event.StackID(w.record.Stack)}
		if w.object != nil {
			out[i].Object = w.object.id
		}
	}
	return out
}

func (o *Observer) peer(b Block) event.ThreadID {
	if u := o.threads[b.Peer]; b.Peer != 0 && u != nil {
		return u.id
	}
	return 0
}

// waiter is a Block with the identifiers of what it speaks of.
type waiter struct {
	record bpf.Record
	thread *thread
	object *object // nil without an address
}

func (o *Observer) waiter(b Block) waiter {
	w := waiter{record: bpf.Record{Time: o.now, Tid: b.TID, Tgid: b.TGID, Object: b.Addr, Stack: uint32(o.foundPlace(b))}}
	w.thread = o.thread(&w.record)
	if info := o.names.threads[w.thread.id]; info != nil && info.StartAddr == 0 && b.TID != b.TGID {
		info.StartAddr = b.Start
	}
	if b.Addr != 0 {
		w.object = o.object(w.thread, &w.record, b.Kind)
	}
	return w
}

// holds tells what a thread holds that waits.
func (o *Observer) holds(t *thread, b Block) {
	for _, addr := range b.Holds {
		if h := t.process.objects[addr]; h == nil || t.holding(h) == nil {
			obj := o.objectAt(t, &bpf.Record{Time: o.now, Tid: b.TID, Tgid: b.TGID}, addr, event.KindMutex)
			o.held(t, obj, event.Acquire, 0)
		}
	}
	for _, h := range t.held {
		op := event.AcquireRead
		if h.obj.holder == t {
			op = event.Acquire
		}
		o.held(t, h.obj, op, h.place)
	}
}

func (o *Observer) held(t *thread, obj *object, op event.Op, place event.StackID) {
	e := o.begin(t, nil, event.Holds)
	e.Object, e.Kind, e.Stack = obj.id, obj.kind, place
	e.Value, e.Flags = uint64(op), event.HasValue|event.Inferred
	o.send()
}

// foundPlaces is the first number of stacks that no record has: the BPF programs count
// theirs from 1.
const foundPlaces = 1 << 31

// foundPlace keeps the calling chain of a thread that waits, and numbers it; 0 without one.
func (o *Observer) foundPlace(b Block) event.StackID {
	if len(b.Stack) == 0 || len(o.stacks) >= maxStacks {
		return 0
	}
	o.foundPlaces++
	id := event.StackID(foundPlaces + o.foundPlaces)
	o.stacks[id] = Stack{TGID: b.TGID, Found: b.Stack}
	return id
}
