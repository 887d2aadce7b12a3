// Package misuse finds where a run broke the rules of the thread interface: it released a lock
// that it did not hold, destroyed an object in use, joined a thread twice. The input is events;
// the output is findings of kind misuse, each with the rule (finding.Rule), the wrong operation
// and the conflicting operation: the acquire of the lock, the creation of the thread, the begin of
// the wait. All findings are observed, none is predicted.
//
// Which thread holds which lock is known from package locks. The analysis itself keeps the other
// state that operations have an effect on. A wrong operation without effect is an event of its own
// (event.ReleaseUnheld and similar ones). After a hole in the trace nothing more is found, because
// the lost events may have made the operations correct. The analysis does not know addresses or
// names.
package misuse

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Options selects the rules that are checked. The zero value checks all.
type Options struct {
	Off    bool           // check no rule
	Except []finding.Rule // rules that are not checked
	// Locks is the table of the locks that threads hold. The caller passes it each event before
	// the analysis gets the event. Default: the analysis has a table of its own.
	Locks *locks.Table
}

// Analysis finds misuse. It implements finding.Analysis.
type Analysis struct {
	opts           Options
	locks          *locks.Table
	ownLocks       bool                       // locks is not shared with other analyses
	threads        map[event.ThreadID]*thread // by id: the living threads
	threadCache    [cacheSize]*thread
	withRemoved    int // number of threads whose removed is not empty
	conds          map[event.ObjectID]*condition
	waiting        int // number of threads in waits on conditions
	barriers       map[event.ObjectID]*barrier
	withAttributes map[event.ObjectID]bool // live mutexes with attributes, which may be robust
	anyRobust      bool                    // withAttributes had no more room, so any mutex may be robust
	removals       []removal               // locks removed from holders by the latest consecutive events
	destroys       recentSteps             // the latest destroys of objects
	replaced       use                     // of the object of the latest inferred Destroy
	creations      creations
	freedLocks     freedLocks
	off            bool // nothing is found any more: there was a hole, or Options.Off is set
	found          map[key]*finding.Finding
}

// Bounds of what is kept, so that memory does not depend on the length of the run.
const (
	cacheSize      = 64      // number of entries of the direct-mapped cache of threads
	maxFound       = 1 << 12 // findings; beyond it, all of one rule and call stack are one
	maxRecentSteps = 1 << 10 // entries of each recentSteps: destroyed objects, joined threads, and so on
	releases       = 4       // latest releases of a thread that are kept; a power of 2
	maxLive        = 1 << 16 // each of conditions, barriers, and mutexes with attributes
)

// key identifies a finding.
type key struct {
	rule              finding.Rule
	stack, otherStack event.StackID
	object            event.ObjectID
}

// thread is a living thread. The fields that a release needs come first.
type thread struct {
	id   event.ThreadID
	next uint32 // number of releases so far; modulo releases, the index in released of the oldest
	// released are the acquires of the locks that it released last.
	released [releases]locks.Held
	// removed are the locks removed from the thread without an operation of its own, since its
	// latest operation.
	removed []removal
	wait    *condition
	barrier *barrier
	arrival uint64 // of the thread at barrier: its number among all arrivals there
}

// step is an event as findings report it.
type step struct {
	seq, time uint64
	object    event.ObjectID
	with      event.ObjectID // of a wait: the mutex
	thread    event.ThreadID
	peer      event.ThreadID
	stack     event.StackID
	op        event.Op
	flags     event.Flags
}

// removal is a lock that was removed from the thread that held it.
type removal struct {
	acquire         step
	releasedByOther bool   // another thread had released it
	seq             uint64 // of the event that removed it
}

// New returns an analysis.
func New(o Options) *Analysis {
	a := &Analysis{
		opts: o, locks: o.Locks, ownLocks: o.Locks == nil, off: o.Off,
		threads: map[event.ThreadID]*thread{}, conds: map[event.ObjectID]*condition{}, barriers: map[event.ObjectID]*barrier{},
		withAttributes: map[event.ObjectID]bool{}, creations: newCreations(), found: map[key]*finding.Finding{},
	}
	if a.ownLocks {
		a.locks = locks.New()
	}
	return a
}

// acquireBy returns the acquire of a lock that a thread holds or held.
func acquireBy(thread event.ThreadID, h *locks.Held) step {
	op := event.Acquire
	if h.Shared() {
		op = event.AcquireRead
	}
	return step{seq: h.Seq, time: h.Time, object: h.Lock(), thread: thread, stack: h.Stack, op: op, flags: h.Flags}
}

func stepOf(e *event.Event) step {
	return step{seq: e.Seq, time: e.Time, object: e.Object, with: e.Object2, thread: e.Thread, peer: e.Peer, stack: e.Stack, op: e.Op, flags: e.Flags}
}

func (s step) finding() finding.Step {
	return finding.Step{Seq: s.seq, Time: s.time, Thread: s.thread, Op: s.op, Flags: s.flags &^ event.HasValue, Object: s.object, Peer: s.peer, Stack: s.stack}
}

// Event processes the next event of the run; finding.Analysis.
func (a *Analysis) Event(e *event.Event) {
	if a.off {
		return
	}
	switch {
	case e.Op.IsAcquire():
		if a.ownLocks {
			a.locks.Thread(e.Thread).Acquire(e)
		}
		if a.withRemoved > 0 {
			a.clearRemoved(a.thread(e.Thread))
		}
	case e.Op == event.Release:
		held := a.locks.Thread(e.Thread)
		if a.ownLocks {
			held.Release(e.Object)
		}
		a.release(e, held.Released())
	case !e.Op.IsAccess():
		a.rare(e)
	}
}

// rare processes an event that is neither an access, an acquire nor a release.
func (a *Analysis) rare(e *event.Event) {
	if a.ownLocks {
		a.locks.Event(e)
	}
	t := a.thread(e.Thread)
	if e.Op != event.End {
		a.clearRemoved(t)
	}
	switch e.Op {
	case event.AcquireFailed:
		a.acquireRefused(e)
	case event.ReleaseUnheld:
		a.releaseUnheld(t, e)
	case event.UseDestroyed:
		if !a.unlockedFreed(e) {
			a.onDestroyed(finding.UseDestroyed, e)
		}
	case event.QuitHolding:
		a.quitHolding(e)
	case event.DestroyAgain:
		a.onDestroyed(finding.DestroyTwice, e)
	case event.ReleaseInconsistent:
		if h := a.held(e); h != nil {
			a.report(finding.UnlockInconsistent, stepOf(e), acquireBy(e.Thread, h))
		}
	case event.Wait, event.Wake, event.Signal, event.Broadcast:
		a.condition(t, e)
	case event.BarrierArrive, event.BarrierDepart:
		a.barrier(t, e)
	case event.Init, event.Destroy:
		a.lifetime(e)
	case event.Fork, event.Join, event.JoinFailed, event.Detach, event.DetachAgain, event.End:
		a.life(t, e)
	case event.Hole:
		a.hole()
	}
}

func (a *Analysis) thread(id event.ThreadID) *thread {
	if t := a.threadCache[id%cacheSize]; t != nil && t.id == id {
		return t
	}
	return a.lookup(id)
}

// lookup returns the state of a thread that is not in the cache, and puts it there.
func (a *Analysis) lookup(id event.ThreadID) *thread {
	t := a.threads[id]
	if t == nil {
		t = &thread{id: id}
		a.threads[id] = t
	}
	a.threadCache[id%cacheSize] = t
	return t
}

// clearRemoved is called at an operation of the thread itself: that the locks were removed from it
// before has nothing to do with its end.
func (a *Analysis) clearRemoved(t *thread) {
	if len(t.removed) > 0 {
		t.removed = t.removed[:0]
		a.withRemoved--
	}
}

// hole drops all state that could still lead to a finding, and the findings that involve two
// threads: events are lost before the hole is recorded, and the lost ones may have made the
// operations correct.
func (a *Analysis) hole() {
	found := a.found
	maps.DeleteFunc(found, func(_ key, f *finding.Finding) bool {
		return slices.ContainsFunc(f.Threads, func(id event.ThreadID) bool { return id != f.Threads[0] })
	})
	*a = *New(a.opts)
	a.off, a.found = true, found
}

// release keeps the acquire of the lock that the thread has released, nil if it did not hold the
// lock. If the lock was removed from the thread because the thread ends or another thread destroys
// the lock, it is kept in removed until the event that shows the reason.
func (a *Analysis) release(e *event.Event, h *locks.Held) {
	t := a.thread(e.Thread)
	inferred := e.Flags&event.Inferred != 0
	if !inferred {
		a.clearRemoved(t)
	}
	switch {
	case h == nil:
	case inferred:
		a.remove(t, removal{acquire: acquireBy(t.id, h), releasedByOther: h.ReleasedByOther, seq: e.Seq})
	default:
		t.released[t.next%releases] = *h
		t.next++
	}
}

// remove keeps a lock that was removed from a thread.
func (a *Analysis) remove(t *thread, r removal) {
	if len(t.removed) == 0 {
		a.withRemoved++
	}
	t.removed = append(t.removed, r)
	if n := len(a.removals); n > 0 && a.removals[n-1].seq != r.seq-1 {
		a.removals = a.removals[:0]
	}
	a.removals = append(a.removals, r)
}

// held returns the acquire of the event's lock if the event's thread holds the lock, else nil.
func (a *Analysis) held(e *event.Event) *locks.Held {
	t := a.locks.Thread(e.Thread)
	if i := t.Find(e.Object); i >= 0 {
		return &t.Held[i]
	}
	return nil
}

// acquireRefused processes an acquire that the lock refused because the thread already holds it.
func (a *Analysis) acquireRefused(e *event.Event) {
	if e.Flags&(event.HasValue|event.Try) != event.HasValue {
		return
	}
	if h := a.held(e); h != nil {
		a.report(finding.Relock, stepOf(e), acquireBy(e.Thread, h))
	}
}

// releaseUnheld processes a release, or a wait on a condition, by a thread that does not hold the
// lock.
func (a *Analysis) releaseUnheld(t *thread, e *event.Event) {
	wrong := stepOf(e)
	by, h := a.locks.Holder(e.Object)
	if e.Flags&event.InCondWait != 0 {
		wrong.op, wrong.object, wrong.with = event.Wait, e.Object2, e.Object
	}
	switch {
	case wrong.op == event.Wait && h != nil:
		a.report(finding.WaitNotHeld, wrong, acquireBy(by.ID, h))
	case wrong.op == event.Wait:
		a.report(finding.WaitNotHeld, wrong, t.lastReleased(e.Object)...)
	case h != nil:
		a.report(finding.UnlockByOther, wrong, acquireBy(by.ID, h))
	default:
		a.report(finding.UnlockNotHeld, wrong, t.lastReleased(e.Object)...)
	}
}

// lastReleased returns the latest acquire of a lock that is among the last locks that the thread
// released.
func (t *thread) lastReleased(lock event.ObjectID) []step {
	for i := range uint32(releases) {
		if h := &t.released[(t.next-1-i)%releases]; h.Lock() == lock && h.Seq != 0 {
			return []step{acquireBy(t.id, h)}
		}
	}
	return nil
}

// lifetime processes Init and Destroy.
func (a *Analysis) lifetime(e *event.Event) {
	if e.Op == event.Init {
		a.initialise(e)
		return
	}
	if e.Flags&event.Inferred == 0 {
		a.destroy(e)
		a.destroys.add(stepOf(e))
	} else if e.Flags&event.Freed != 0 {
		a.freed(e)
	} else {
		a.replaced = a.useAt(e)
	}
	delete(a.withAttributes, e.Object)
	delete(a.barriers, e.Object)
	delete(a.conds, e.Object)
}

// use is how a thread uses an object whose lifetime ends.
type use struct {
	object event.ObjectID
	by     step        // the acquire, the wait or the arrival of the thread; op is None if no thread uses it
	doubt  reason.What // why the thread may not use it any more; "": it does
}

// useAt returns how a thread uses the object that an event destroys.
func (a *Analysis) useAt(e *event.Event) use {
	u := use{object: e.Object}
	switch e.Kind {
	case event.KindCond:
		var certain bool
		if u.by, certain = a.conds[e.Object].blocked(0); !certain {
			u.doubt = reason.PerhapsGaveUp
		}
	case event.KindBarrier:
		if b := a.barriers[e.Object]; b.blocked() {
			u.by = b.last
		} else {
			u.by, u.doubt = b.leaving(), reason.PerhapsLeft
		}
	default:
		if r, ok := a.heldBefore(e); ok {
			u.by = r.acquire
		}
	}
	return u
}

// heldBefore returns a lock that a destroy found held: the event just before the destroy is the release
// that removed it from its holder.
func (a *Analysis) heldBefore(e *event.Event) (removal, bool) {
	n := len(a.removals)
	if n == 0 || a.removals[n-1].seq != e.Seq-1 {
		return removal{}, false
	}
	i := slices.IndexFunc(a.removals, func(r removal) bool { return r.acquire.object == e.Object })
	if i < 0 || a.removals[i].releasedByOther {
		return removal{}, false
	}
	return a.removals[i], true
}

// initialise processes an Init. If it initialises an object again, the inferred Destroy of that
// object came just before.
func (a *Analysis) initialise(e *event.Event) {
	if u := a.replaced; e.Object2 != 0 && u.object == e.Object2 {
		a.reinitialised(stepOf(e), u)
	}
	switch {
	case e.Flags&event.HasValue == 0:
	case e.Kind == event.KindMutex && e.Value != 0:
		if len(a.withAttributes) < maxLive {
			a.withAttributes[e.Object] = true
		} else {
			a.anyRobust = true
		}
	case e.Kind == event.KindBarrier && len(a.barriers) < maxLive:
		a.barriers[e.Object] = &barrier{threads: e.Value}
	}
}

// reinitialised reports that an object was initialised again while it was used as u says. A lock whose
// acquire is inferred is the copy that the child of a fork has: programs initialise it again to
// make it usable.
func (a *Analysis) reinitialised(wrong step, u use) {
	wrong.object, wrong.with = u.object, 0
	switch {
	case u.by.op == event.None:
	case !u.by.op.IsAcquire():
		a.reportDoubted(u.doubt, finding.ReinitWaited, wrong, u.by)
	case u.by.flags&event.Inferred == 0:
		a.report(finding.ReinitHeld, wrong, u.by)
		a.explained(u.object)
	}
}

// explained is called when a lock was removed from its holders because it was destroyed or initialised
// again: they do not hold it at their end.
func (a *Analysis) explained(lock event.ObjectID) {
	for _, r := range a.removals {
		if t := a.threads[r.acquire.thread]; t != nil && len(t.removed) > 0 {
			t.removed = slices.DeleteFunc(t.removed, func(r removal) bool { return r.acquire.object == lock })
			if len(t.removed) == 0 {
				a.withRemoved--
			}
		}
	}
}

// destroy reports a destroy of an object in use. After a broadcast a condition may be destroyed at
// once, and a barrier once a thread has left it. A wait with a time limit may be over.
func (a *Analysis) destroy(e *event.Event) {
	switch u := a.useAt(e); {
	case u.by.op == event.None || u.doubt != "":
	case u.by.op.IsAcquire():
		a.report(finding.DestroyHeld, stepOf(e), u.by)
		a.explained(u.object)
	default:
		a.report(finding.DestroyWaited, stepOf(e), u.by)
	}
}

// onDestroyed reports an operation on an object that was destroyed.
func (a *Analysis) onDestroyed(rule finding.Rule, e *event.Event) {
	s, ok := a.destroys.last(func(s *step) bool { return s.object == e.Object })
	if !ok {
		return
	}
	wrong := stepOf(e)
	wrong.flags &^= event.Inferred // it means that an Init may have been missed
	var doubt reason.What
	if e.Flags&event.Inferred != 0 {
		doubt = reason.PerhapsInit
	}
	a.reportDoubted(doubt, rule, wrong, s)
}

// reportDoubted is report of a finding that is only likely if there is a reason for doubt, unless
// another instance of it has none.
func (a *Analysis) reportDoubted(doubt reason.What, rule finding.Rule, wrong step, others ...step) {
	switch f := a.report(rule, wrong, others...); {
	case f == nil:
	case doubt == "":
		f.Confidence, f.Reason = finding.Observed, reason.Reason{}
	case f.Count == 1:
		f.Confidence, f.Reason = finding.Likely, reason.Reason{What: doubt}
	}
}

// report records a finding: the wrong operation, and those it conflicts with. It returns the
// finding, or nil if the rule is not checked.
func (a *Analysis) report(rule finding.Rule, wrong step, others ...step) *finding.Finding {
	if slices.Contains(a.opts.Except, rule) {
		return nil
	}
	k := key{rule: rule, stack: wrong.stack, object: wrong.object}
	if len(others) > 0 {
		k.otherStack = others[0].stack
	}
	if _, known := a.found[k]; !known && len(a.found) >= maxFound {
		k.otherStack, k.object = 0, 0
	}
	if f := a.found[k]; f != nil {
		f.Count++
		return f
	}
	f := &finding.Finding{Kind: finding.Misuse, Rule: rule, Confidence: finding.Observed, Count: 1}
	for _, s := range append([]step{wrong}, others...) {
		f.Evidence = append(f.Evidence, s.finding())
		f.Threads = append(f.Threads, s.thread)
		for _, id := range []event.ObjectID{s.object, s.with} {
			if id != 0 && !slices.Contains(f.Objects, id) {
				f.Objects = append(f.Objects, id)
			}
		}
	}
	a.found[k] = f
	return f
}

// Finish returns the findings, sorted by their wrong operations; finding.Analysis.
func (a *Analysis) Finish() []finding.Finding {
	a.reportDetached()
	for _, c := range a.conds {
		for i := range c.waiters {
			a.reportForgotten(&c.waiters[i])
		}
	}
	out := make([]finding.Finding, 0, len(a.found))
	for _, f := range a.found {
		out = append(out, *f)
	}
	slices.SortFunc(out, func(x, y finding.Finding) int {
		return cmp.Or(cmp.Compare(x.Evidence[0].Seq, y.Evidence[0].Seq), cmp.Compare(x.Rule, y.Rule), slices.Compare(x.Objects, y.Objects),
			cmp.Compare(x.Evidence[len(x.Evidence)-1].Seq, y.Evidence[len(y.Evidence)-1].Seq))
	})
	return out
}

// Remember adds the threads and objects that a finding may still name.
func (a *Analysis) Remember(n *event.Names) {
	for _, f := range a.found {
		f.Remember(n)
		for _, id := range f.Objects {
			n.AddObject(id)
		}
	}
	for _, t := range a.threads {
		n.AddThread(t.id)
		for _, r := range t.removed {
			n.AddObject(r.acquire.object)
		}
		for i := range t.released {
			n.AddObject(t.released[i].Lock())
		}
	}
	a.locks.Remember(n)
	for id, c := range a.conds {
		for _, w := range c.waiters {
			n.AddObject(id)
			n.AddObject(w.mutex)
		}
	}
	for id := range a.barriers {
		n.AddObject(id)
	}
	a.destroys.remember(n)
	a.creations.remember(n)
}
