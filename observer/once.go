package observer

import (
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// onceCalls follows initialisations that happen once: pthread_once, and the static guards of C++. What it knows is with
// the threads and the objects.
type onceCalls struct {
	*core
	locks *locks
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
func (oc *onceCalls) onceRecord(t *thread, r *bpf.Record) {
	obj := oc.locks.object(t, r, event.KindOnce)
	leave := r.Flags&bpf.RecLeave != 0
	switch bpf.Op(r.Op) {
	case bpf.OpGuardAcquire:
		if r.Result == 0 {
			oc.emitOn(t, r, event.OnceLeave, obj)
		} else {
			oc.beginsAgain(t, r, obj)
			oc.emitOn(t, r, event.OnceEnter, obj)
		}
	case bpf.OpGuardAbort:
		oc.failedOnce(t, obj)
	case bpf.OpGuardRelease:
		oc.emitOn(t, r, event.OnceDone, obj)
	case bpf.OpOnce:
		if leave {
			oc.onceLeft(t, r, obj)
			return
		}
		oc.onceEntered(t, r, obj)
	}
}

// passedGuard handles a read of the guard of a static C++ object that is initialised already.
// Compiled code tests the guard itself and calls __cxa_guard_acquire only if the object
// is not initialised. It reports whether the record is such a read.
func (oc *onceCalls) passedGuard(t *thread, r *bpf.Record) bool {
	if bpf.Op(r.Op) != bpf.OpRead || r.Flags&bpf.RecValue == 0 || r.Value&1 == 0 {
		return false
	}
	obj := oc.locks.liveObject(t.process, r.Object)
	if obj == nil || obj.kind != event.KindOnce {
		return false
	}
	oc.emitOn(t, r, event.OnceLeave, obj)
	return true
}

// insideOnce handles a record of a thread that has not been seen to leave all its calls of
// pthread_once: it removes the calls whose frames are gone.
func (oc *onceCalls) insideOnce(t *thread, r *bpf.Record) {
	for t.once != nil && t.once.sp <= r.Sp {
		oc.abandonOnce(t.once) // an exception or a cancellation unwound its frame
		t.once = t.once.outer
	}
	if t.once != nil && r.Sp != 0 && !t.once.nested {
		t.once.nested = true
		oc.initialises(t, r, t.once.obj)
	}
}

// initialises handles the first event of t within an initialiser. Only one runs at a time: if another
// thread began one before, that has ended, and t comes after it.
func (oc *onceCalls) initialises(t *thread, r *bpf.Record, obj *object) {
	if obj.onceDone {
		return
	}
	for _, u := range slices.Clone(obj.onceUsers) {
		if u.nested && u.thread != t {
			oc.abandonOnce(u)
		}
	}
	oc.beginsAgain(t, r, obj)
}

// abandonOnce handles that a call of pthread_once has been left, or will be, without its return.
func (oc *onceCalls) abandonOnce(c *onceCall) {
	initialised := slices.Contains(c.obj.onceUsers, c) && c.nested
	c.abandon()
	if initialised && !c.obj.ended {
		oc.failedOnce(c.thread, c.obj)
	}
}

// failedOnce sends an inferred OnceDone: an initialiser was left by an exception or a cancellation.
func (oc *onceCalls) failedOnce(t *thread, obj *object) {
	obj.onceFailed = t
	e := oc.begin(t, nil, event.OnceDone)
	e.Object, e.Kind, e.Flags = obj.id, obj.kind, event.Inferred
	oc.send()
}

// beginsAgain sends an inferred OnceLeave if t runs the initialiser after that of another thread failed,
// which must come before.
func (oc *onceCalls) beginsAgain(t *thread, r *bpf.Record, obj *object) {
	if obj.onceFailed == nil || obj.onceFailed == t {
		return
	}
	e := oc.begin(t, r, event.OnceLeave)
	e.Object, e.Kind, e.Flags, e.Stack = obj.id, obj.kind, event.Inferred, 0
	oc.send()
}

func (oc *onceCalls) onceEntered(t *thread, r *bpf.Record, obj *object) {
	oc.insideOnce(t, r)
	t.once = &onceCall{obj: obj, thread: t, sp: r.Sp, outer: t.once}
	if !obj.onceDone {
		obj.onceUsers = append(obj.onceUsers, t.once)
	}
	oc.emitOn(t, r, event.OnceEnter, obj)
}

// abandon removes a call that will not return from the candidates for the initialiser.
func (c *onceCall) abandon() {
	c.obj.onceUsers = slices.DeleteFunc(c.obj.onceUsers, func(u *onceCall) bool { return u == c })
}

func (oc *onceCalls) onceLeft(t *thread, r *bpf.Record, obj *object) {
	own := t.once
	for own != nil && own.sp < r.Sp {
		oc.abandonOnce(own) // an exception or a cancellation unwound its frame
		own = own.outer
	}
	t.once = own
	if own == nil || own.sp != r.Sp || own.obj != obj {
		return
	}
	t.once = own.outer
	if obj.onceDone {
		if !own.done {
			oc.emitOn(t, r, event.OnceLeave, obj)
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
		oc.beginsAgain(initialiser.thread, nil, obj)
	}
	oc.emitOn(initialiser.thread, r, event.OnceDone, obj)
	if initialiser != own {
		oc.emitOn(t, r, event.OnceLeave, obj)
	}
}

// leaveOnce abandons all current calls of pthread_once of t, which will not return.
func (t *thread) leaveOnce() {
	for ; t.once != nil; t.once = t.once.outer {
		t.once.abandon()
	}
}
