package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// This file handles misuse: calls that break a rule of the threads' interface. Most have no
// effect on other events: an unlock by a thread that does not hold the lock makes no
// Release. Such a call has an event of its own (event.ReleaseUnheld and so on), if
// the records leave no doubt: the whole lifetime of the lock, or of the thread, was
// observed, and no event of the run was lost.

// Error numbers with which calls fail.
const (
	errNotOwner  = 1   // EPERM
	errNoThread  = 3   // ESRCH
	errInvalid   = 22  // EINVAL
	errDeadlock  = 35  // EDEADLK
	errOwnerDead = 130 // EOWNERDEAD, with which an acquisition succeeds
	// errNotRecoverable is ENOTRECOVERABLE: the mutex is robust and was not made consistent.
	errNotRecoverable = 131
)

// lastCall describes the last call of a thread that was recorded at its entry: a release, a post, a
// signal, a broadcast or a detach.
type lastCall struct {
	addr, sp uint64 // the object or the pthread_t, and the stack pointer
	site     uint32
	op       bpf.Op
	event    uint64 // number of the run's last event after the call was handled
}

// maxInner bounds the distance in bytes between the frames of a function of the table and of the
// function of the table that it calls.
const maxInner = 512

// insideLastCall reports whether a call is made by the function whose call was recorded just before,
// as C11's mtx_unlock calls pthread_mutex_unlock, and a library of LD_PRELOAD that wraps it the real
// one: both are one operation.
func (t *thread) insideLastCall(r *bpf.Record) bool {
	u := &t.lastCall
	return u.addr == r.Object && u.op == bpf.Op(r.Op) && u.site != r.Site && u.event == t.lastEvent && r.Sp <= u.sp && u.sp-r.Sp < maxInner
}

// atEntry handles a call that is recorded at its entry alone, unless it is part of the last one.
func (l *locks) atEntry(t *thread, r *bpf.Record) {
	if t.insideLastCall(r) {
		t.lastCall.event = l.stats.Events
		return
	}
	switch bpf.Op(r.Op) {
	case bpf.OpRelease:
		l.releasing(t, r)
	case bpf.OpSignal:
		l.signals(t, r, event.Signal)
	case bpf.OpBroadcast:
		l.signals(t, r, event.Broadcast)
	case bpf.OpSemPost:
		obj := l.object(t, r, event.KindSemaphore)
		obj.permits++
		l.emitOn(t, r, event.SemPost, obj)
	}
	l.setLastCall(t, r)
}

func (l *locks) setLastCall(t *thread, r *bpf.Record) {
	t.lastCall = lastCall{addr: r.Object, sp: r.Sp, site: r.Site, op: bpf.Op(r.Op), event: l.stats.Events}
}

// emitUnheld sends a ReleaseUnheld if it is certain that t releases obj without holding it.
// Cond is the condition that t is about to wait on; nil for an unlock.
func (l *locks) emitUnheld(t *thread, r *bpf.Record, obj, cond *object) {
	if !l.knowsHolders(t, obj) {
		return
	}
	e := l.begin(t, r, event.ReleaseUnheld)
	e.Object, e.Kind = obj.id, obj.kind
	if cond != nil {
		e.Object2, e.Flags = cond.id, event.InCondWait
	}
	l.send()
}

// knowsHolders reports whether it is certain that t does not hold obj if no acquisition by t
// was recorded.
func (l *locks) knowsHolders(t *thread, obj *object) bool {
	switch {
	case l.leaving.mayHold(obj):
		return false
	case l.stats.ThreadsWithHoles > 0 || obj.unlockedByOther || obj.holderUncertain || t.process.inParentMemory || obj.kind == event.KindSpin:
		return false
	case !l.attached || obj.initialised:
		return true
	}
	return t.createdAt > l.startTime && !t.process.forked
}

// usedDestroyed handles a lock call that failed. It reports whether the mutex was destroyed
// before, so that the call is a misuse and no failed acquisition.
func (l *locks) usedDestroyed(t *thread, r *bpf.Record) bool {
	if r.Result != errInvalid || l.site(r).Flags&event.Timed != 0 || t.process.objects[r.Object] != nil || l.stats.ThreadsWithHoles > 0 {
		return false
	}
	g, ok := l.endedObjects.get(t.process, r.Object)
	if !ok || !g.destroyed || g.kind != event.KindMutex {
		return false
	}
	l.emitOnEnded(t, r, event.UseDestroyed, g, 0)
	return true
}

// emitOnEnded sends the event of a misuse of an object that was destroyed.
func (l *locks) emitOnEnded(t *thread, r *bpf.Record, op event.Op, g endedObject, flags event.Flags) {
	e := l.begin(t, r, op)
	e.Object, e.Kind, e.Flags = g.id, g.kind, flags
	l.send()
}

// emitMarked handles a use of a condition variable. The C library sets a mark in its memory
// when it destroys it, and any initialisation, with or without a call, clears the mark. If
// the record shows the mark and the destruction was recorded, emitMarked sends a
// UseDestroyed and returns true.
func (l *locks) emitMarked(t *thread, r *bpf.Record) bool {
	if r.Marks()&bpf.CondDestroyed == 0 || l.stats.ThreadsWithHoles > 0 {
		return false
	}
	g, ok := l.endedObjects.get(t.process, r.Object)
	if !ok || !g.destroyed || g.kind != event.KindCond {
		return false
	}
	l.emitOnEnded(t, r, event.UseDestroyed, g, 0)
	return true
}

// signals handles a signal or a broadcast. It makes no event of that kind for a condition
// variable that was destroyed, since no thread waits on it. If fewer threads wait by the memory of
// the condition than were seen to, the event has their number, unless another process or a cancellation
// may have ended a wait.
func (l *locks) signals(t *thread, r *bpf.Record, op event.Op) {
	if l.emitMarked(t, r) && l.liveObject(t.process, r.Object) == nil {
		return
	}
	obj := l.object(t, r, event.KindCond)
	e := l.begin(t, r, op)
	e.Object, e.Kind = obj.id, obj.kind
	if n := r.Marks() >> bpf.WaitersShift; l.site(r).CountsWaiters && n < uint64(obj.waiters) && !obj.waitersUncertain && !t.process.cancelsUnknown {
		e.Value, e.Flags = n, event.HasValue
	}
	l.send()
}

// mayInherit handles the return of a call by which t may have acquired a mutex whose last
// owner died while holding it.
func (l *locks) mayInherit(t *thread, r *bpf.Record, obj *object) {
	if r.Result != errOwnerDead || !l.site(r).ReportsOwnerDead {
		return
	}
	if h := t.holding(obj); h != nil {
		h.inconsistent = true
	}
	if key := (channelKey{object: obj.addr, kind: channelDeath, tgid: t.process.id}); l.messages.has(key) {
		l.messages.emitReceiveFrom(t, r, key)
	} else {
		l.doubt(t, doubtOwner)
	}
}

// emitOwnerDeath sends, before t ends, a Send for each mutex that it holds and that may be robust: who
// gets it with EOWNERDEAD comes after that.
func (l *locks) emitOwnerDeath(t *thread) {
	for _, h := range t.held {
		if h.obj.attributes {
			own := bpf.Record{Time: l.now, Tid: t.tid, Tgid: t.process.id, Object: h.obj.addr}
			l.messages.emitSendOn(t, &own, channelKey{object: h.obj.addr, kind: channelDeath, tgid: t.process.id})
		}
	}
}

// madeConsistent handles a call of pthread_mutex_consistent.
func (l *locks) madeConsistent(t *thread, r *bpf.Record) {
	obj := l.liveObject(t.process, r.Object)
	if obj == nil || obj.holder == nil {
		return
	}
	if h := obj.holder.holding(obj); h != nil {
		h.inconsistent = false
	}
}

// emitInconsistent sends a ReleaseInconsistent if t is about to release a mutex that it should
// have made consistent before.
func (l *locks) emitInconsistent(t *thread, r *bpf.Record, h *hold, flags event.Flags) {
	if !h.inconsistent || h.obj.unlockedByOther || l.stats.ThreadsWithHoles > 0 {
		return
	}
	h.inconsistent = false
	e := l.begin(t, r, event.ReleaseInconsistent)
	e.Object, e.Kind, e.Flags = h.obj.id, h.obj.kind, flags
	l.send()
}

// cancels handles a request to cancel a thread.
func (l *locks) cancels(t *thread, r *bpf.Record) {
	u := t.process.byPointer(r.Object, r.Time)
	if u == nil {
		t.process.cancelsUnknown = true
		return
	}
	u.cancelled = true
	l.messages.emitSendOn(t, r, cancelKey(u))
	if u.condWait != nil {
		u.condWait.cond.waitersUncertain = true
	}
}

// cancelKey returns the channel of the requests to cancel a thread.
func cancelKey(u *thread) channelKey { return channelKey{object: uint64(u.id), kind: channelCancel} }

// unwinds handles that a thread begins to end. If that was asked of it, it comes after the request.
func (l *locks) unwinds(t *thread, r *bpf.Record) {
	if t.cancelled {
		l.messages.emitReceiveFrom(t, r, cancelKey(t))
	}
}

// leftWait handles the end of a thread, other than by the end of its process, while it was in
// a condition wait as far as the records show. If the thread was cancelled, the
// cancellation acquired the mutex again, and no later record shows that a cleanup handler
// released it: t then ends with the mutex held. If no thread cancelled it, leftWait does
// nothing, since a signal handler may have ended the thread by a system call.
func (l *locks) leftWait(t *thread, r *bpf.Record) {
	if t.condWait == nil || !l.cancelledWait(t) {
		return
	}
	l.acquireAfterCancel(t, nil, l.woken(t, r, event.Inferred|event.TimedOut))
}

// cancelledWait reports whether the condition wait that t is in was ended by its cancellation, if it has ended.
func (l *locks) cancelledWait(t *thread) bool {
	m := t.condWait.mutex
	return t.cancelled && !t.ended && !t.lostEvents && m.holder == nil && !m.ended && !m.unlockedByOther
}

// acquireAfterCancel makes t, which was cancelled in a wait, the holder of the wait's mutex again.
func (l *locks) acquireAfterCancel(t *thread, r *bpf.Record, w *condWait) {
	l.take(t, w.mutex, event.Acquire, event.StackID(w.stack), w.depth)
	e := l.begin(t, r, event.Acquire)
	e.Object, e.Kind, e.Stack = w.mutex.id, w.mutex.kind, event.StackID(w.stack)
	e.Value, e.Flags = event.Cancelled, event.Inferred|event.InCondWait|event.HasValue
	l.send()
}

// emitQuit sends a QuitHolding for each lock with which t, whose call of exit has ended the process, ends,
// if another thread has held it too. In the child of a fork, the copies of its parent's locks have had no
// other holder.
func (l *locks) emitQuit(t *thread, r *bpf.Record) {
	if t.quit == 0 || r == nil || r.Flags&bpf.RecProcess == 0 || l.stats.ThreadsWithHoles > 0 {
		return
	}
	for _, h := range t.held {
		peer := h.obj.otherUser
		if peer == t.id { // of a read-write lock the last one may be another reader
			peer = h.obj.lastUser
		}
		if peer == 0 || h.obj.unlockedByOther || h.obj.holderUncertain {
			continue
		}
		e := l.begin(t, r, event.QuitHolding)
		e.Object, e.Kind, e.Peer, e.Stack = h.obj.id, h.obj.kind, peer, t.quit
		l.send()
	}
}

// pageSize divides the addresses of named semaphores: sem_open, which is not observed, maps
// each, perhaps at the address of a destroyed one.
const pageSize = 4096

// emitReused handles the first use of an address without a recorded initialisation. Barriers
// and semaphores are initialised by calls only: one that was initialised and destroyed by
// calls is still destroyed. A read-write lock or a spin lock may have been initialised
// without a call, so that its event is inferred. The thread that held a lock when its memory was freed
// unlocks that lock.
func (l *locks) emitReused(t *thread, r *bpf.Record, addr uint64) {
	kind := l.site(r).Kind
	g, ok := l.endedObjects.get(t.process, addr)
	if ok && g.freedFrom == t && bpf.Op(r.Op) == bpf.OpRelease && l.stats.ThreadsWithHoles == 0 {
		l.emitOnEnded(t, r, event.UseDestroyed, g, 0)
		return
	}
	if !ok || addr != r.Object || !g.destroyed || g.held || g.kind != kind || l.stats.ThreadsWithHoles > 0 {
		return
	}
	switch op := bpf.Op(r.Op); {
	case (op == bpf.OpSemPost || op == bpf.OpSemWait || op == bpf.OpBarrier && r.Flags&bpf.RecLeave == 0) && g.onlyByCalls(addr):
		l.emitOnEnded(t, r, event.UseDestroyed, g, 0)
	case (op == bpf.OpAcquire || op == bpf.OpAcquireRead) && (kind == event.KindSpin || kind == event.KindRWLock && g.initialised):
		l.emitOnEnded(t, r, event.UseDestroyed, g, event.Inferred)
	}
}

// destroyedAgain handles the destroy of what is not alive, as far as it is known. If a call has
// destroyed it before, it was not initialised since then: it has the mark of the C library, or can be
// initialised only by a call. What may have been initialised without one makes an inferred event.
func (l *locks) destroyedAgain(t *thread, r *bpf.Record) {
	g, ok := l.endedObjects.get(t.process, r.Object)
	if !ok || !g.destroyed || g.kind != l.site(r).Kind || l.stats.ThreadsWithHoles > 0 {
		return
	}
	var flags event.Flags
	switch marked := l.site(r).Marks; {
	case marked && g.kind == event.KindMutex:
		ok = r.Marks() == bpf.MutexDestroyed
	case marked && g.kind == event.KindCond:
		ok = r.Marks()&bpf.CondDestroyed != 0
	case g.kind == event.KindBarrier || g.kind == event.KindSemaphore:
		ok = g.onlyByCalls(r.Object)
	default:
		ok, flags = g.initialised && !g.held, event.Inferred
	}
	if ok {
		l.emitOnEnded(t, r, event.DestroyAgain, g, flags)
	}
}

// onlyByCalls reports whether a destroyed barrier or semaphore can be initialised again only by a call
// that is recorded.
func (g *endedObject) onlyByCalls(addr uint64) bool {
	return g.private && (g.kind == event.KindBarrier || addr%pageSize != 0)
}

// joinableByDefault reports whether pthread_create's argument attr certainly makes a joinable
// thread: it is NULL, or the value with which the C library's own thrd_create calls the
// function.
func joinableByDefault(attr uint64) bool { return attr == 0 || attr == ^uint64(0) }

// endedObject describes the last object at an address, whose lifetime is over.
type endedObject struct {
	id        event.ObjectID
	kind      event.Kind
	destroyed bool // a call destroyed it; false: its end was inferred from the next use of its memory
	held      bool // a thread held it when it was destroyed, so that the call may have failed, or freed
	// freedFrom is the thread that held it exclusively when its memory was freed; nil: none.
	freedFrom   *thread
	initialised bool // a call initialised it
	private     bool // that call made it for this process only
}

// endedObjects has the last object of each of the addresses where an object ended last.
type endedObjects struct {
	recentMap[endedObject]
	heldDiscarded bool // an endedObject with held was discarded
}

// add adds an object whose lifetime ends with an event with these flags.
func (g *endedObjects) add(obj *object, flags event.Flags) {
	ended := endedObject{id: obj.id, kind: obj.kind, destroyed: flags == 0, initialised: obj.initialised, private: obj.private}
	if ended.destroyed || flags&event.Freed != 0 {
		ended.held = obj.held()
	}
	if flags&event.Freed != 0 && !obj.unlockedByOther && !obj.holderUncertain {
		ended.freedFrom = obj.holder
	}
	old, full := g.put(obj.process, obj.addr, ended)
	g.heldDiscarded = g.heldDiscarded || full && old.held
}

// mayBeHeld reports whether a new object at an address may be the one that was destroyed or freed there
// while a thread held it. A thread may then still hold it.
func (g *endedObjects) mayBeHeld(p *process, addr uint64) bool {
	old, _ := g.get(p, addr)
	return old.held || g.heldDiscarded
}

// maxRecent bounds the addresses of a recentMap.
const maxRecent = 1 << 10

type processAddr struct {
	process *process
	addr    uint64
}

// recentMap maps addresses of processes to values, and keeps the maxRecent addresses that were
// added last. The zero value is empty.
type recentMap[V any] struct {
	values map[processAddr]V
	order  []processAddr // in order of addition; a circular buffer once it is full
	next   int           // index in order of the oldest address, once order is full
}

// put sets the value at an address. If that discards the value of another address for lack
// of room, it returns that value, and full is true.
func (l *recentMap[V]) put(p *process, addr uint64, v V) (evicted V, full bool) {
	key := processAddr{p, addr}
	if _, known := l.values[key]; known {
		l.values[key] = v
		return evicted, false
	}
	switch {
	case l.values == nil:
		l.values = map[processAddr]V{}
		fallthrough
	case len(l.order) < maxRecent:
		l.order = append(l.order, key)
	default:
		evicted, full = l.values[l.order[l.next]]
		delete(l.values, l.order[l.next])
		l.order[l.next] = key
		l.next = (l.next + 1) % maxRecent
	}
	l.values[key] = v
	return evicted, full
}

func (l *recentMap[V]) get(p *process, addr uint64) (v V, ok bool) {
	v, ok = l.values[processAddr{p, addr}]
	return v, ok
}

// removeProcess removes the values of a process, whose addresses now belong to another
// program.
func (l *recentMap[V]) removeProcess(p *process) {
	for key := range l.values {
		if key.process == p {
			delete(l.values, key)
		}
	}
}
