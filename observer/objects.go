package observer

import (
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// object is a synchronisation object during its lifetime.
type object struct {
	process          *process // the process in which it is at addr
	addr             uint64
	id               event.ObjectID
	kind             event.Kind
	kindKnown        bool      // a site determines the kind
	unlockedByOther  bool      // a thread other than the holder has called unlock
	holderUncertain  bool      // its holder is uncertain: it was destroyed or initialised while held, or a release is missing
	initialised      bool      // its initialisation was recorded
	private          bool      // that initialisation made it for this process only
	inlined          bool      // the accesses of its word show who acquires and releases it, no calls
	interpreter      *object   // the lock of an interpreter that this is a part of, itself if it is that lock; nil: none
	kindReported     bool      // an event has reported the kind of the rwlock
	ended            bool      // its lifetime is over
	holder           *thread   // the thread that holds it exclusively; nil: none
	shared           []*thread // the threads that hold a rwlock for reading
	waiters          int       // of a condition: threads that were seen to begin a wait and not to end it
	waitersUncertain bool      // of a condition: processes share it, or a thread that waits there was cancelled
	// lastUser is the thread that acquired the lock last, otherUser another one that acquired it
	// before; 0 if there is none.
	lastUser, otherUser event.ThreadID
	acquired            uint64 // when it was acquired last, ns
	// initBy and initSp are the thread and the stack pointer of the call that initialised it,
	// until another operation acts on it; initBy is nil afterwards.
	initBy *thread
	initSp uint64

	attributes bool   // a mutex that was initialised with attributes, so that it may be robust
	permits    uint64 // value of a semaphore as far as it is recorded
	// onceFailed is the thread whose initialiser was left last by an exception or a cancellation; nil:
	// none was.
	onceFailed *thread

	onceDone  bool        // the initialisation by pthread_once is over
	onceUsers []*onceCall // the calls of pthread_once that entered before that
}

// held reports whether a thread holds the lock.
func (obj *object) held() bool { return obj.holder != nil || len(obj.shared) > 0 }

// object returns the live object that a record acts on, and makes it if there is none. Kind
// is the kind of a new object if the site has no kind.
func (l *locks) object(t *thread, r *bpf.Record, kind event.Kind) *object {
	return l.objectAt(t, r, r.Object, kind)
}

func (l *locks) objectAt(t *thread, r *bpf.Record, addr uint64, kind event.Kind) *object {
	obj := l.objectOrAlias(t.process, addr)
	if obj == nil {
		l.emitReused(t, r, addr)
		return l.newObject(t, r, addr, kind)
	}
	obj.initBy = nil
	if !obj.kindKnown || obj.addr != r.Object {
		return obj
	}
	if k := l.site(r).Kind; k != event.KindUnknown && k != obj.kind {
		// The memory was used again: the old object ended without a record.
		l.endObject(t, nil, obj)
		return l.newObject(t, r, addr, kind)
	}
	return obj
}

// objectOrAlias finds the live object at an address, or used at another address of the same memory; nil if
// there is none.
func (l *locks) objectOrAlias(p *process, addr uint64) *object {
	if obj := l.liveObject(p, addr); obj != nil {
		return obj
	}
	return l.sharing.aliased(p, addr)
}

// liveObject finds the live object at an address, nil if there is none.
func (l *locks) liveObject(p *process, addr uint64) *object {
	cached := &l.cache[addr*0x9e3779b97f4a7c15>>52%cachedObjects]
	if obj := *cached; obj != nil && obj.addr == addr && obj.process == p && !obj.ended {
		return obj
	}
	obj := p.objects[addr]
	if obj != nil {
		*cached = obj
	}
	return obj
}

func (l *locks) newObject(t *thread, r *bpf.Record, addr uint64, kind event.Kind) *object {
	sure := false
	if k := l.site(r).Kind; k != event.KindUnknown && addr == r.Object {
		kind, sure = k, true
	}
	id := l.names.addObject(run.Object{Addr: addr, TGID: t.process.id, Kind: kind, Name: l.nameAt(r, addr), First: event.StackID(r.Stack), FirstThread: t.id})
	if old := t.process.objects[addr]; old != nil {
		old.ended = true
	}
	obj := &object{process: t.process, id: id, addr: addr, kind: kind, kindKnown: sure, holderUncertain: l.endedObjects.mayBeHeld(t.process, addr)}
	obj.place()
	if onOwnStack(t, r, addr) {
		if t.ownStack == nil {
			t.ownStack = map[uint64]bool{}
		}
		t.ownStack[addr] = true
	}
	return obj
}

// nameAt returns the name that the site of a record gives to the object at an address.
func (l *locks) nameAt(r *bpf.Record, addr uint64) string {
	if addr != r.Object {
		return ""
	}
	return l.site(r).ObjectName
}

// maxThreadStack is the number of bytes below a thread pointer that are considered to be
// the thread's stack.
const maxThreadStack = 256 << 20

// onOwnStack reports whether addr lies on the stack of the thread: between its stack
// pointer and its thread control block, which glibc and musl put above the stack. An object
// there ends with the thread, even if no call destroyed it (C++'s std::mutex does not call
// pthread_mutex_destroy).
func onOwnStack(t *thread, r *bpf.Record, addr uint64) bool {
	return r.Sp != 0 && addr >= r.Sp && addr < t.tp && t.tp-addr < maxThreadStack && t.createdAt != 0
}

// ObjectInfo returns the description of an object; ok is false for an unknown identifier, or
// one whose name was discarded (Rememberer).
func (o *Observer) ObjectInfo(id event.ObjectID) (obj run.Object, ok bool) {
	if info := o.names.objects[id]; info != nil {
		return *info, true
	}
	return run.Object{}, false
}

// lifetime handles initialisation and destruction. The initialisation of a live object
// makes a new one, whose Init names the old one: programs that initialise again without
// destroying are common.
func (l *locks) lifetime(t *thread, r *bpf.Record) {
	if bpf.Op(r.Op) == bpf.OpDestroy {
		l.destroys(t, r)
		return
	}
	doubted, again := false, event.ObjectID(0)
	if old := l.objectOrAlias(t.process, r.Object); old != nil {
		doubted = old.held()
		if old.initBy == t && r.Sp < old.initSp {
			return // a call within the recorded one: glibc's mtx_init calls pthread_mutex_init
		}
		l.endObject(t, nil, old)
		if old.kind == l.site(r).Kind {
			again = old.id
		}
	}
	obj := l.newObject(t, r, r.Object, event.KindUnknown)
	obj.permits = r.Value
	obj.initBy, obj.initSp, obj.initialised, obj.holderUncertain, obj.private = t, r.Sp, true, doubted, r.Pshared() == 0
	l.names.objects[obj.id].Init = event.StackID(r.Stack)
	e := l.begin(t, r, event.Init)
	e.Object, e.Object2, e.Kind = obj.id, again, obj.kind
	e.Value, e.Flags = r.Value, event.HasValue
	if obj.kind == event.KindMutex {
		obj.attributes = r.Value != 0
		e.Value = min(e.Value, 1) // the record has the address of the attributes; 0: none
	}
	l.send()
}

// destroys handles a call that destroys an object, unless it is part of the last one.
func (l *locks) destroys(t *thread, r *bpf.Record) {
	if t.insideLastCall(r) {
		return
	}
	if obj := l.objectOrAlias(t.process, r.Object); obj != nil {
		l.endObject(t, r, obj)
	} else {
		l.destroyedAgain(t, r)
	}
	l.setLastCall(t, r)
}

// endObject ends the lifetime of an object: the next use of its address is another object.
// Each thread that still holds it releases it. R is the record of its destruction by t; if it
// is nil, the event is inferred and orders nothing.
func (l *locks) endObject(t *thread, r *bpf.Record, obj *object) {
	if r == nil {
		l.endObjectAs(t, nil, obj, event.Inferred)
	} else {
		l.endObjectAs(t, r, obj, 0)
	}
}

// endObjectAs does the same; the event of the end has these flags.
func (l *locks) endObjectAs(t *thread, r *bpf.Record, obj *object, flags event.Flags) {
	l.endedObjects.add(obj, flags)
	if obj.holder != nil {
		l.release(obj.holder, nil, obj, event.Inferred)
	}
	l.releaseShared(obj)
	e := l.begin(t, r, event.Destroy)
	e.Object, e.Kind, e.Flags = obj.id, obj.kind, flags
	l.send()
	obj.ended = true
	obj.remove()
}

// discard discards what is known of the memory of a process.
func (l *locks) discard(p *process) {
	l.endedObjects.removeProcess(p)
	for _, g := range slices.Clone(p.regions) {
		p.leave(g)
	}
	for _, obj := range p.objects {
		obj.ended = true
		l.clock.Drop(obj.id)
	}
	clear(p.objects)
	p.aliases = aliases{}
}
