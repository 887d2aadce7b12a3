package observer

import (
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// object is a synchronisation object during its lifetime.
type object struct {
	process *process // in which it is at addr
	addr    uint64
	id      event.ObjectID
	kind    event.Kind
	sure    bool      // the kind is what a site says
	handed  bool      // another than the holder has called unlock
	doubted bool      // who holds it is not certain: it may have been destroyed or made anew while it was held, or a release went unseen
	made    bool      // its initialisation was seen,
	private bool      // and that no other process can have made it anew
	told    bool      // an event has told of what kind a rwlock is
	gone    bool      // its lifetime is over
	holder  *thread   // exclusive
	shared  []*thread // readers of a rwlock
	// Until anything else happens to it: the call that made it.
	madeBy *thread
	madeSp uint64

	onceDone  bool
	onceUsers []*oncing
}

// held reports whether a thread holds the lock.
func (obj *object) held() bool { return obj.holder != nil || len(obj.shared) > 0 }

// object returns the live object that a record acts on. Kind is what the operation implies
// where the site has no kind.
func (o *Observer) object(t *thread, r *bpf.Record, kind event.Kind) *object {
	return o.objectAt(t, r, r.Object, kind)
}

func (o *Observer) objectAt(t *thread, r *bpf.Record, addr uint64, kind event.Kind) *object {
	obj := o.objectIf(t.process, addr)
	if obj == nil {
		o.tellReused(t, r, addr)
		return o.newObject(t, r, addr, kind)
	}
	obj.madeBy = nil
	if !obj.sure || addr != r.Object {
		return obj
	}
	if k := o.site(r).Kind; k != event.KindUnknown && k != obj.kind {
		// Memory used again: what was here went without a word.
		o.drop(t, nil, obj)
		return o.newObject(t, r, addr, kind)
	}
	return obj
}

// objectIf finds the live object at an address, nil if there is none.
func (o *Observer) objectIf(p *process, addr uint64) *object {
	near := &o.objectCache[addr*0x9e3779b97f4a7c15>>52%cachedObjects]
	if obj := *near; obj != nil && obj.addr == addr && obj.process == p && !obj.gone {
		return obj
	}
	obj := p.objects[addr]
	if obj != nil {
		*near = obj
	}
	return obj
}

func (o *Observer) newObject(t *thread, r *bpf.Record, addr uint64, kind event.Kind) *object {
	sure := false
	if k := o.site(r).Kind; k != event.KindUnknown && addr == r.Object {
		kind, sure = k, true
	}
	id := o.names.addObject(run.Object{Addr: addr, TGID: t.process.id, Kind: kind, First: event.StackID(r.Stack), FirstThread: t.id})
	if old := t.process.objects[addr]; old != nil {
		old.gone = true
	}
	obj := &object{process: t.process, id: id, addr: addr, kind: kind, sure: sure, doubted: o.graves.held(t.process, addr)}
	t.process.objects[addr] = obj
	t.process.born(addr)
	if onOwnStack(t, r, addr) {
		if t.ownStack == nil {
			t.ownStack = map[uint64]bool{}
		}
		t.ownStack[addr] = true
	}
	return obj
}

// maxThreadStack bounds the part of the address space below a thread pointer
// that is taken for the thread's stack.
const maxThreadStack = 256 << 20

// onOwnStack reports whether addr lies on the stack of the thread: between its
// stack pointer and its thread control block, which glibc and musl put above
// the stack. Its next user has another object there, though nobody destroyed
// this one (C++'s std::mutex calls no destructor of pthread's).
func onOwnStack(t *thread, r *bpf.Record, addr uint64) bool {
	return r.Sp != 0 && addr >= r.Sp && addr < t.tp && t.tp-addr < maxThreadStack && t.born != 0
}

// ObjectInfo returns what is known of an object; ok is false for an unknown identifier, or
// one whose name was discarded (Rememberer).
func (o *Observer) ObjectInfo(id event.ObjectID) (obj run.Object, ok bool) {
	if info := o.names.objects[id]; info != nil {
		return *info, true
	}
	return run.Object{}, false
}

// lifetime handles initialisation and destruction. The initialisation of a live object
// makes a new one: programs that initialise again without destroying are common.
func (o *Observer) lifetime(t *thread, r *bpf.Record) {
	if bpf.Op(r.Op) == bpf.OpDestroy {
		if obj := t.process.objects[r.Object]; obj != nil {
			o.drop(t, r, obj)
		}
		return
	}
	doubted := false
	if old := t.process.objects[r.Object]; old != nil {
		doubted = old.held()
		if old.madeBy == t && r.Sp < old.madeSp {
			return // within the call that we know: glibc's mtx_init calls pthread_mutex_init
		}
		o.drop(t, nil, old)
	}
	obj := o.newObject(t, r, r.Object, event.KindUnknown)
	obj.madeBy, obj.madeSp, obj.made, obj.doubted, obj.private = t, r.Sp, true, doubted, r.Extra == 0
	o.names.objects[obj.id].Init = event.StackID(r.Stack)
	e := o.begin(t, r, event.Init)
	e.Object, e.Kind = obj.id, obj.kind
	e.Value, e.Flags = r.Value, event.HasValue
	if obj.kind == event.KindMutex {
		e.Value = min(e.Value, 1) // where its attributes are
	}
	o.send()
}

// drop ends the lifetime of an object: the next use of its address is another object.
// Whoever still holds it releases it. The record is that of its destruction by t; if it is
// nil, the event is inferred and orders nothing.
func (o *Observer) drop(t *thread, r *bpf.Record, obj *object) {
	o.graves.bury(obj, r != nil)
	if obj.holder != nil {
		o.letGo(obj.holder, nil, obj, event.Inferred)
	}
	o.releaseShared(obj)
	e := o.begin(t, r, event.Destroy)
	e.Object, e.Kind = obj.id, obj.kind
	if r == nil {
		e.Flags = event.Inferred
	}
	o.send()
	obj.gone = true
	if obj.process.objects[obj.addr] == obj {
		delete(obj.process.objects, obj.addr)
		obj.process.died(obj.addr)
	}
}

// oncing is a call of pthread_once under way; see onceCall.
type oncing struct {
	obj    *object
	thread *thread
	sp     uint64
	nested bool // the thread made other events since it entered
	done   bool // told already: it is the initialiser, though another left first
	outer  *oncing
}

// onceCall handles pthread_once and the static guards of C++.
//
// A guard shows which thread initialised. pthread_once does not: the first thread to leave
// is taken for the initialiser, unless another that is inside has made events since it
// entered, which only an initialiser does.
func (o *Observer) onceCall(t *thread, r *bpf.Record) {
	obj := o.object(t, r, event.KindOnce)
	leave := r.Flags&bpf.RecLeave != 0
	switch bpf.Op(r.Op) {
	case bpf.OpGuardAcquire:
		if r.Result == 0 {
			o.emitOn(t, r, event.OnceLeave, obj)
		} else {
			o.emitOn(t, r, event.OnceEnter, obj)
		}
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

// passedGuard serves a look at the guard of a static object that finds it made: compilers
// look themselves and call __cxa_guard_acquire only if it is not. It reports whether the
// record was one.
func (o *Observer) passedGuard(t *thread, r *bpf.Record) bool {
	if bpf.Op(r.Op) != bpf.OpRead || r.Flags&bpf.RecValue == 0 || r.Value&1 == 0 {
		return false
	}
	obj := o.objectIf(t.process, r.Object)
	if obj == nil || obj.kind != event.KindOnce {
		return false
	}
	o.emitOn(t, r, event.OnceLeave, obj)
	return true
}

// insideOnce serves a record of a thread that is, as far as we know, inside
// calls of pthread_once.
func (t *thread) insideOnce(r *bpf.Record) {
	for t.once != nil && t.once.sp <= r.Sp {
		t.once.abandon() // its frame is gone, so it was unwound
		t.once = t.once.outer
	}
	if t.once != nil && r.Sp != 0 {
		t.once.nested = true
	}
}

func (o *Observer) onceEntered(t *thread, r *bpf.Record, obj *object) {
	t.insideOnce(r)
	t.once = &oncing{obj: obj, thread: t, sp: r.Sp, outer: t.once}
	if !obj.onceDone {
		obj.onceUsers = append(obj.onceUsers, t.once)
	}
	o.emitOn(t, r, event.OnceEnter, obj)
}

// abandon takes a call that does not return out of the question of who
// initialised.
func (c *oncing) abandon() {
	c.obj.onceUsers = slices.DeleteFunc(c.obj.onceUsers, func(u *oncing) bool { return u == c })
}

func (o *Observer) onceLeft(t *thread, r *bpf.Record, obj *object) {
	own := t.once
	for own != nil && own.sp < r.Sp {
		own.abandon() // frames between were unwound
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
	o.emitOn(initialiser.thread, r, event.OnceDone, obj)
	if initialiser != own {
		o.emitOn(t, r, event.OnceLeave, obj)
	}
}
