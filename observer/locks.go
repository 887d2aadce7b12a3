package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// locks has the synchronisation objects: their lifetimes, who holds them and waits on them, and what of that is misuse.
type locks struct {
	*core
	messages *messages
	sharing  *sharing
	attempts attempts
	cache    [cachedObjects]*object
	inner    uint64                   // number of acquisitions at inner levels, which make no events
	repeated func(event.StackID) bool // Options.Repeated

	endedObjects endedObjects
	leaving      *leaving
}

// threadLocks is what locks knows of a thread.
type threadLocks struct {
	held     []hold
	condWait *condWait // nil if it is not in a condition wait
	lastCall lastCall
	ownStack map[uint64]bool // addresses of objects first seen on its own stack
	quit     event.StackID   // stack of its call of exit; 0: none
}

// processLocks is what locks knows of a process.
type processLocks struct {
	objects        map[uint64]*object // live, by address
	regions        []*region          // memory that it shares with other processes
	aliases        aliases
	cancelsUnknown bool // pthread_cancel was called for a thread that is not known
	inParentMemory bool // it began in its parent's memory (vfork), with its parent's locks
}

// attempts handles the calls that try to acquire; see interpreter.go.
type attempts interface {
	beginsAttempt(*thread, event.Flags) (event.Flags, hold)
	endsAttempt(*thread, hold)
}

// cachedObjects is the size of the direct-mapped cache in front of the maps of objects, by a hash of the address. A
// server may have thousands of locks, such as one for each bucket of a hash table.
const cachedObjects = 1 << 12

// hold is a lock that a thread holds.
type hold struct {
	obj          *object
	depth        int           // recursion depth, from 1
	stack        event.StackID // call stack of the acquisition
	inconsistent bool          // its last owner died while holding it, and it has not been made consistent
}

// condWait is a condition wait that has not returned.
type condWait struct {
	cond, mutex  *object
	depth        int    // recursion depth of the mutex before the wait
	sp           uint64 // stack pointer at the entry of the wait
	stack        uint32 // stack ID of the wait
	noInnerCalls bool   // SiteInfo.NoInnerCalls
	unseen       bool   // acquisitions and releases of the mutex by this code are not recorded
	reacquired   bool   // the C library has acquired the mutex again through its public function
}

func (t *thread) holding(obj *object) *hold {
	for i := range t.held {
		if t.held[i].obj == obj {
			return &t.held[i]
		}
	}
	return nil
}

func (t *thread) removeHold(obj *object) {
	for i := range t.held {
		if t.held[i].obj == obj {
			t.held = append(t.held[:i], t.held[i+1:]...)
			return
		}
	}
}

// acquired handles the return of a lock call.
func (l *locks) acquired(t *thread, r *bpf.Record) {
	info := l.site(r)
	if r.Flags&bpf.RecFailed != 0 && l.usedDestroyed(t, r) {
		return
	}
	obj := l.object(t, r, event.KindMutex)
	if r.Flags&bpf.RecFailed != 0 {
		e := l.begin(t, r, event.AcquireFailed)
		e.Object, e.Kind, e.Flags = obj.id, obj.kind, info.Flags
		if r.Result == errDeadlock {
			e.Value, e.Flags = errDeadlock, e.Flags|event.HasValue
		}
		l.send()
		return
	}
	if h := t.holding(obj); h != nil && !obj.unlockedByOther {
		h.depth++ // a recursive acquisition: only the outermost level is an event
		l.inner++
		l.readAgain(t, r, obj)
		return
	}
	op := event.Acquire
	if bpf.Op(r.Op) == bpf.OpAcquireRead {
		op = event.AcquireRead
	}
	flags, interpreter := l.tries(t, info.Flags)
	if interpreter.obj == nil && flags&event.Try != 0 && len(t.held) > 0 && l.repeated != nil && l.repeated(event.StackID(r.Stack)) {
		flags = flags&^event.Try | event.Repeated
	}
	l.acquire(t, r, obj, op, flags, 1)
	l.tried(t, interpreter)
	l.mayInherit(t, r, obj)
}

// tries returns the flags of the event of an acquisition, and what tried is passed after it.
func (l *locks) tries(t *thread, flags event.Flags) (event.Flags, hold) {
	if !t.process.interpreted {
		return flags, hold{}
	}
	return l.attempts.beginsAttempt(t, flags)
}

func (l *locks) tried(t *thread, h hold) {
	if h.obj != nil {
		l.attempts.endsAttempt(t, h)
	}
}

// readAgain sends an AcquireAgain if t, which holds a rwlock for reading, acquires it for
// reading again. Such a thread can deadlock where readers wait behind waiting writers.
func (l *locks) readAgain(t *thread, r *bpf.Record, obj *object) {
	if obj.kind != event.KindRWLock || obj.holder != nil || bpf.Op(r.Op) != bpf.OpAcquireRead {
		return
	}
	e := l.begin(t, r, event.AcquireAgain)
	e.Object, e.Kind, e.Flags = obj.id, obj.kind, l.site(r).Flags
	l.send()
}

// addLockKind adds the kind of a read-write lock to the event of its first acquisition.
func (l *locks) addLockKind(e *event.Event, r *bpf.Record, obj *object) {
	if r != nil && obj.inlined && !obj.kindReported { // Rust's readers wait behind waiting writers
		obj.kindReported = true
		e.Value, e.Flags = event.PreferWriterNonrecursive, e.Flags|event.HasValue
		return
	}
	if obj.kindReported || r == nil || !l.site(r).RecordsLockKind || r.Value == 0 || r.Value > 1+event.PreferWriterNonrecursive {
		return
	}
	obj.kindReported = true
	e.Value, e.Flags = r.Value-1, e.Flags|event.HasValue
}

// acquire makes t hold obj and sends the event of the acquisition.
func (l *locks) acquire(t *thread, r *bpf.Record, obj *object, op event.Op, flags event.Flags, depth int) {
	l.take(t, obj, op, event.StackID(r.Stack), depth)
	e := l.begin(t, r, op)
	e.Object, e.Kind, e.Flags = obj.id, obj.kind, flags
	if obj.kind == event.KindRWLock {
		l.addLockKind(e, r, obj)
	}
	l.send()
}

// take makes t a holder of a lock.
func (l *locks) take(t *thread, obj *object, op event.Op, stack event.StackID, depth int) {
	l.releaseOthers(obj, op)
	obj.unlockedByOther, obj.acquired = false, l.now
	if obj.lastUser != t.id {
		obj.lastUser, obj.otherUser = t.id, obj.lastUser
	}
	t.held = append(t.held, hold{obj: obj, depth: depth, stack: stack})
	if op == event.AcquireRead {
		obj.shared = append(obj.shared, t)
	} else {
		obj.holder = t
	}
}

// releaseOthers sends an inferred release for each thread that can no longer hold the lock,
// because another thread acquires it by op: the release was not recorded.
func (l *locks) releaseOthers(obj *object, op event.Op) {
	if !obj.unlockedByOther && (obj.holder != nil || op == event.Acquire && len(obj.shared) > 0) {
		obj.holderUncertain = true
	}
	if u := obj.holder; u != nil {
		l.stats.InferredReleases++
		l.release(u, nil, obj, event.Inferred)
	}
	if op == event.Acquire {
		l.stats.InferredReleases += uint64(len(obj.shared))
		l.releaseShared(obj)
	}
}

func (l *locks) releaseShared(obj *object) {
	for len(obj.shared) > 0 {
		l.release(obj.shared[0], nil, obj, event.Inferred)
	}
}

// releaseAll sends an inferred release of each lock that t holds, so that earlier and later
// events agree on the holders. It is called when t ends, executes another program or loses
// events. Of an inlined lock, code that is not observed may have been the release, and CPython ends threads that
// acquire its lock at the end of the process: that a thread holds it to its end is no misuse.
func (l *locks) releaseAll(t *thread) {
	for len(t.held) > 0 {
		obj, flags := t.held[len(t.held)-1].obj, event.Inferred
		if obj.inlined || obj.isInterpreter() {
			flags = 0
		}
		l.release(t, nil, obj, flags)
	}
}

// release makes t hold obj no longer and sends the event of the release.
func (l *locks) release(t *thread, r *bpf.Record, obj *object, flags event.Flags) {
	t.removeHold(obj)
	if obj.holder == t {
		obj.holder, obj.unlockedByOther = nil, false
	}
	for i, u := range obj.shared {
		if u == t {
			obj.shared = append(obj.shared[:i], obj.shared[i+1:]...)
			break
		}
	}
	e := l.begin(t, r, event.Release)
	e.Object, e.Kind, e.Flags = obj.id, obj.kind, flags
	l.send()
}

// releasing handles the call of an unlock.
func (l *locks) releasing(t *thread, r *bpf.Record) {
	obj := l.object(t, r, event.KindMutex)
	h := t.holding(obj)
	if h == nil {
		l.releasedUnheld(t, r, obj)
		return
	}
	if h.depth--; h.depth == 0 {
		l.emitInconsistent(t, r, h, 0)
		l.release(t, r, obj, 0)
	}
}

// releasedUnheld handles an unlock by a thread that does not hold the lock. A spin lock that
// no thread holds is being initialised: glibc's pthread_spin_init and pthread_spin_unlock
// are one function. If another thread holds the lock, the unlock has released it (a plain
// mutex) or failed (a recursive one). The next operation of the holder shows which.
func (l *locks) releasedUnheld(t *thread, r *bpf.Record, obj *object) {
	if obj.kind == event.KindSpin && obj.holder == nil {
		l.endObject(t, nil, obj)
		return
	}
	if t.lostEvents {
		return // the acquisition may be among the lost events
	}
	l.emitUnheld(t, r, obj, nil)
	obj.unlockedByOther = obj.holder != nil
	l.stats.UnheldReleases++
	if l.attached && t.createdAt == 0 {
		l.names.threads[t.id].MayHoldUntil = l.stats.Events
	}
}

// waits handles the entry and the return of a condition wait.
func (l *locks) waits(t *thread, r *bpf.Record) {
	if r.Flags&bpf.RecLeave != 0 {
		l.waited(t, r)
		return
	}
	if t.condWait != nil {
		l.wake(t, r, event.Inferred|event.TimedOut) // a thread that enters a wait has left the last one
	}
	l.emitMarked(t, r)
	w := &condWait{cond: l.object(t, r, event.KindCond), mutex: l.objectAt(t, r, r.Value, event.KindMutex), sp: r.Sp, stack: r.Stack, depth: 1, noInnerCalls: l.site(r).NoInnerCalls}
	if h := t.holding(w.mutex); h != nil {
		w.depth = h.depth
		l.emitInconsistent(t, r, h, event.InCondWait)
		l.release(t, r, w.mutex, event.InCondWait)
	} else {
		l.emitUnheld(t, r, w.mutex, w.cond)
		w.unseen = l.leaving.mayHold(w.mutex)
	}
	e := l.begin(t, r, event.Wait)
	e.Object, e.Kind, e.Object2, e.Flags = w.cond.id, w.cond.kind, w.mutex.id, l.site(r).Flags
	l.send()
	w.cond.waiters++
	w.cond.waitersUncertain = w.cond.waitersUncertain || t.cancelled || l.site(r).CountsWaiters && r.Marks()&bpf.CondShared != 0
	t.condWait = w
}

// waited handles the return from a condition wait. If an operation of a signal handler made
// the observer end the wait too early, another thread may have held the mutex since. From
// the return on, the thread holds it again.
func (l *locks) waited(t *thread, r *bpf.Record) {
	if t.condWait != nil {
		switch {
		case t.condWait.sp != r.Sp:
		case r.Result == errNotOwner:
			l.woken(t, r, 0) // an error-checking mutex: the call neither waited nor acquired it
		case r.Result == errNotRecoverable:
			l.woken(t, r, 0) // a robust mutex that cannot be acquired any more
		default:
			mutex := t.condWait.mutex
			l.wake(t, r, wakeFlags(r.Result))
			l.mayInherit(t, r, mutex)
		}
		return
	}
	mutex := l.objectAt(t, r, r.Value, event.KindMutex)
	if t.holding(mutex) == nil && !l.leaving.mayHold(mutex) {
		l.acquire(t, r, mutex, event.Acquire, event.Inferred|event.InCondWait, 1)
	}
}

const errTimedOut = 110 // ETIMEDOUT

func wakeFlags(result int32) event.Flags {
	if result == errTimedOut {
		return event.TimedOut
	}
	return 0
}

// wake ends a condition wait: it sends the Wake, and the Acquire of the mutex.
func (l *locks) wake(t *thread, r *bpf.Record, flags event.Flags) {
	cancelled := flags&event.Inferred != 0 && l.cancelledWait(t)
	w := l.woken(t, r, flags)
	switch {
	case t.holding(w.mutex) != nil || w.unseen:
	case cancelled:
		l.acquireAfterCancel(t, r, w)
	default:
		l.acquire(t, r, w.mutex, event.Acquire, flags&event.Inferred|event.InCondWait, w.depth)
	}
}

// woken ends a condition wait without acquiring the mutex, and returns the wait.
func (l *locks) woken(t *thread, r *bpf.Record, flags event.Flags) *condWait {
	w := t.condWait
	t.condWait = nil
	w.cond.waiters--
	w.mutex = l.objectAt(t, r, w.mutex.addr, event.KindMutex) // another mutex may be at the address by now
	e := l.begin(t, r, event.Wake)
	e.Object, e.Kind, e.Object2, e.Flags = w.cond.id, w.cond.kind, w.mutex.id, flags
	e.Stack = event.StackID(w.stack)
	l.send()
	return w
}

// duringWait handles a record of a thread that has not been seen to leave a condition wait.
// It reports whether the record needs no further handling. A record from the wait's frame
// or an outer one shows that the frame is gone: cancellation or an exception ended the
// wait, which acquired the mutex again. Records from inner frames come from the C library's
// own calls on the mutex (musl uses its public functions), from a signal handler, or from
// a cleanup handler: musl runs cleanup handlers on top of the wait's frame, and glibc the
// calls that they make.
func (l *locks) duringWait(t *thread, r *bpf.Record) bool {
	w := t.condWait
	switch op := bpf.Op(r.Op); {
	case op == bpf.OpExit || op == bpf.OpExec || r.Sp == 0:
		return false
	case op == bpf.OpWait && r.Sp == w.sp && r.Flags&bpf.RecLeave != 0:
		return false
	case r.Sp >= w.sp:
		l.wake(t, r, event.Inferred|event.TimedOut)
		return false
	}
	return l.belowWait(t, r)
}

// belowWait handles a record from a frame inside the wait's frame. An operation that a signal
// handler must not do, or hardly ever does, is assumed to come from a cleanup handler,
// which runs with the mutex held; the wait then ends. It reports whether the record needs
// no further handling.
func (l *locks) belowWait(t *thread, r *bpf.Record) bool {
	w := t.condWait
	switch op := bpf.Op(r.Op); op {
	case bpf.OpAcquire, bpf.OpAcquireRead, bpf.OpRelease:
		if r.Object == w.mutex.addr && !(op == bpf.OpRelease && (w.reacquired || w.noInnerCalls)) {
			w.reacquired = op != bpf.OpRelease && r.Flags&bpf.RecFailed == 0
			return true
		}
	case bpf.OpWait:
		if r.Value == w.mutex.addr {
			w.noInnerCalls = w.noInnerCalls && l.site(r).NoInnerCalls
			return true
		}
	case bpf.OpRead, bpf.OpWrite, bpf.OpUpdate:
	default:
		return false
	}
	if w.mutex.holder != nil && bpf.Op(r.Op) != bpf.OpWait {
		return false // another thread holds the mutex, so this is a signal handler after all
	}
	l.wake(t, r, event.Inferred|event.TimedOut)
	return false
}

func (l *locks) barrier(t *thread, r *bpf.Record) {
	obj := l.object(t, r, event.KindBarrier)
	switch {
	case r.Flags&bpf.RecLeave == 0:
		l.emitOn(t, r, event.BarrierArrive, obj)
	case r.Flags&bpf.RecFailed == 0:
		l.emitOn(t, r, event.BarrierDepart, obj)
	}
}

func (l *locks) semWaited(t *thread, r *bpf.Record) {
	obj := l.object(t, r, event.KindSemaphore)
	failed := r.Flags&bpf.RecFailed != 0
	if flags := l.site(r).Flags; failed {
		l.emitSemaphore(t, r, event.SemFailed, obj, flags)
	} else {
		flags, interpreter := l.tries(t, flags)
		l.emitSemaphore(t, r, event.SemWait, obj, flags)
		l.tried(t, interpreter)
	}
	switch {
	case failed:
	case obj.permits > 0:
		obj.permits--
	default: // an unseen post, or an initial value that is not known, let it through
		l.doubt(t, doubtPermit)
	}
}

func (l *locks) emitSemaphore(t *thread, r *bpf.Record, op event.Op, obj *object, flags event.Flags) {
	e := l.begin(t, r, op)
	e.Object, e.Kind, e.Flags = obj.id, obj.kind, flags
	l.send()
}
