package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// This file handles locks whose code is inlined, such as the mutexes of Rust's standard library. No
// call shows them, only the accesses of their word, of which the plan says what they are for. A word
// is such a lock from the first access that acquires it on, while every access is one that the code of a lock
// makes: it becomes other than 0 by who acquires the lock, and 0 by who holds it. Then the accesses are
// no events, but what they do with the lock is, and orders as with any lock.
//
// After any other access (one at a site that no lock has, a release by another thread, a value
// whose store was not seen), the word is an atomic variable for good, and its accesses are events that order as
// those of one do. Of which store a load comes then is not known until the next store: the last one was no event.

// wordUse is what the word of a variable is used as.
type wordUse uint8

const (
	wordUndecided wordUse = iota
	wordLock
	wordAtomic
)

// wordAccess is an access that synchronises, with what the observer knows of it.
type wordAccess struct {
	op          event.Op
	flags       event.Flags // those about its source: NoSource, Late
	read, wrote optional
	record      *bpf.Record
}

// inlinedLocks makes the events of locks whose code is inlined, of the accesses of their words.
type inlinedLocks struct {
	*core
	locks       *locks
	sharing     *sharing
	formerLocks uint64 // see FormerLocks
}

// lockAccess handles an access of the word of an inlined lock. It reports false if the access is one of an
// atomic variable, of which the event is to be sent.
func (il *inlinedLocks) lockAccess(t *thread, v *variable, use bpf.LockUse, a wordAccess) bool {
	switch {
	case v.use == wordAtomic:
		if use != bpf.LockNone {
			il.formerLocks++
		}
		il.releaseFormer(t, a)
		return false
	case v.use == wordUndecided && use == bpf.LockNone:
		v.use = wordAtomic
		return false
	case v.use == wordUndecided:
		return il.firstOfLock(t, v, use, a)
	}
	if il.takeStep(t, il.locks.object(t, a.record, event.KindMutex), use, a) {
		return true
	}
	v.use, v.unsourced = wordAtomic, true
	il.formerLocks++
	il.releaseFormer(t, a)
	return false
}

// takeStep handles an access of a word that is a lock. It returns false if the code of such a lock makes no such access.
func (il *inlinedLocks) takeStep(t *thread, obj *object, use bpf.LockUse, a wordAccess) bool {
	if obj.kind == event.KindRWLock {
		return il.stepOfRWLock(t, obj, use, a)
	}
	return il.stepOfLock(t, obj, use, a)
}

// FormerLocks returns the number of accesses by code of locks of words that are atomic variables, since they were
// used otherwise too.
func (o *Observer) FormerLocks() uint64 { return o.inlined.formerLocks }

// firstOfLock handles an access of a word of which none has acquired it. Who waits for it is not yet seen
// to hold it; nobody else is to access it before.
func (il *inlinedLocks) firstOfLock(t *thread, v *variable, use bpf.LockUse, a wordAccess) bool {
	switch {
	case a.op == event.Read && (use == bpf.LockAcquires || use == bpf.LockKeeps):
		return true
	case a.acquires(use) && !il.sharing.sharesWord(t.process, a.record.Object&^(wordSize-1)):
		obj := il.locks.object(t, a.record, event.KindMutex)
		if obj.holder == nil && len(obj.shared) == 0 && il.takeStep(t, obj, use, a) {
			v.use = wordLock
			return true
		}
	}
	v.use = wordAtomic
	il.formerLocks++
	return false
}

// acquires reports whether the access acquires a lock that was free.
func (a *wordAccess) acquires(use bpf.LockUse) bool {
	return (use == bpf.LockAcquires || use == bpf.LockTries) && a.op == event.Update && a.flags == 0 &&
		a.read.known && a.read.value == 0 && (!a.wrote.known || a.wrote.value != 0)
}

// releases reports whether the access makes a lock free.
func (a *wordAccess) releases(use bpf.LockUse) bool {
	return a.op.IsWrite() && a.flags == 0 && (a.wrote.known && a.wrote.value == 0 || !a.wrote.known && use == bpf.LockReleases)
}

// stepOfLock handles an access of a word that is a lock. It returns false if the code of a lock makes
// no such access.
func (il *inlinedLocks) stepOfLock(t *thread, obj *object, use bpf.LockUse, a wordAccess) bool {
	switch {
	case use == bpf.LockNone:
	case a.acquires(use):
		if obj.holder == nil {
			il.acquireInlined(t, obj, use, a, event.Acquire)
			return true
		}
	case use == bpf.LockReleases:
		if a.releases(use) && obj.holder == t {
			il.locks.release(t, a.record, obj, 0)
			return true
		}
	case a.op == event.Read && use == bpf.LockTries:
		if a.flags == 0 && obj.holder != nil {
			e := il.begin(t, a.record, event.AcquireFailed)
			e.Object, e.Kind, e.Flags = obj.id, obj.kind, event.Try
			il.send()
			return true
		}
	case a.op == event.Read:
		return true
	default: // it adds that threads wait
		return use != bpf.LockTries && a.op == event.Update && a.flags == 0 && a.read.known && a.read.value != 0 && a.wrote.known && a.wrote.value != 0
	}
	return false
}

// acquireInlined makes t hold an inlined lock. What is known of its holders is not enough for findings of misuse.
func (il *inlinedLocks) acquireInlined(t *thread, obj *object, use bpf.LockUse, a wordAccess, op event.Op) {
	flags := event.Flags(0)
	if use == bpf.LockTries {
		flags = event.Try
	}
	obj.holderUncertain, obj.inlined = true, true
	il.locks.acquire(t, a.record, obj, op, flags, 1)
}

// releaseFormer ends the holding of a lock whose word is an atomic variable by now, when a store has made it
// free. Until then the lock excludes others as before.
func (il *inlinedLocks) releaseFormer(t *thread, a wordAccess) {
	obj := il.locks.liveObject(t.process, a.record.Object)
	if obj == nil || !obj.inlined || obj.holder == nil && len(obj.shared) == 0 {
		return
	}
	if obj.kind == event.KindRWLock { // how many hold it, such a word may not say
		il.doubt(t, doubtRelease)
		il.locks.releaseOthers(obj, event.Acquire)
		return
	}
	switch holder := obj.holder; {
	case a.read.known && a.read.value == 0:
		il.doubt(t, doubtRelease)
		il.locks.release(holder, nil, obj, event.Inferred)
	case !a.op.IsWrite() || a.wrote.known && a.wrote.value != 0:
	case holder == t:
		il.locks.release(t, a.record, obj, 0)
	default:
		il.locks.release(holder, nil, obj, event.Inferred)
	}
}
