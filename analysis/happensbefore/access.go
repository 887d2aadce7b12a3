package happensbefore

import (
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// variable is what is known of a variable. Of accesses that another, which conflicts
// with all that they do, comes after, only that one is kept: what it races with, they
// may race with too, but what it does not race with, they do not.
type variable struct {
	last *access // if not nil, the latest of all; valid until the next slow access
	init *mark
	// Of the last write.
	value  uint64
	valued bool
	atomic bool

	id      event.ObjectID
	writes  []access  // the last one first
	one     [1]access // room for writes: mostly that is enough
	reads   []access
	spare   [][]heldLock
	reports reports
}

// access is what later accesses are compared with, and what a finding tells of it.
type access struct {
	mark
	thread  event.ThreadID
	changes uint32 // of the thread's held locks, when held was copied
	seq     uint64
	at      uint64 // ns
	value   uint64
	place   event.StackID
	flags   event.Flags
	op      event.Op
	few     uint8            // of held
	held    [inside]heldLock // the first locks held: mostly all there are
	more    []heldLock       // the others
}

// heldLock is a lock that the thread held at an access.
type heldLock struct {
	lock  event.ObjectID
	place event.StackID
}

// inside is how many locks held an access has room for.
const inside = 2

func (a *Analysis) access(t *thread, e *event.Event) {
	v := a.vars.known(e.Object)
	if v == nil {
		v = a.vars.get(e.Object)
		v.id, v.init = e.Object, a.inits[e.Object]
		v.writes = v.one[:0]
	}
	if x := v.last; x != nil && x.same(t, e) && (e.Op != event.Read || !v.contradicts(e)) {
		x.again(&a.clocks, t, e)
		v.wrote(t, e)
		return
	}
	a.slow(v, t, e)
}

// same reports whether e does what the latest access of the variable did, so that what
// it races with, that one raced with already.
func (x *access) same(t *thread, e *event.Event) bool {
	return x.thread == e.Thread && x.op == e.Op && x.place == e.Stack && x.changes == t.held.Changes && (x.flags^e.Flags)&(event.Atomic|event.NoSource|event.Late) == 0
}

// again makes e what x stands for.
func (x *access) again(c *pool, t *thread, e *event.Event) {
	x.set(c, t)
	x.seq, x.at, x.value, x.flags = e.Seq, e.Time, e.Value, e.Flags
}

// wrote remembers what a write wrote, and ends the time of the access: who learns of
// it does not thereby learn of what comes after.
func (v *variable) wrote(t *thread, e *event.Event) {
	if e.Op.IsWrite() {
		v.value, v.valued, v.atomic = e.Value, e.Flags&event.HasValue != 0, e.Flags&event.Atomic != 0
	}
	t.tick()
}

// slow is an access that is compared with those before.
func (a *Analysis) slow(v *variable, t *thread, e *event.Event) {
	c := &a.clocks
	if v.init != nil {
		t.joinAt(c, v.init)
	}
	v.before(a, t, e)
	a.check(v, t, e)
	a.reads(v, t, e)
	if e.Op.IsWrite() {
		v.reads = v.prune(c, t, v.reads, e)
		v.writes = v.room(c, t, v.writes, e)
		n := len(v.writes) - 1
		if n > 0 {
			v.writes[0], v.writes[n] = v.writes[n], v.writes[0]
		}
		v.last = &v.writes[0]
	} else {
		v.reads = v.room(c, t, v.reads, e)
		v.last = &v.reads[len(v.reads)-1]
	}
	v.last.fill(c, v, t, e)
	v.wrote(t, e)
}

// before draws the edges to an access that is checked with them. Two atomic accesses
// do not race, so that theirs need not wait.
func (v *variable) before(a *Analysis, t *thread, e *event.Event) {
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

// reads draws the edge from the write that an access reads, once it has been checked.
func (a *Analysis) reads(v *variable, t *thread, e *event.Event) {
	switch {
	case e.Op == event.Write || e.Flags&event.Late != 0:
	case e.Flags&event.NoSource != 0 || e.Op == event.Read && v.contradicts(e):
		a.unsure = true
	case len(v.writes) > 0:
		t.joinAt(&a.clocks, &v.writes[0].mark)
	}
}

func (v *variable) contradicts(e *event.Event) bool {
	return v.valued && e.Flags&event.HasValue != 0 && v.value != e.Value
}

// check finds the accesses that e races with.
func (a *Analysis) check(v *variable, t *thread, e *event.Event) {
	for i := range v.writes {
		if x := &v.writes[i]; !t.knows(&x.mark) && x.flags&e.Flags&event.Atomic == 0 {
			a.race(v, x, t, e)
		}
	}
	if !e.Op.IsWrite() {
		return
	}
	for i := range v.reads {
		if x := &v.reads[i]; !t.knows(&x.mark) && x.flags&e.Flags&event.Atomic == 0 {
			a.race(v, x, t, e)
		}
	}
}

// room drops the accesses that e makes needless and gives it a place, the last one.
func (v *variable) room(c *pool, t *thread, xs []access, e *event.Event) []access {
	if len(xs) == 1 && xs[0].needless(t, e) {
		return xs // in its place
	}
	return append(v.prune(c, t, xs, e), access{})
}

// needless reports whether what races with x, and comes after e, races with e too.
func (x *access) needless(t *thread, e *event.Event) bool {
	return t.knows(&x.mark) && (e.Flags&event.Atomic == 0 || x.flags&event.Atomic != 0)
}

// prune drops the accesses that e makes needless.
func (v *variable) prune(c *pool, t *thread, xs []access, e *event.Event) []access {
	if len(xs) == 0 {
		return xs
	}
	n := 0
	for i := range xs {
		x := &xs[i]
		if x.needless(t, e) {
			x.drop(c)
			if x.more != nil {
				v.spare = append(v.spare, x.more[:0])
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
	x.holds(v, t.held.Held)
	x.thread, x.op, x.place, x.changes = e.Thread, e.Op, e.Stack, t.held.Changes
	x.again(c, t, e)
}

// holds copies the locks held.
func (x *access) holds(v *variable, held []locks.Held) {
	n := min(len(held), len(x.held))
	for i := range n {
		x.held[i] = heldLock{held[i].Lock(), held[i].Place}
	}
	x.few = uint8(n)
	if len(held) == n && len(x.more) == 0 {
		return
	}
	if k := len(v.spare); k > 0 && x.more == nil {
		x.more, v.spare = v.spare[k-1], v.spare[:k-1]
	}
	x.more = x.more[:0]
	for _, h := range held[n:] {
		x.more = append(x.more, heldLock{h.Lock(), h.Place})
	}
}

func (v *variable) destroy(c *pool, t *thread, guessed bool) {
	for _, xs := range [][]access{v.writes, v.reads} {
		for i := range xs {
			if !guessed {
				t.joinAt(c, &xs[i].mark)
			}
			xs[i].drop(c)
		}
	}
}
