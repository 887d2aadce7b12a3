package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// This file handles the lock of an interpreter: CPython's global interpreter lock and OCaml 4's master lock. It is a word
// that says whether the lock is held, which changes only under a mutex, and a condition on which those wait who find it
// held. A thread that acquires the lock does not hold that mutex afterwards, so by the calls alone it would be no lock, but
// an order from each signal to the thread that it wakes: that order would hide every error of the program.
//
// A function of the table says that its thread releases such a lock. The first mutex that the thread acquires in it,
// with the condition that it signals next, is the lock, whoever uses them from then on. Of that mutex,
//
//   - a section in which its condition is signalled is a release of the lock, as is a signal just after one;
//   - any other section, of a thread that does not hold the lock, is an acquisition.
//
// Mutexes acquired within these sections, conditions waited on with either, and what is written under them are parts
// of the lock: what threads do with them is no event.
//
// A thread that holds the lock and wants another one (a semaphore for CPython's threading.Lock, a mutex for OCaml's Mutex)
// tries first. If that fails, it releases the lock and waits by another call, unless it was asked not to. So such an
// attempt may be one that waits in another schedule (event.MayWait).

// interpreterName is the name of the lock in reports.
const interpreterName = "interpreter lock"

// interpreters makes the events of the locks of interpreters, of the calls by which they are implemented. What it knows
// is with the threads and the objects.
type interpreters struct {
	*core
	locks *locks
}

// interpreterUse is what a thread does with the lock of an interpreter.
type interpreterUse struct {
	entered  uint64        // stack pointer at the call of a function that releases the lock; 0: it is in none
	mutex    uint64        // the mutex that it acquired first in that function; 0: none yet
	section  *object       // the lock whose mutex it holds; nil: none
	stack    event.StackID // where it acquired that mutex
	released bool          // it has released the lock in the section
	parts    int           // other mutexes of the lock that it holds
	written  []uint64      // words that it has written since it acquired the first mutex in that function
	waitSp   uint64        // stack pointer at the call of a wait with a mutex of the lock; 0: it is in none
}

// inWait reports whether a record is of a call that a wait makes, as musl's waits do.
func (u *interpreterUse) inWait(r *bpf.Record) bool { return u.waitSp != 0 && r.Sp < u.waitSp }

// isInterpreter reports whether the object is the lock of an interpreter, not another part of one.
func (obj *object) isInterpreter() bool { return obj.interpreter == obj }

// entersInterpreter handles the call and the return of a function that releases the lock.
func (ip *interpreters) entersInterpreter(t *thread, r *bpf.Record) {
	t.process.interpreted = true
	t.interpreter.entered, t.interpreter.mutex, t.interpreter.written = 0, 0, nil
	if r.Flags&bpf.RecLeave == 0 {
		t.interpreter.entered = r.Sp
	}
}

// ofInterpreter handles a record of a part of an interpreter's lock. It reports false if the record is of something
// else.
func (ip *interpreters) ofInterpreter(t *thread, r *bpf.Record) bool {
	switch bpf.Op(r.Op) {
	case bpf.OpAcquire:
		return ip.acquiresPart(t, r)
	case bpf.OpRelease:
		return ip.releasesPart(t, r)
	case bpf.OpWait:
		return ip.waitsOnPart(t, r)
	case bpf.OpSignal, bpf.OpBroadcast:
		return ip.signalsPart(t, r)
	case bpf.OpInit:
		return ip.initialisesInterpreter(t, r)
	case bpf.OpRead, bpf.OpWrite, bpf.OpUpdate:
		return t.accessesPart(r)
	}
	return false
}

// maxWritten bounds the words that are known to be written in the first release of a lock.
const maxWritten = 8

// accessesPart handles an access. What is written under a mutex of the lock is a part of it from then on.
func (t *thread) accessesPart(r *bpf.Record) bool {
	p, u, word := t.process, &t.interpreter, r.Object&^(wordSize-1)
	switch {
	case p.interpreterWords[word]:
		return true
	case bpf.Op(r.Op) == bpf.OpRead:
	case u.section != nil || u.parts > 0:
		p.addInterpreterWord(word)
		return true
	case u.mutex != 0 && len(u.written) < maxWritten:
		u.written = append(u.written, word)
	}
	return false
}

func (p *process) addInterpreterWord(word uint64) {
	if p.interpreterWords == nil {
		p.interpreterWords = map[uint64]bool{}
	}
	p.interpreterWords[word] = true
}

func (ip *interpreters) acquiresPart(t *thread, r *bpf.Record) bool {
	u := &t.interpreter
	failed := r.Flags&bpf.RecFailed != 0
	obj := ip.locks.objectOrAlias(t.process, r.Object)
	switch {
	case obj != nil && obj.isInterpreter():
		if !failed && !u.inWait(r) {
			u.enter(obj, r)
		}
		return true
	case obj != nil && obj.interpreter != nil || u.section != nil:
		if !failed && !u.inWait(r) {
			u.parts++
			if u.section != nil {
				ip.locks.object(t, r, event.KindMutex).interpreter = u.section
			}
		}
		return true
	case u.mutex == 0 && r.Sp < u.entered && !failed && ip.site(r).Flags&event.Try == 0:
		u.mutex = r.Object
	default:
		u.entered = 0
	}
	return false
}

// enter begins a section of the lock's mutex.
func (u *interpreterUse) enter(lock *object, r *bpf.Record) {
	u.section, u.stack, u.released, u.parts, u.waitSp = lock, event.StackID(r.Stack), false, 0, 0
}

func (ip *interpreters) releasesPart(t *thread, r *bpf.Record) bool {
	u := &t.interpreter
	obj := ip.locks.objectOrAlias(t.process, r.Object)
	switch {
	case obj == nil || obj.interpreter == nil:
		return false
	case u.inWait(r):
	case !obj.isInterpreter():
		u.parts = max(0, u.parts-1)
	case u.section == obj:
		if !u.released && obj.holder != t {
			ip.acquireInterpreter(t, obj, u.stack, 0)
		}
		u.section = nil
	}
	return true
}

func (ip *interpreters) waitsOnPart(t *thread, r *bpf.Record) bool {
	u := &t.interpreter
	mutex := ip.locks.objectOrAlias(t.process, r.Value)
	if mutex == nil || mutex.interpreter == nil {
		return false
	}
	if r.Flags&bpf.RecLeave != 0 {
		u.waitSp = 0
		return true
	}
	if u.section == nil && mutex.isInterpreter() {
		u.enter(mutex, r) // its acquisition was not recorded
	}
	u.waitSp, u.released = r.Sp, false // whoever yields the lock signals first, and acquires it again after the wait
	if cond := ip.locks.object(t, r, event.KindCond); cond.interpreter == nil && mutex.isInterpreter() {
		cond.interpreter = mutex
	}
	return true
}

// signalsPart handles a signal of a condition. One under another mutex of the lock is that by which CPython lets the
// thread that released the lock know that another one has acquired it: it orders nothing.
func (ip *interpreters) signalsPart(t *thread, r *bpf.Record) bool {
	u := &t.interpreter
	cond := ip.locks.objectOrAlias(t.process, r.Object)
	switch {
	case u.section != nil && u.parts > 0:
	case u.section != nil:
		ip.releaseInterpreter(t, r, u.section)
	case cond != nil && cond.interpreter != nil:
		if cond.interpreter.holder == t {
			ip.releaseInterpreter(t, r, cond.interpreter)
		}
	case u.mutex != 0 && r.Sp < u.entered:
		ip.findInterpreter(t, r)
	default:
		return false
	}
	return true
}

// findInterpreter handles the first release of a lock in a function that releases it: the mutex and the condition that
// were no part of a lock before are the lock.
func (ip *interpreters) findInterpreter(t *thread, r *bpf.Record) {
	u := &t.interpreter
	addr, written := u.mutex, u.written
	u.entered, u.mutex, u.written = 0, 0, nil
	old := ip.locks.objectOrAlias(t.process, addr)
	if old == nil || old.kind != event.KindMutex {
		return
	}
	within := old.holder == t
	if within {
		ip.locks.release(t, nil, old, 0)
	}
	lock := ip.replaceByInterpreter(t, r, old)
	for _, word := range written {
		t.process.addInterpreterWord(word)
	}
	ip.locks.object(t, r, event.KindCond).interpreter = lock
	if within {
		u.enter(lock, r)
	}
	ip.releaseInterpreter(t, r, lock)
}

// replaceByInterpreter makes the lock of an interpreter in the place of an object, whose lifetime ends.
func (ip *interpreters) replaceByInterpreter(t *thread, r *bpf.Record, old *object) *object {
	ip.locks.endObject(t, nil, old)
	lock := ip.locks.newObject(t, r, old.addr, event.KindMutex)
	ip.markInterpreter(lock)
	return lock
}

// markInterpreter makes an object the lock of an interpreter. What is known of its holders is not enough for
// findings of misuse.
func (ip *interpreters) markInterpreter(obj *object) {
	obj.process.interpreted = true
	obj.interpreter, obj.holderUncertain, obj.kind, obj.kindKnown = obj, true, event.KindMutex, false
	ip.names.objects[obj.id].Name = interpreterName
}

// initialisesInterpreter handles that an interpreter initialises its lock again, as CPython does in the child of a fork.
func (ip *interpreters) initialisesInterpreter(t *thread, r *bpf.Record) bool {
	old := ip.locks.objectOrAlias(t.process, r.Object)
	if old == nil || !old.isInterpreter() {
		return false
	}
	if old.holder != nil {
		ip.locks.release(old.holder, nil, old, 0)
	}
	ip.replaceByInterpreter(t, r, old)
	t.interpreter = interpreterUse{}
	return true
}

// acquireInterpreter makes t hold the lock, which it acquired at a call stack.
func (ip *interpreters) acquireInterpreter(t *thread, lock *object, stack event.StackID, flags event.Flags) {
	if lock.holder != nil {
		ip.locks.release(lock.holder, nil, lock, 0) // its signal follows, or its release was not recorded
	}
	ip.locks.take(t, lock, event.Acquire, stack, 1)
	e := ip.begin(t, nil, event.Acquire)
	e.Object, e.Kind, e.Flags, e.Stack = lock.id, lock.kind, flags, stack
	ip.send()
}

// releaseInterpreter handles that t releases the lock, which it may have acquired unseen.
func (ip *interpreters) releaseInterpreter(t *thread, r *bpf.Record, lock *object) {
	t.interpreter.released = true
	if lock.holder != t {
		ip.acquireInterpreter(t, lock, 0, event.Inferred)
	}
	ip.locks.release(t, r, lock, 0)
}

// holdsMore reports whether t holds a lock other than an interpreter's, which a thread holds while it computes.
func (t *thread) holdsMore() bool {
	for i := range t.held {
		if !t.held[i].obj.isInterpreter() {
			return true
		}
	}
	return false
}

// beginsAttempt handles an attempt that did not fail, of whose event it returns the flags. If t holds the lock of an
// interpreter, it returns that lock, to be passed to endsAttempt after the event; else nil.
func (ip *interpreters) beginsAttempt(t *thread, flags event.Flags) (event.Flags, hold) {
	if flags&event.Try == 0 {
		return flags, hold{}
	}
	for _, h := range t.held {
		if h.obj.isInterpreter() {
			ip.locks.release(t, nil, h.obj, event.MayWait)
			return flags&^event.Try | event.MayWait, h
		}
	}
	return flags, hold{}
}

// endsAttempt makes t hold the lock again that it held before the attempt.
func (ip *interpreters) endsAttempt(t *thread, h hold) {
	ip.acquireInterpreter(t, h.obj, h.stack, event.Try|event.MayWait)
}

// discard discards what is known of the memory of a process.
func (ip *interpreters) discard(p *process) {
	p.interpreted = false
	clear(p.interpreterWords)
}
