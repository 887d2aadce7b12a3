package observer

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// What breaks a rule of the threads' interface has mostly no effect that other events
// tell of: an unlock by a thread that does not hold the lock releases nothing that the
// observer knows of. Such calls are events of their own (event.ReleaseUnheld and its
// kin), where what was seen leaves no doubt: the whole life of the lock, or that of the
// thread, and no hole anywhere.

// Numbers of errors by which calls are refused.
const (
	errNotOwner = 1   // EPERM
	errNoThread = 3   // ESRCH
	errInvalid  = 22  // EINVAL
	errDeadlock = 35  // EDEADLK
	errDead     = 130 // EOWNERDEAD: the call has succeeded
)

// unlocked is the last release of a thread, or what it has detached last.
type unlocked struct {
	addr, sp uint64
	site     uint32
	event    uint64 // its number
}

// maxInner bounds how far below the frame of an unlock function another lies that it
// calls, in bytes.
const maxInner = 512

// inner reports whether a release is a part of the one just before: C11's mtx_unlock
// calls pthread_mutex_unlock. Likewise a detach.
func (t *thread) inner(r *bpf.Record) bool {
	u := &t.unlocked
	return u.addr == r.Object && u.site != r.Site && u.event == t.seen && r.Sp <= u.sp && u.sp-r.Sp < maxInner
}

// tellUnheld says that t gives obj up without holding it; cond is what it is about to
// wait on, or nil.
func (o *Observer) tellUnheld(t *thread, r *bpf.Record, obj, cond *object) {
	if !o.knowsHolders(t, obj) || cond == nil && t.inner(r) {
		return
	}
	e := o.begin(t, r, event.ReleaseUnheld)
	e.Object, e.Kind = obj.id, obj.kind
	if cond != nil {
		e.Object2, e.Flags = cond.id, event.InCondWait
	}
	o.send()
}

// knowsHolders reports whether it is certain that t does not hold obj, if it was not
// seen to take it.
func (o *Observer) knowsHolders(t *thread, obj *object) bool {
	switch {
	case o.stats.Holed > 0 || obj.handed || obj.doubted || t.process.lent || obj.kind == event.KindSpin:
		return false
	case !o.opts.Attached || obj.made:
		return true
	}
	return t.born > o.from && !t.process.forked
}

// refused serves a lock call that failed; it reports whether that was all.
func (o *Observer) refused(t *thread, r *bpf.Record) bool {
	if r.Result != errInvalid || o.site(r).Flags&event.Timed != 0 || t.process.objects[r.Object] != nil || o.stats.Holed > 0 {
		return false
	}
	g, ok := o.graves.get(t.process, r.Object)
	if !ok || !g.destroyed || g.kind != event.KindMutex {
		return false
	}
	o.tellDestroyed(t, r, g, 0)
	return true
}

func (o *Observer) tellDestroyed(t *thread, r *bpf.Record, g grave, flags event.Flags) {
	e := o.begin(t, r, event.UseDestroyed)
	e.Object, e.Kind, e.Flags = g.id, g.kind, flags
	o.send()
}

// tellMarked serves a use of a condition. The C library sets a mark when it destroys one, and
// whatever makes it again clears the mark, with or without a call. It reports whether
// there was one.
func (o *Observer) tellMarked(t *thread, r *bpf.Record) bool {
	if r.Extra == 0 || o.stats.Holed > 0 {
		return false
	}
	g, ok := o.graves.get(t.process, r.Object)
	if !ok || !g.destroyed || g.kind != event.KindCond {
		return false
	}
	o.tellDestroyed(t, r, g, 0)
	return true
}

// signals serves a signal or a broadcast. Nobody waits on what was destroyed.
func (o *Observer) signals(t *thread, r *bpf.Record, op event.Op) {
	if o.tellMarked(t, r) && o.objectIf(t.process, r.Object) == nil {
		return
	}
	o.emitOn(t, r, op, o.object(t, r, event.KindCond))
}

// inherits serves the return of a call by which t may have a mutex whose last owner died
// with it.
func (o *Observer) inherits(t *thread, r *bpf.Record, obj *object) {
	if r.Result != errDead || !o.site(r).TellsDead {
		return
	}
	if h := t.holding(obj); h != nil {
		h.dead = true
	}
}

// madeConsistent serves pthread_mutex_consistent.
func (o *Observer) madeConsistent(t *thread, r *bpf.Record) {
	obj := o.objectIf(t.process, r.Object)
	if obj == nil || obj.holder == nil {
		return
	}
	if h := obj.holder.holding(obj); h != nil {
		h.dead = false
	}
}

// tellInconsistent says that t is about to give back a mutex that it should have made
// consistent before.
func (o *Observer) tellInconsistent(t *thread, r *bpf.Record, h *hold, flags event.Flags) {
	if !h.dead || h.obj.handed || o.stats.Holed > 0 {
		return
	}
	h.dead = false
	e := o.begin(t, r, event.ReleaseInconsistent)
	e.Object, e.Kind, e.Flags = h.obj.id, h.obj.kind, flags
	o.send()
}

// cancels serves a request to cancel a thread.
func (o *Observer) cancels(t *thread, r *bpf.Record) {
	if u := t.process.byPointer(r.Object, r.Time); u != nil {
		u.cancelled = true
	}
}

// leftWait serves the end of a thread, of its own, that was not seen to return from a wait
// on a condition. If it was cancelled, that took the mutex again, and no record since
// says that a cleanup handler gave it back. It may also have ended by a system call
// of a signal handler's, where nobody cancelled it.
func (o *Observer) leftWait(t *thread, r *bpf.Record) {
	w := t.wait
	if w == nil || !t.cancelled || t.ended || t.holed || w.mutex.holder != nil || w.mutex.gone || w.mutex.handed {
		return
	}
	o.woken(t, r, event.Inferred|event.TimedOut)
	o.evict(w.mutex, event.Acquire)
	t.held = append(t.held, hold{obj: w.mutex, depth: w.depth, place: event.StackID(w.place)})
	w.mutex.holder = t
	e := o.begin(t, nil, event.Acquire)
	e.Object, e.Kind, e.Stack = w.mutex.id, w.mutex.kind, event.StackID(w.place)
	e.Value, e.Flags = event.Cancelled, event.Inferred|event.InCondWait|event.HasValue
	o.send()
}

// pageSize is what the addresses of named semaphores are a multiple of: sem_open maps
// each, unseen, where another may have been destroyed.
const pageSize = 4096

// tellReused serves the first use of an address that no initialisation told of. Barriers and
// semaphores are made by calls alone: what was made by one and destroyed by one is not
// another's now. A reader-writer lock or a spin lock may be.
func (o *Observer) tellReused(t *thread, r *bpf.Record, addr uint64) {
	kind := o.site(r).Kind
	g, ok := o.graves.get(t.process, addr)
	if !ok || addr != r.Object || !g.destroyed || g.held || g.kind != kind || o.stats.Holed > 0 {
		return
	}
	switch op := bpf.Op(r.Op); {
	case op == bpf.OpSemPost && g.private && addr%pageSize != 0, op == bpf.OpSemWait && g.private && addr%pageSize != 0:
		o.tellDestroyed(t, r, g, 0)
	case op == bpf.OpBarrier && g.private && r.Flags&bpf.RecLeave == 0:
		o.tellDestroyed(t, r, g, 0)
	case (op == bpf.OpAcquire || op == bpf.OpAcquireRead) && (kind == event.KindSpin || kind == event.KindRWLock && g.made):
		o.tellDestroyed(t, r, g, event.Inferred)
	}
}

// joinRefused serves a join that failed. One that only did not wait long enough is no
// misuse.
func (o *Observer) joinRefused(t *thread, r *bpf.Record) {
	if r.Result != errInvalid && r.Result != errNoThread && r.Result != errDeadlock || o.stats.Holed > 0 {
		return
	}
	if t.joined == r.Object && r.Extra < t.joinedAt {
		return
	}
	peer := o.unjoined(t, r)
	if peer == 0 {
		return
	}
	t.joined, t.joinedAt = r.Object, r.Extra
	e := o.begin(t, r, event.JoinFailed)
	e.Peer, e.Value, e.Flags = peer, uint64(r.Result), event.HasValue
	o.send()
}

// detachesAgain serves a detach of nobody that can be detached: of u, which has been, or
// of peer, which had the handle last; nil and 0 if there is none.
func (o *Observer) detachesAgain(t *thread, r *bpf.Record, u *thread, peer event.ThreadID) {
	if u != nil {
		peer = max(peer, u.id)
	}
	if peer == 0 || o.stats.Holed > 0 || t.inner(r) {
		return
	}
	o.begin(t, r, event.DetachAgain).Peer = peer
	o.send()
}

// unjoined finds whom a join that was refused was for: the last that had the handle, be
// it gone or not; 0 if that is unknown.
func (o *Observer) unjoined(t *thread, r *bpf.Record) event.ThreadID {
	last, _ := o.parted.get(t.process, r.Object)
	if u := t.process.byPointer(r.Object, r.Extra); u != nil {
		last = max(last, u.id)
	}
	if last == 0 && r.Result == errDeadlock && t == t.process.leader && t.tp == 0 {
		return t.id // of the first thread alone nobody knows the pointer
	}
	return last
}

// byDefault reports whether pthread_create's argument attr makes a thread that can be
// joined: there are no attributes, or those by which the C library's own thrd_create
// says so.
func byDefault(attr uint64) bool { return attr == 0 || attr == ^uint64(0) }

// retire makes an ended thread that nobody can join any more unknown by its thread
// pointer.
func (o *Observer) retire(t *thread) {
	if t.tp != 0 {
		o.parted.put(t.process, t.tp, t.id)
	}
	o.unlink(t)
}

// grave is what was at an address last.
type grave struct {
	id        event.ObjectID
	kind      event.Kind
	destroyed bool // by a call; else its memory was used again, and nobody said so
	held      bool // a thread held it then, so that the call may have been refused
	made      bool // by a call,
	private   bool // and for this process alone
}

// graves are the addresses where objects were.
type graves struct {
	latest[grave]
	lost bool // one with held was forgotten
}

func (g *graves) bury(obj *object, destroyed bool) {
	held := destroyed && obj.held()
	old, dropped := g.put(obj.process, obj.addr, grave{id: obj.id, kind: obj.kind, destroyed: destroyed, held: held, made: obj.made, private: obj.private})
	g.lost = g.lost || dropped && old.held
}

// held reports whether a new object may be one that was destroyed while it was held:
// then it may be held still.
func (g *graves) held(p *process, addr uint64) bool {
	old, _ := g.get(p, addr)
	return old.held || g.lost
}

// maxLatest is how many addresses are kept.
const maxLatest = 1 << 10

type processAddr struct {
	process *process
	addr    uint64
}

// latest keeps a value for each of the addresses to which one was given last. The zero
// value is empty.
type latest[V any] struct {
	values map[processAddr]V
	order  []processAddr // a ring once it is full
	next   int           // in order: the oldest
}

// put sets the value at an address. It answers which value was forgotten for want of
// room.
func (l *latest[V]) put(p *process, addr uint64, v V) (forgotten V, dropped bool) {
	key := processAddr{p, addr}
	if _, known := l.values[key]; known {
		l.values[key] = v
		return forgotten, false
	}
	switch {
	case l.values == nil:
		l.values = map[processAddr]V{}
		fallthrough
	case len(l.order) < maxLatest:
		l.order = append(l.order, key)
	default:
		forgotten, dropped = l.values[l.order[l.next]]
		delete(l.values, l.order[l.next])
		l.order[l.next] = key
		l.next = (l.next + 1) % maxLatest
	}
	l.values[key] = v
	return forgotten, dropped
}

func (l *latest[V]) get(p *process, addr uint64) (v V, ok bool) {
	v, ok = l.values[processAddr{p, addr}]
	return v, ok
}

// forget empties the places of a process, whose addresses mean something else now.
func (l *latest[V]) forget(p *process) {
	for key := range l.values {
		if key.process == p {
			delete(l.values, key)
		}
	}
}
