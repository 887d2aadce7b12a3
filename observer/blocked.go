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

// LiveThread is a thread that has not ended.
type LiveThread struct {
	Thread    event.ThreadID
	TID, TGID uint32
	Pointer   uint64 // its thread pointer; 0 if unknown
	Holds     []Held
	Cond      uint64 // address of the condition variable that it waits on; 0: none
}

// Living returns the threads that have not ended, in order of creation, with the locks that
// they were seen to acquire and hold.
func (o *Observer) Living() []LiveThread {
	var out []LiveThread
	for _, t := range o.threads.living() {
		l := LiveThread{Thread: t.id, TID: t.tid, TGID: t.process.id, Pointer: t.tp}
		for i := range t.held {
			obj := t.held[i].obj
			l.Holds = append(l.Holds, Held{Object: obj.id, Kind: obj.kind, Addr: obj.addr, Shared: obj.holder != t})
		}
		if t.condWait != nil {
			l.Cond = t.condWait.cond.addr
		}
		out = append(out, l)
	}
	return out
}

// Stalled reports whether the process may hang: all threads, or one that holds a lock or
// waits on a condition, made no event after event number since. It also returns the number
// of the last event, which the caller passes to the next call.
func (o *Observer) Stalled(since uint64) (still bool, last uint64) {
	all := len(o.threads.live) > 0
	for _, t := range o.threads.live {
		switch {
		case t.lastEvent > since:
			all = false
		case t.holdsMore() || t.condWait != nil:
			return true, o.stats.Events
		}
	}
	return all, o.stats.Events
}

// LastEvent returns the number of the last event of the run when the last record of a thread had
// been handled. It returns false if the thread has ended, or was never seen.
func (o *Observer) LastEvent(tid uint32) (number uint64, lives bool) {
	if t := o.threads.live[tid]; t != nil {
		return t.lastEvent, true
	}
	return 0, false
}

// ObjectAt returns the kind of the live object at an address of a process; ok is false
// if none was seen there.
func (o *Observer) ObjectAt(tgid uint32, addr uint64) (kind event.Kind, ok bool) {
	p := o.threads.processes[tgid]
	if p == nil {
		return 0, false
	}
	if obj := p.objects[addr]; obj != nil {
		return obj.kind, true
	}
	return 0, false
}

// BlockedThread describes a thread that was found waiting.
type BlockedThread struct {
	TID, TGID uint32
	Op        event.Op   // the operation that it attempts; see event.Attempt
	Cycle     bool       // event.Attempt.Cycle
	Handlers  bool       // event.Attempt.Handlers
	Addr      uint64     // address of the object that it waits for; 0: unknown, or a thread
	Kind      event.Kind // kind of that object, used if no event has shown it
	Readers   int        // event.Attempt.Readers
	Flags     event.Flags
	Peer      uint32   // kernel's id of the thread whose end it waits for; 0: none
	Stack     []uint64 // the addresses of its call stack, innermost first
	Start     uint64   // address of its start routine, found on the stack; 0 if unknown
	// Holds are the addresses of mutexes that other threads wait for and whose memory
	// names this thread as the owner. It may have acquired them before the observation
	// began.
	Holds []uint64
}

// Blocked makes the events of one hang, found at a time in ns of CLOCK_MONOTONIC: its
// threads form a cycle, or one waits for a lock whose holder has ended, or all threads of
// the process wait. No other events lie between the Holds and Blocked events of a hang.
func (o *Observer) Blocked(at uint64, all []BlockedThread) {
	o.now = max(o.now, at)
	waits := make([]waiter, len(all))
	// All waits come first: the stack of one may name an object that another thread holds.
	for i, b := range all {
		waits[i] = o.waiter(b)
	}
	for i, b := range all {
		r, t, obj := &waits[i].record, waits[i].thread, waits[i].object
		o.holds(t, b)
		peer := o.peer(b)
		e := o.begin(t, r, event.Blocked)
		e.Value, e.Flags, e.Peer = event.Attempt{Op: b.Op, Following: len(all) - 1 - i, Cycle: b.Cycle, Handlers: b.Handlers, Readers: b.Readers}.Value(), b.Flags|event.HasValue|event.Inferred, peer
		if obj != nil {
			e.Object, e.Kind = obj.id, obj.kind
		}
		o.send()
	}
}

// BlockedIDs has the identifiers of the thread, object, peer and call stack of a
// BlockedThread.
type BlockedIDs struct {
	Thread event.ThreadID
	Object event.ObjectID // 0 if the BlockedThread has no address
	Peer   event.ThreadID // 0 if the BlockedThread has no peer
	Stack  event.StackID  // 0 if the BlockedThread has no call stack
}

// Identify returns the BlockedIDs of each BlockedThread, at a time in ns of
// CLOCK_MONOTONIC, without making events for the waits. A thread that is unknown has ended
// in the meantime, and must not be added again: its BlockedIDs are empty.
func (o *Observer) Identify(at uint64, all []BlockedThread) []BlockedIDs {
	o.now = max(o.now, at)
	out := make([]BlockedIDs, len(all))
	for i, b := range all {
		if o.threads.live[b.TID] == nil {
			continue
		}
		w := o.waiter(b)
		out[i] = BlockedIDs{Thread: w.thread.id, Peer: o.peer(b), Stack: event.StackID(w.record.Stack)}
		if w.object != nil {
			out[i].Object = w.object.id
		}
	}
	return out
}

func (o *Observer) peer(b BlockedThread) event.ThreadID {
	if u := o.threads.live[b.Peer]; b.Peer != 0 && u != nil {
		return u.id
	}
	return 0
}

// waiter has the thread and the object of a BlockedThread, and a record made for its
// events.
type waiter struct {
	record bpf.Record
	thread *thread
	object *object // nil if the BlockedThread has no address
}

func (o *Observer) waiter(b BlockedThread) waiter {
	w := waiter{record: bpf.Record{Time: o.now, Tid: b.TID, Tgid: b.TGID, Object: b.Addr, Stack: uint32(o.stacks.addFound(Stack{TGID: b.TGID, Found: b.Stack}))}}
	w.thread = o.threads.of(&w.record)
	if info := o.names.threads[w.thread.id]; info != nil && info.StartAddr == 0 && b.TID != b.TGID {
		info.StartAddr = b.Start
	}
	if b.Addr != 0 {
		w.object = o.locks.object(w.thread, &w.record, b.Kind)
	}
	return w
}

// holds sends a Holds event for each lock that a waiting thread holds.
func (o *Observer) holds(t *thread, b BlockedThread) {
	for _, addr := range b.Holds {
		if h := t.process.objects[addr]; h == nil || t.holding(h) == nil {
			obj := o.locks.objectAt(t, &bpf.Record{Time: o.now, Tid: b.TID, Tgid: b.TGID}, addr, event.KindMutex)
			o.held(t, obj, event.Acquire, 0)
		}
	}
	for _, h := range t.held {
		op := event.AcquireRead
		if h.obj.holder == t {
			op = event.Acquire
		}
		o.held(t, h.obj, op, h.stack)
	}
}

func (o *Observer) held(t *thread, obj *object, op event.Op, stack event.StackID) {
	e := o.begin(t, nil, event.Holds)
	e.Object, e.Kind, e.Stack = obj.id, obj.kind, stack
	e.Value, e.Flags = uint64(op), event.HasValue|event.Inferred
	o.send()
}
