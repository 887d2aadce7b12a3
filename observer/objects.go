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
func (o *Observer) object(t *thread, r *bpf.Record, kind event.Kind) *object {
	return o.objectAt(t, r, r.Object, kind)
}

func (o *Observer) objectAt(t *thread, r *bpf.Record, addr uint64, kind event.Kind) *object {
	obj := o.objectOrAlias(t.process, addr)
	if obj == nil {
		o.emitReused(t, r, addr)
		return o.newObject(t, r, addr, kind)
	}
	obj.initBy = nil
	if !obj.kindKnown || obj.addr != r.Object {
		return obj
	}
	if k := o.site(r).Kind; k != event.KindUnknown && k != obj.kind {
		// The memory was used again: the old object ended without a record.
		o.endObject(t, nil, obj)
		return o.newObject(t, r, addr, kind)
	}
	return obj
}

// objectOrAlias finds the live object at an address, or used at another address of the same memory; nil if
// there is none.
func (o *Observer) objectOrAlias(p *process, addr uint64) *object {
	if obj := o.liveObject(p, addr); obj != nil {
		return obj
	}
	return o.sharing.aliased(p, addr)
}

// liveObject finds the live object at an address, nil if there is none.
func (o *Observer) liveObject(p *process, addr uint64) *object {
	cached := &o.objectCache[addr*0x9e3779b97f4a7c15>>52%cachedObjects]
	if obj := *cached; obj != nil && obj.addr == addr && obj.process == p && !obj.ended {
		return obj
	}
	obj := p.objects[addr]
	if obj != nil {
		*cached = obj
	}
	return obj
}

func (o *Observer) newObject(t *thread, r *bpf.Record, addr uint64, kind event.Kind) *object {
	sure := false
	if k := o.site(r).Kind; k != event.KindUnknown && addr == r.Object {
		kind, sure = k, true
	}
	id := o.names.addObject(run.Object{Addr: addr, TGID: t.process.id, Kind: kind, Name: o.nameAt(r, addr), First: event.StackID(r.Stack), FirstThread: t.id})
	if old := t.process.objects[addr]; old != nil {
		old.ended = true
	}
	obj := &object{process: t.process, id: id, addr: addr, kind: kind, kindKnown: sure, holderUncertain: o.endedObjects.mayBeHeld(t.process, addr)}
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
func (o *Observer) nameAt(r *bpf.Record, addr uint64) string {
	if addr != r.Object {
		return ""
	}
	return o.site(r).ObjectName
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
func (o *Observer) lifetime(t *thread, r *bpf.Record) {
	if bpf.Op(r.Op) == bpf.OpDestroy {
		o.destroys(t, r)
		return
	}
	doubted, again := false, event.ObjectID(0)
	if old := o.objectOrAlias(t.process, r.Object); old != nil {
		doubted = old.held()
		if old.initBy == t && r.Sp < old.initSp {
			return // a call within the recorded one: glibc's mtx_init calls pthread_mutex_init
		}
		o.endObject(t, nil, old)
		if old.kind == o.site(r).Kind {
			again = old.id
		}
	}
	obj := o.newObject(t, r, r.Object, event.KindUnknown)
	obj.permits = r.Value
	obj.initBy, obj.initSp, obj.initialised, obj.holderUncertain, obj.private = t, r.Sp, true, doubted, r.Pshared() == 0
	o.names.objects[obj.id].Init = event.StackID(r.Stack)
	e := o.begin(t, r, event.Init)
	e.Object, e.Object2, e.Kind = obj.id, again, obj.kind
	e.Value, e.Flags = r.Value, event.HasValue
	if obj.kind == event.KindMutex {
		obj.attributes = r.Value != 0
		e.Value = min(e.Value, 1) // the record has the address of the attributes; 0: none
	}
	o.send()
}

// destroys handles a call that destroys an object, unless it is part of the last one.
func (o *Observer) destroys(t *thread, r *bpf.Record) {
	if t.insideLastCall(r) {
		return
	}
	if obj := o.objectOrAlias(t.process, r.Object); obj != nil {
		o.endObject(t, r, obj)
	} else {
		o.destroyedAgain(t, r)
	}
	o.setLastCall(t, r)
}

// endObject ends the lifetime of an object: the next use of its address is another object.
// Each thread that still holds it releases it. R is the record of its destruction by t; if it
// is nil, the event is inferred and orders nothing.
func (o *Observer) endObject(t *thread, r *bpf.Record, obj *object) {
	if r == nil {
		o.endObjectAs(t, nil, obj, event.Inferred)
	} else {
		o.endObjectAs(t, r, obj, 0)
	}
}

// endObjectAs does the same; the event of the end has these flags.
func (o *Observer) endObjectAs(t *thread, r *bpf.Record, obj *object, flags event.Flags) {
	o.endedObjects.add(obj, flags)
	if obj.holder != nil {
		o.release(obj.holder, nil, obj, event.Inferred)
	}
	o.releaseShared(obj)
	e := o.begin(t, r, event.Destroy)
	e.Object, e.Kind, e.Flags = obj.id, obj.kind, flags
	o.send()
	obj.ended = true
	obj.remove()
}

// onceCall is a call of pthread_once that has not returned; see onceRecord.
type onceCall struct {
	obj    *object
	thread *thread
	sp     uint64
	nested bool      // the thread has made other events since it entered
	done   bool      // its OnceDone was sent when another thread left first
	outer  *onceCall // the call of the same thread around this one; nil: none
}

// onceRecord handles pthread_once and the static guards of C++.
//
// A guard shows which thread initialised. pthread_once does not: the first thread to leave
// is considered the initialiser, unless another thread inside has made events since it
// entered, which only an initialiser does.
func (o *Observer) onceRecord(t *thread, r *bpf.Record) {
	obj := o.object(t, r, event.KindOnce)
	leave := r.Flags&bpf.RecLeave != 0
	switch bpf.Op(r.Op) {
	case bpf.OpGuardAcquire:
		if r.Result == 0 {
			o.emitOn(t, r, event.OnceLeave, obj)
		} else {
			o.beginsAgain(t, r, obj)
			o.emitOn(t, r, event.OnceEnter, obj)
		}
	case bpf.OpGuardAbort:
		o.failedOnce(t, obj)
	case bpf.OpGuardRelease:
		o.emitOn(t, r, event.OnceDone, obj)
	case bpf.OpOnce:
		if leave {
			o.onceLeft(t, r, obj)
			return
		}
		o.onceEntered(t, r, obj)
	}
}

// passedGuard handles a read of the guard of a static C++ object that is initialised already.
// Compiled code tests the guard itself and calls __cxa_guard_acquire only if the object
// is not initialised. It reports whether the record is such a read.
func (o *Observer) passedGuard(t *thread, r *bpf.Record) bool {
	if bpf.Op(r.Op) != bpf.OpRead || r.Flags&bpf.RecValue == 0 || r.Value&1 == 0 {
		return false
	}
	obj := o.liveObject(t.process, r.Object)
	if obj == nil || obj.kind != event.KindOnce {
		return false
	}
	o.emitOn(t, r, event.OnceLeave, obj)
	return true
}

// insideOnce handles a record of a thread that has not been seen to leave all its calls of
// pthread_once: it removes the calls whose frames are gone.
func (o *Observer) insideOnce(t *thread, r *bpf.Record) {
	for t.once != nil && t.once.sp <= r.Sp {
		o.abandonOnce(t.once) // an exception or a cancellation unwound its frame
		t.once = t.once.outer
	}
	if t.once != nil && r.Sp != 0 && !t.once.nested {
		t.once.nested = true
		o.initialises(t, r, t.once.obj)
	}
}

// initialises handles the first event of t within an initialiser. Only one runs at a time: if another
// thread began one before, that has ended, and t comes after it.
func (o *Observer) initialises(t *thread, r *bpf.Record, obj *object) {
	if obj.onceDone {
		return
	}
	for _, u := range slices.Clone(obj.onceUsers) {
		if u.nested && u.thread != t {
			o.abandonOnce(u)
		}
	}
	o.beginsAgain(t, r, obj)
}

// abandonOnce handles that a call of pthread_once has been left, or will be, without its return.
func (o *Observer) abandonOnce(c *onceCall) {
	initialised := slices.Contains(c.obj.onceUsers, c) && c.nested
	c.abandon()
	if initialised && !c.obj.ended {
		o.failedOnce(c.thread, c.obj)
	}
}

// failedOnce sends an inferred OnceDone: an initialiser was left by an exception or a cancellation.
func (o *Observer) failedOnce(t *thread, obj *object) {
	obj.onceFailed = t
	e := o.begin(t, nil, event.OnceDone)
	e.Object, e.Kind, e.Flags = obj.id, obj.kind, event.Inferred
	o.send()
}

// beginsAgain sends an inferred OnceLeave if t runs the initialiser after that of another thread failed,
// which must come before.
func (o *Observer) beginsAgain(t *thread, r *bpf.Record, obj *object) {
	if obj.onceFailed == nil || obj.onceFailed == t {
		return
	}
	e := o.begin(t, r, event.OnceLeave)
	e.Object, e.Kind, e.Flags, e.Stack = obj.id, obj.kind, event.Inferred, 0
	o.send()
}

func (o *Observer) onceEntered(t *thread, r *bpf.Record, obj *object) {
	o.insideOnce(t, r)
	t.once = &onceCall{obj: obj, thread: t, sp: r.Sp, outer: t.once}
	if !obj.onceDone {
		obj.onceUsers = append(obj.onceUsers, t.once)
	}
	o.emitOn(t, r, event.OnceEnter, obj)
}

// abandon removes a call that will not return from the candidates for the initialiser.
func (c *onceCall) abandon() {
	c.obj.onceUsers = slices.DeleteFunc(c.obj.onceUsers, func(u *onceCall) bool { return u == c })
}

func (o *Observer) onceLeft(t *thread, r *bpf.Record, obj *object) {
	own := t.once
	for own != nil && own.sp < r.Sp {
		o.abandonOnce(own) // an exception or a cancellation unwound its frame
		own = own.outer
	}
	t.once = own
	if own == nil || own.sp != r.Sp || own.obj != obj {
		return
	}
	t.once = own.outer
	if obj.onceDone {
		if !own.done {
			o.emitOn(t, r, event.OnceLeave, obj)
		}
		return
	}
	obj.onceDone = true
	initialiser := own
	for _, u := range obj.onceUsers {
		if u.nested && !own.nested {
			initialiser = u
		}
	}
	obj.onceUsers = nil
	initialiser.done = true
	if !initialiser.nested {
		o.beginsAgain(initialiser.thread, nil, obj)
	}
	o.emitOn(initialiser.thread, r, event.OnceDone, obj)
	if initialiser != own {
		o.emitOn(t, r, event.OnceLeave, obj)
	}
}
