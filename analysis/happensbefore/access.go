package happensbefore

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// variable is the state of a variable. An access is dropped when a later one happens after it and
// conflicts with everything that it conflicts with: any further access that races with the dropped
// one races with the later one too.
type variable struct {
	last *access // the latest access; nil: none
	init *mark   // nil: not observed
	// Of the last write: its value, whether that is known, and whether it was atomic. As long as there
	// is none, the value is that of the first read.
	value  uint64
	valued bool
	atomic bool
	// evicted reports that the variable may have been accessed before Shrink evicted it.
	evicted bool
	// unsure reports that such an access may have written what the first access of this state read.
	unsure bool
	raced  bool // accesses of it race

	id      event.ObjectID
	writes  []access     // the last one first
	one     [1]access    // the first array of writes, which is large enough for most variables
	reads   []access     // the last one last
	spare   [][]heldLock // arrays of access.moreHeld to be reused
	reports reports

	contradiction *finding.Step // see Analysis.Contradicted; nil: there is none
}

// access is an access that later ones are compared with, and the data for a finding.
type access struct {
	mark      // of its event
	thread    event.ThreadID
	changes   uint32 // locks.Thread.Changes when held was copied
	seq       uint64
	timestamp uint64 // on CLOCK_MONOTONIC, ns
	value     uint64
	stack     event.StackID
	flags     event.Flags
	op        event.Op
	heldCount uint8                // number of locks in held
	held      [inlineHeld]heldLock // the first locks that the thread held: usually all
	moreHeld  []heldLock           // the others
}

// heldLock is a lock that the thread held at an access.
type heldLock struct {
	lock  event.ObjectID
	stack event.StackID // of the acquire
}

// inlineHeld is the number of held locks for which an access needs no array of its own.
const inlineHeld = 2

// access processes an access.
func (a *Analysis) access(t *thread, e *event.Event) {
	v := a.vars.known(e.Object)
	if v == nil {
		v = a.vars.get(e.Object)
		v.id, v.init, v.evicted = e.Object, a.inits[e.Object], a.floor.mayHave(e.Object)
		v.unsure = v.evicted && e.Op != event.Write && e.Flags&event.HasValue != 0
		v.writes = v.one[:0]
	}
	if x := v.last; x != nil && x.same(t, e) && (e.Op != event.Read || !v.contradicts(e)) {
		x.repeat(&a.clocks, t, e)
		v.recordWrite(t, e)
		return
	}
	a.slowAccess(v, t, e)
}

// same reports whether e repeats x, the latest access of the variable. Then all accesses that e
// races with already race with x.
func (x *access) same(t *thread, e *event.Event) bool {
	return x.thread == e.Thread && x.op == e.Op && x.stack == e.Stack && x.changes == t.held.Changes && (x.flags^e.Flags)&(event.Atomic|event.PerhapsAtomic|event.NoSource|event.Late) == 0
}

// repeat makes x the access e, which has the same operation, call stack and held locks.
func (x *access) repeat(c *pool, t *thread, e *event.Event) {
	x.set(c, t)
	x.seq, x.timestamp, x.value, x.flags = e.Seq, e.Time, e.Value, e.Flags
}

// recordWrite records the value of a write. It also advances the thread's time, so that a thread
// that comes after the access does not thereby come after later events.
func (v *variable) recordWrite(t *thread, e *event.Event) {
	if e.Op.IsWrite() {
		v.value, v.valued, v.atomic = e.Value, e.Flags&event.HasValue != 0, e.Flags&event.Atomic != 0
	} else if !v.valued && len(v.writes) == 0 && e.Flags&event.HasValue != 0 {
		v.value, v.valued = e.Value, true
	}
	t.tick()
}

// slowAccess processes an access that must be compared with earlier ones.
func (a *Analysis) slowAccess(v *variable, t *thread, e *event.Event) {
	c := &a.clocks
	if v.evicted {
		a.joinFloor(t)
	}
	if v.init != nil {
		t.joinAt(c, v.init)
	}
	v.joinBeforeCheck(a, t, e)
	a.check(v, t, e)
	a.joinAfterCheck(v, t, e)
	if e.Op.IsWrite() {
		v.reads = v.prune(c, t, v.reads, e)
		v.writes = v.makeRoom(c, t, v.writes, e)
		n := len(v.writes) - 1
		if n > 0 {
			v.writes[0], v.writes[n] = v.writes[n], v.writes[0]
		}
		v.last = &v.writes[0]
	} else {
		v.reads = v.makeRoom(c, t, v.reads, e)
		v.last = &v.reads[len(v.reads)-1]
	}
	v.last.fill(c, v, t, e)
	if e.Op == event.Read && v.contradicts(e) {
		a.contradict(v, e)
	}
	v.recordWrite(t, e)
}

// maxContradicted bounds the variables of Analysis.contradicted.
const maxContradicted = 1 << 12

// contradict records that e, the last access of the variable, read another value than the last write
// wrote. An atomic or late read need not have happened after that write. The first read of a loop that
// waits for a value is kept rather than the first of all.
func (a *Analysis) contradict(v *variable, e *event.Event) {
	if e.Flags&(event.Late|event.Atomic) != 0 || len(a.contradicted) >= maxContradicted {
		return
	}
	if old := v.contradiction; old == nil || old.Flags&event.Polled < e.Flags&event.Polled {
		x := v.last.step(v.id)
		v.contradiction, a.contradicted[v.id] = &x, v
	}
}

// Contradicted returns the first read of a variable that shows that some write was not recorded, or not before
// it: its value is not that of the last write or, if there is none, of an earlier read. Where accesses of the
// variable race, that may be why, and only a read counts whose loop waits for a value: it may order the threads
// all the same. Contradicted returns nil if there is none.
func (a *Analysis) Contradicted(variable event.ObjectID) *finding.Step {
	v := a.contradicted[variable]
	if v == nil || v.raced && v.contradiction.Flags&event.Polled == 0 {
		return nil
	}
	return v.contradiction
}

// Unsure reports whether the value that a variable had before the first read that is known of it was evicted by
// Shrink, so that the read cannot be checked against it.
func (a *Analysis) Unsure(variable event.ObjectID) bool {
	v := a.vars.all[variable]
	return v != nil && v.unsure
}

// joinBeforeCheck draws the edges to an access that exist already when the access is checked for
// races. A late read is ordered after all accesses of the variable so far, because it happened
// before the last of them and not at its position in the run (event.Late). An atomic read comes
// after the atomic write that it reads; its edge need not wait for the check, because two atomic
// accesses do not race.
func (v *variable) joinBeforeCheck(a *Analysis, t *thread, e *event.Event) {
	if e.Op == event.Write {
		return
	}
	if e.Flags&event.Late != 0 {
		for _, xs := range [][]access{v.writes, v.reads} {
			for i := range xs {
				t.joinAt(&a.clocks, &xs[i].mark)
			}
		}
		return
	}
	atomic := v.atomic && e.Flags&(event.Atomic|event.NoSource) == event.Atomic
	if atomic && len(v.writes) > 0 && (e.Op == event.Update || !v.contradicts(e)) {
		t.joinAt(&a.clocks, &v.writes[0].mark)
	}
}

// joinAfterCheck draws the edge from the write that an access reads. It is called after check, so
// that the edge does not hide a race of the two.
func (a *Analysis) joinAfterCheck(v *variable, t *thread, e *event.Event) {
	switch {
	case e.Op == event.Write || e.Flags&event.Late != 0:
	case e.Flags&event.NoSource != 0 || e.Op == event.Read && v.contradicts(e):
		a.uncertain = true
	case len(v.writes) > 0:
		t.joinAt(&a.clocks, &v.writes[0].mark)
	}
}

// contradicts reports whether e read another value than the last write wrote.
func (v *variable) contradicts(e *event.Event) bool {
	return v.valued && e.Flags&event.HasValue != 0 && v.value != e.Value
}

// check finds the accesses that e races with.
func (a *Analysis) check(v *variable, t *thread, e *event.Event) {
	for i := range v.writes {
		if x := &v.writes[i]; !t.knows(&x.mark) && !event.BothAtomic(x.flags, e.Flags) {
			a.race(v, x, t, e)
		}
	}
	if !e.Op.IsWrite() {
		return
	}
	for i := range v.reads {
		if x := &v.reads[i]; !t.knows(&x.mark) && !event.BothAtomic(x.flags, e.Flags) {
			a.race(v, x, t, e)
		}
	}
}

// makeRoom drops the accesses that e makes redundant. It returns the others, with an element for e
// at the end.
func (v *variable) makeRoom(c *pool, t *thread, xs []access, e *event.Event) []access {
	if len(xs) == 1 && xs[0].redundant(t, e) {
		return xs // e replaces it
	}
	return append(v.prune(c, t, xs, e), access{})
}

// redundant reports whether every access that races with x and is later than e in the run races
// with e too: x comes before e, and e is not more atomic than x.
func (x *access) redundant(t *thread, e *event.Event) bool {
	return t.knows(&x.mark) && event.RacesAsMuch(e.Flags, x.flags)
}

// prune drops the accesses that e makes redundant.
func (v *variable) prune(c *pool, t *thread, xs []access, e *event.Event) []access {
	if len(xs) == 0 {
		return xs
	}
	n := 0
	for i := range xs {
		x := &xs[i]
		if x.redundant(t, e) {
			x.drop(c)
			if x.moreHeld != nil {
				v.spare = append(v.spare, x.moreHeld[:0])
			}
			continue
		}
		if i != n {
			xs[n] = *x
		}
		n++
	}
	clear(xs[n:])
	return xs[:n]
}

// fill makes x the access e.
func (x *access) fill(c *pool, v *variable, t *thread, e *event.Event) {
	x.copyHeld(v, t.held.Held)
	x.thread, x.op, x.stack, x.changes = e.Thread, e.Op, e.Stack, t.held.Changes
	x.repeat(c, t, e)
}

// copyHeld copies the locks that the thread holds into x.
func (x *access) copyHeld(v *variable, held []locks.Held) {
	n := min(len(held), len(x.held))
	for i := range n {
		x.held[i] = heldLock{held[i].Lock(), held[i].Stack}
	}
	x.heldCount = uint8(n)
	if len(held) == n && len(x.moreHeld) == 0 {
		return
	}
	if k := len(v.spare); k > 0 && x.moreHeld == nil {
		x.moreHeld, v.spare = v.spare[k-1], v.spare[:k-1]
	}
	x.moreHeld = x.moreHeld[:0]
	for _, h := range held[n:] {
		x.moreHeld = append(x.moreHeld, heldLock{h.Lock(), h.Stack})
	}
}

// destroy drops all accesses. The end of the variable comes after them unless it is inferred.
func (v *variable) destroy(c *pool, t *thread, inferred bool) {
	for _, xs := range [][]access{v.writes, v.reads} {
		for i := range xs {
			if !inferred {
				t.joinAt(c, &xs[i].mark)
			}
			xs[i].drop(c)
		}
	}
}
