// Package misuse finds where a run broke the rules of the thread interface: it released a lock
// that it did not hold, destroyed an object in use, joined a thread twice. The input is events;
// the output is findings of kind misuse, each with the rule (finding.Rule), the wrong operation
// and the conflicting operation: the acquire of the lock, the creation of the thread, the begin of
// the wait. All findings are observed, none is predicted.
//
// The analysis itself keeps the state that operations have an effect on, such as which thread
// holds which lock. A wrong operation without effect is an event of its own (event.ReleaseUnheld
// and similar ones). After a hole in the trace nothing more is found, because the lost events may
// have made the operations correct. The analysis does not know addresses or names.
package misuse

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Options selects the rules that are checked. The zero value checks all.
type Options struct {
	Off    bool           // check no rule
	Except []finding.Rule // rules that are not checked
}

// Analysis finds misuse. It implements finding.Analysis.
type Analysis struct {
	opts        Options
	threads     map[event.ThreadID]*thread // by id: the living threads
	threadCache [cacheSize]*thread
	conds       map[event.ObjectID]*condition
	waiting     int // number of threads in waits on conditions
	barriers    map[event.ObjectID]*barrier
	special     map[event.ObjectID]bool // live mutexes with attributes, which may be robust
	robust      bool                    // special had no more room, so any mutex may be robust
	drops       []hold                  // locks removed from holders by the latest consecutive events
	dead        ring                    // the latest destroyed objects
	makings     makings
	blind       bool // nothing is found any more: there was a hole, or Options.Off is set
	found       map[key]*finding.Finding
}

// Bounds of what is kept, so that memory does not depend on the length of the run.
const (
	cacheSize = 64      // number of entries of the direct-mapped cache of threads
	maxFound  = 1 << 12 // findings; beyond it, all of one rule and call stack are one
	maxRing   = 1 << 10 // entries of each ring: destroyed objects, joined threads, and so on
	releases  = 4       // latest releases of a thread that are kept; a power of 2
	maxLive   = 1 << 16 // each of conditions, barriers, and mutexes with attributes
)

// key identifies a finding.
type key struct {
	rule         finding.Rule
	place, other event.StackID
	object       event.ObjectID
}

// thread is a living thread. The fields that an acquire or a release needs come first.
type thread struct {
	id   event.ThreadID
	next uint32 // number of releases so far; modulo releases, the index in past of the oldest
	held []taking
	// dropped are the locks removed from the thread without an operation of its own, since its
	// latest operation.
	dropped []hold
	// past are the acquires of the locks that it released last.
	past    [releases]taking
	wait    *condition
	barrier *barrier
	arrival uint64 // of the thread at barrier: its number among all arrivals there
}

// taking is an acquire by a thread. It is small, because most events of a run are acquires.
type taking struct {
	seq, time uint64
	object    event.ObjectID
	place     event.StackID
	flags     event.Flags
	op        event.Op
	handed    bool // another thread has released it
}

func (x *taking) step(t *thread) step {
	return step{seq: x.seq, time: x.time, object: x.object, thread: t.id, place: x.place, op: x.op, flags: x.flags}
}

// step is an event as findings report it.
type step struct {
	seq, time uint64
	object    event.ObjectID
	with      event.ObjectID // of a wait: the mutex
	thread    event.ThreadID
	peer      event.ThreadID
	place     event.StackID
	op        event.Op
	flags     event.Flags
}

// hold is a lock that was removed from the thread that held it.
type hold struct {
	taken   step
	handed  bool   // another thread had released it
	dropped uint64 // sequence number of the event that removed it
}

// New returns an analysis.
func New(o Options) *Analysis {
	return &Analysis{
		opts: o, blind: o.Off,
		threads: map[event.ThreadID]*thread{}, conds: map[event.ObjectID]*condition{}, barriers: map[event.ObjectID]*barrier{},
		special: map[event.ObjectID]bool{}, makings: newMakings(), found: map[key]*finding.Finding{},
	}
}

func stepOf(e *event.Event) step {
	return step{seq: e.Seq, time: e.Time, object: e.Object, with: e.Object2, thread: e.Thread, peer: e.Peer, place: e.Stack, op: e.Op, flags: e.Flags}
}

func (s step) finding() finding.Step {
	return finding.Step{Seq: s.seq, Time: s.time, Thread: s.thread, Op: s.op, Flags: s.flags &^ event.HasValue, Object: s.object, Peer: s.peer, Stack: s.place}
}

// Event processes the next event of the run; finding.Analysis.
func (a *Analysis) Event(e *event.Event) {
	if a.blind || e.Op.IsAccess() {
		return
	}
	t := a.threadCache[e.Thread%cacheSize]
	if t == nil || t.id != e.Thread {
		t = a.thread(e.Thread)
	}
	if len(t.dropped) > 0 && e.Op != event.End && !(e.Op == event.Release && e.Flags&event.Inferred != 0) {
		t.dropped = t.dropped[:0]
	}
	switch e.Op {
	case event.Acquire, event.AcquireRead:
		t.held = append(t.held, taking{seq: e.Seq, time: e.Time, object: e.Object, place: e.Stack, flags: e.Flags, op: e.Op})
	case event.Release:
		a.release(t, e)
	case event.AcquireFailed:
		a.refused(t, e)
	case event.ReleaseUnheld:
		a.unheld(t, e)
	case event.UseDestroyed:
		a.usedDestroyed(e)
	case event.ReleaseInconsistent:
		if i := t.holding(e.Object); i >= 0 {
			a.report(finding.UnlockInconsistent, stepOf(e), t.held[i].step(t))
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
	t := a.threads[id]
	if t == nil {
		t = &thread{id: id}
		a.threads[id] = t
	}
	a.threadCache[id%cacheSize] = t
	return t
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
	a.blind, a.found = true, found
}

// release updates which locks the thread holds. If a lock is removed from a thread because the
// thread ends or another thread destroys the lock, the lock is kept in dropped until the event
// that shows the reason.
func (a *Analysis) release(t *thread, e *event.Event) {
	i := t.holding(e.Object)
	if i < 0 {
		return
	}
	x := &t.held[i]
	if e.Flags&event.Inferred == 0 {
		t.past[t.next%releases] = *x
		t.next++
	} else {
		a.dropped(t, hold{taken: x.step(t), handed: x.handed, dropped: e.Seq})
	}
	last := len(t.held) - 1
	if i < last {
		copy(t.held[i:], t.held[i+1:])
	}
	t.held = t.held[:last]
}

// dropped keeps a lock that was removed from a thread.
func (a *Analysis) dropped(t *thread, h hold) {
	t.dropped = append(t.dropped, h)
	if n := len(a.drops); n > 0 && a.drops[n-1].dropped != h.dropped-1 {
		a.drops = a.drops[:0]
	}
	a.drops = append(a.drops, h)
}

// holding returns the index in held of the latest acquire of a lock, or -1 if the thread does not
// hold it.
func (t *thread) holding(lock event.ObjectID) int {
	for i := len(t.held) - 1; i >= 0; i-- {
		if t.held[i].object == lock {
			return i
		}
	}
	return -1
}

// holder returns a thread that holds a lock, and the acquire; nil if there is none. Of several
// readers it is the one whose acquire is the oldest.
func (a *Analysis) holder(lock event.ObjectID) (holder *thread, found *taking) {
	for _, t := range a.threads {
		if i := t.holding(lock); i >= 0 && (found == nil || t.held[i].seq < found.seq) {
			holder, found = t, &t.held[i]
		}
	}
	return holder, found
}

// refused processes an acquire that the lock refused because the thread already holds it.
func (a *Analysis) refused(t *thread, e *event.Event) {
	if e.Flags&(event.HasValue|event.Try) != event.HasValue {
		return
	}
	if i := t.holding(e.Object); i >= 0 {
		a.report(finding.Relock, stepOf(e), t.held[i].step(t))
	}
}

// unheld processes a release, or a wait on a condition, by a thread that does not hold the lock.
func (a *Analysis) unheld(t *thread, e *event.Event) {
	wrong := stepOf(e)
	by, h := a.holder(e.Object)
	if e.Flags&event.InCondWait != 0 {
		wrong.op, wrong.object, wrong.with = event.Wait, e.Object2, e.Object
	}
	switch {
	case wrong.op == event.Wait && h != nil:
		a.report(finding.WaitNotHeld, wrong, h.step(by))
	case wrong.op == event.Wait:
		a.report(finding.WaitNotHeld, wrong, t.released(e.Object)...)
	case h != nil:
		h.handed = true
		a.report(finding.UnlockByOther, wrong, h.step(by))
	default:
		a.report(finding.UnlockNotHeld, wrong, t.released(e.Object)...)
	}
}

// released returns the latest acquire of a lock that is among the last locks that the thread
// released.
func (t *thread) released(lock event.ObjectID) []step {
	for i := range uint32(releases) {
		if x := &t.past[(t.next-1-i)%releases]; x.object == lock && x.op != event.None {
			return []step{x.step(t)}
		}
	}
	return nil
}

// lifetime processes Init and Destroy.
func (a *Analysis) lifetime(e *event.Event) {
	if e.Op == event.Init {
		a.made(e)
		return
	}
	if e.Flags&event.Inferred == 0 {
		a.destroyed(e)
		a.dead.add(stepOf(e))
	}
	delete(a.special, e.Object)
	delete(a.barriers, e.Object)
	delete(a.conds, e.Object)
}

func (a *Analysis) made(e *event.Event) {
	switch {
	case e.Flags&event.HasValue == 0:
	case e.Kind == event.KindMutex && e.Value != 0:
		if len(a.special) < maxLive {
			a.special[e.Object] = true
		} else {
			a.robust = true
		}
	case e.Kind == event.KindBarrier && len(a.barriers) < maxLive:
		a.barriers[e.Object] = &barrier{takes: e.Value}
	}
}

// destroyed reports a destroy of an object in use. If a lock is held, the event just before the
// destroy is the release that removed it from its holder.
func (a *Analysis) destroyed(e *event.Event) {
	switch e.Kind {
	case event.KindCond:
		if w, ok := a.conds[e.Object].blocked(0); ok {
			a.report(finding.DestroyWaited, stepOf(e), w)
		}
		return
	case event.KindBarrier:
		if b := a.barriers[e.Object]; b.blocked() {
			a.report(finding.DestroyWaited, stepOf(e), b.last)
		}
		return
	}
	n := len(a.drops)
	if n == 0 || a.drops[n-1].dropped != e.Seq-1 {
		return
	}
	if i := slices.IndexFunc(a.drops, func(h hold) bool { return h.taken.object == e.Object }); i >= 0 && !a.drops[i].handed {
		a.report(finding.DestroyHeld, stepOf(e), a.drops[i].taken)
	}
}

func (a *Analysis) usedDestroyed(e *event.Event) {
	s, ok := a.dead.last(func(s *step) bool { return s.object == e.Object })
	if !ok {
		return
	}
	wrong := stepOf(e)
	wrong.flags &^= event.Inferred // of UseDestroyed it means that an Init may have been missed
	f := a.report(finding.UseDestroyed, wrong, s)
	switch {
	case f == nil:
	case e.Flags&event.Inferred == 0:
		f.Confidence, f.Reason = finding.Observed, ""
	case f.Count == 1:
		f.Confidence, f.Reason = finding.Potential, remade
	}
}

// remade is the reason why a use after a destroy may be correct.
const remade = "it may have been initialised again without a call, by a static initialiser or another process"

// report records a finding: the wrong operation, and those it conflicts with. It returns the
// finding, or nil if the rule is not checked.
func (a *Analysis) report(rule finding.Rule, wrong step, others ...step) *finding.Finding {
	if slices.Contains(a.opts.Except, rule) {
		return nil
	}
	k := key{rule: rule, place: wrong.place, object: wrong.object}
	if len(others) > 0 {
		k.other = others[0].place
	}
	if _, known := a.found[k]; !known && len(a.found) >= maxFound {
		k.other, k.object = 0, 0
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
	a.detached()
	out := make([]finding.Finding, 0, len(a.found))
	for _, f := range a.found {
		out = append(out, *f)
	}
	slices.SortFunc(out, func(x, y finding.Finding) int {
		return cmp.Or(cmp.Compare(x.Evidence[0].Seq, y.Evidence[0].Seq), cmp.Compare(x.Rule, y.Rule), slices.Compare(x.Objects, y.Objects))
	})
	return out
}

// Remember adds the threads and objects that a finding may still name.
func (a *Analysis) Remember(n *event.Names) {
	for _, f := range a.found {
		for i := range f.Evidence {
			f.Evidence[i].Remember(n)
		}
		for _, id := range f.Objects {
			n.Object(id)
		}
	}
	for _, t := range a.threads {
		n.Thread(t.id)
		for _, h := range t.dropped {
			n.Object(h.taken.object)
		}
		for _, x := range slices.Concat(t.held, t.past[:]) {
			n.Object(x.object)
		}
	}
	for id, c := range a.conds {
		for _, w := range c.waiters {
			n.Object(id)
			n.Object(w.mutex)
		}
	}
	for id := range a.barriers {
		n.Object(id)
	}
	a.dead.remember(n)
	a.makings.remember(n)
}
