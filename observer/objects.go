package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Object is what reports may say of an object.
type Object struct {
	Addr        uint64
	Kind        event.Kind
	Variable    string // name of a watched variable
	Init        event.PlaceID
	First       event.PlaceID // where it was first seen
	FirstThread event.ThreadID
}

// object is a synchronisation object during its lifetime.
type object struct {
	id     event.ObjectID
	addr   uint64
	kind   event.Kind
	holder *thread   // exclusive
	shared []*thread // readers of a rwlock

	onceDone  bool
	onceUsers []*oncing
}

// object gives the live object that a record acts on; kind is what the
// operation implies where the site does not say.
func (o *Observer) object(r *bpf.Record, kind event.Kind) *object {
	return o.objectAt(r, r.Object, kind)
}

func (o *Observer) objectAt(r *bpf.Record, addr uint64, kind event.Kind) *object {
	if obj := o.objects[addr]; obj != nil {
		return obj
	}
	return o.newObject(r, addr, kind)
}

func (o *Observer) newObject(r *bpf.Record, addr uint64, kind event.Kind) *object {
	if k := o.site(r).Kind; k != event.KindUnknown && addr == r.Object {
		kind = k
	}
	t := o.thread(r)
	o.objInfos = append(o.objInfos, Object{Addr: addr, Kind: kind, First: event.PlaceID(r.Place), FirstThread: t.id})
	obj := &object{id: event.ObjectID(len(o.objInfos)), addr: addr, kind: kind}
	o.objects[addr] = obj
	if onOwnStack(t, r, addr) {
		t.ownStack = append(t.ownStack, obj)
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

// forget ends an object's lifetime: the next use of the address is another.
func (o *Observer) forget(obj *object) {
	if o.objects[obj.addr] == obj {
		delete(o.objects, obj.addr)
	}
}

// ObjectInfo gives what is known of an object; ok is false for an unknown id.
func (o *Observer) ObjectInfo(id event.ObjectID) (obj Object, ok bool) {
	if id == 0 || int(id) > len(o.objInfos) {
		return Object{}, false
	}
	return o.objInfos[id-1], true
}

// lifetime serves init and destroy. An init of a live object is a new one:
// programs that re-initialise without destroying are common.
func (o *Observer) lifetime(t *thread, r *bpf.Record) {
	if bpf.Op(r.Op) == bpf.OpDestroy {
		if obj := o.objects[r.Object]; obj != nil {
			o.emitOn(t, r, event.Destroy, obj)
			o.drop(obj)
		}
		return
	}
	if old := o.objects[r.Object]; old != nil {
		o.drop(old)
	}
	obj := o.newObject(r, r.Object, event.KindUnknown)
	o.objInfos[obj.id-1].Init = event.PlaceID(r.Place)
	e := o.begin(t, r, event.Init)
	e.Object, e.Kind = obj.id, obj.kind
	e.Value, e.Flags = r.Value, event.HasValue
	o.send()
}

// drop forgets an object and takes it from whoever still holds it.
func (o *Observer) drop(obj *object) {
	if obj.holder != nil {
		obj.holder.unhold(obj)
	}
	for _, t := range obj.shared {
		t.unhold(obj)
	}
	o.forget(obj)
}

// onceDoneCall and its kin: see onceCall.
type oncing struct {
	obj    *object
	thread *thread
	sp     uint64
	nested bool // the thread made other events since it entered
	outer  *oncing
}

// onceCall serves pthread_once and C++'s static guards.
//
// A guard says who initialised. pthread_once does not: the first to leave is
// taken for the initialiser, unless another that is inside has made events
// since it entered, which only an initialiser does.
func (o *Observer) onceCall(t *thread, r *bpf.Record) {
	obj := o.object(r, event.KindOnce)
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
		if t.once != nil {
			t.once.nested = true
		}
		t.once = &oncing{obj: obj, thread: t, sp: r.Sp, outer: t.once}
		obj.onceUsers = append(obj.onceUsers, t.once)
		o.emitOn(t, r, event.OnceEnter, obj)
	}
}

func (o *Observer) onceLeft(t *thread, r *bpf.Record, obj *object) {
	own := t.once
	for own != nil && own.sp != r.Sp {
		own = own.outer // frames between were unwound
	}
	if own == nil {
		return
	}
	t.once = own.outer
	if obj.onceDone {
		o.emitOn(t, r, event.OnceLeave, obj)
		return
	}
	obj.onceDone = true
	initialiser := own
	for _, u := range obj.onceUsers {
		if u.nested && !own.nested && !u.thread.ended {
			initialiser = u
		}
	}
	obj.onceUsers = nil
	o.emitOn(initialiser.thread, r, event.OnceDone, obj)
	if initialiser != own {
		o.emitOn(t, r, event.OnceLeave, obj)
	}
}
