package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Of the word of a read-write lock of Rust's standard library (std::sys::sync::rwlock::futex, since Rust 1.62), the
// lower 30 bits are the number of readers that hold it, or all ones for a writer. The upper two say who waits.
const (
	rustHolders     = 1<<30 - 1
	rustWriteLocked = rustHolders
)

// afterRelease returns what the word becomes when who holds it releases it: code subtracts a constant, which a register
// may have had for long.
func afterRelease(read optional) optional {
	switch holders := read.value & rustHolders; {
	case !read.known || holders == 0:
		return optional{}
	case holders == rustWriteLocked:
		return optional{read.value - rustWriteLocked, true}
	}
	return optional{read.value - 1, true}
}

// stepOfRWLock is stepOfLock for such a lock. Its code changes the number of holders by who acquires and who releases,
// so the values say what an access is for; but what the number becomes when a thread acquires, other words may become
// by chance. A release is one wherever its code is, since compilers merge the ends of paths into code of no function.
func (il *inlinedLocks) stepOfRWLock(t *thread, obj *object, use bpf.LockUse, a wordAccess) bool {
	if a.op == event.Read {
		return use != bpf.LockNone
	}
	if a.op != event.Update || a.flags != 0 || !a.read.known || !a.wrote.known {
		return false
	}
	from, to := a.read.value&rustHolders, a.wrote.value&rustHolders
	acquires := use == bpf.LockAcquires || use == bpf.LockTries
	switch {
	case from == to:
		return use != bpf.LockNone // it adds, or removes, that threads wait
	case from == rustWriteLocked:
		return obj.holder == t && il.leavesWrite(t, obj, a, to)
	case to == rustWriteLocked:
		if !acquires || from != 0 || obj.holder != nil || len(obj.shared) > 0 {
			return false
		}
		il.acquireInlined(t, obj, use, a, event.Acquire)
		return true
	case to == from+1:
		return acquires && obj.holder == nil && il.readsInlined(t, obj, use, a)
	case from == to+1:
		return il.leavesRead(t, obj, a)
	}
	return false
}

// leavesWrite handles the release by a writer, who may go on as the one reader.
func (il *inlinedLocks) leavesWrite(t *thread, obj *object, a wordAccess, readers uint64) bool {
	if readers > 1 {
		return false
	}
	il.locks.release(t, a.record, obj, 0)
	if readers == 1 {
		il.acquireInlined(t, obj, bpf.LockAcquires, a, event.AcquireRead)
	}
	return true
}

// readsInlined makes t hold such a lock for reading, once more if it does already.
func (il *inlinedLocks) readsInlined(t *thread, obj *object, use bpf.LockUse, a wordAccess) bool {
	h := t.holding(obj)
	if h == nil {
		il.acquireInlined(t, obj, use, a, event.AcquireRead)
		return true
	}
	h.depth++
	il.locks.inner++
	e := il.begin(t, a.record, event.AcquireAgain)
	e.Object, e.Kind = obj.id, obj.kind
	if use == bpf.LockTries {
		e.Flags = event.Try
	}
	il.send()
	return true
}

// leavesRead handles the release by a reader.
func (il *inlinedLocks) leavesRead(t *thread, obj *object, a wordAccess) bool {
	h := t.holding(obj)
	if h == nil || obj.holder == t {
		return false
	}
	if h.depth--; h.depth == 0 {
		il.locks.release(t, a.record, obj, 0)
	}
	return true
}
