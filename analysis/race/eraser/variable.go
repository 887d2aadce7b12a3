package eraser

import (
	"github.com/tracepredict/tracepredict/observer/event"
)

// variable is the state machine of one variable, and the accesses kept that a later one may race
// with.
type variable struct {
	id         event.ObjectID
	state      state
	seeded     bool // candidates has been started
	warned     bool // the state machine has given a warning
	candidates setID
	guard      setID // the locks that protected all accesses so far
	guardValid bool  // guard has been started
	owner      event.ThreadID
	last       *access                 // the latest access of all threads
	accesses   []*access               // at most Options.History
	pairs      map[pairKey]*raceReport // at most Options.MaxPairs
	order      []*raceReport           // the values of pairs, in order of discovery
	fallback   *raceReport             // Plain: a warning that no two accesses explain alone
	use        use
}

func (v *variable) remember(n *event.Names) {
	for _, x := range v.accesses {
		n.AddThread(x.thread)
		for _, id := range x.held {
			n.AddObject(id)
		}
	}
	for _, r := range v.order {
		r.remember(n)
	}
	if v.fallback != nil {
		v.fallback.remember(n)
	}
}

// access is the last access of its thread, lockset, operation, atomicity and call stack. Keeping
// the last is enough: if the must-order puts it before a later access, it puts all earlier events
// of the thread before that access too.
type access struct {
	thread  event.ThreadID
	set     setID
	version uint32 // locks.Thread.Changes when held was copied
	slot    uint32
	epoch   event.Epoch
	seq     uint64
	time    uint64
	value   uint64
	flags   event.Flags
	op      event.Op
	stack   event.StackID
	held    []event.ObjectID
	heldAt  []event.StackID

	published bool // see publication
}

func (a *Analysis) access(e *event.Event) {
	t := a.thread(e.Thread)
	a.updateSet(t)
	v := a.variable(e.Object)
	a.advance(v, t, e)
	a.pair(v, t, e)
	if a.opts.Uses {
		v.use.count(e)
	}
	if a.opts.onAccess != nil {
		a.reportVerdict(v, e)
	}
}

func (a *Analysis) variable(id event.ObjectID) *variable {
	cached := &a.variableCache[id%cacheSize]
	if v := *cached; v != nil && v.id == id {
		return v
	}
	v := a.vars[id]
	if v == nil {
		v = &variable{id: id}
		a.vars[id] = v
	}
	*cached = v
	return v
}

// advance updates the state machine and refines the candidate set.
func (a *Analysis) advance(v *variable, t *thread, e *event.Event) {
	write := e.Op.IsWrite()
	if v.state == virgin && !write && a.opts.leave == leaveOnWrite {
		return
	}
	if v.state == virgin {
		a.setOwner(v, t, e)
	} else {
		a.share(v, t, e)
	}
	if v.state == sharedModified && v.candidates == 0 {
		v.warned = true
	}
}

// setOwner makes the accessing thread the owner.
func (a *Analysis) setOwner(v *variable, t *thread, e *event.Event) {
	v.state, v.owner, v.candidates, v.seeded = exclusive, e.Thread, 0, false
	if a.opts.seed == seedFirst {
		v.candidates, v.seeded = a.sets.protecting(t.set, e.Op.IsWrite()), true
	}
}

// share updates the state and the candidates for an access to a variable that is not virgin.
func (a *Analysis) share(v *variable, t *thread, e *event.Event) {
	write := e.Op.IsWrite()
	if v.state == exclusive && v.owner == e.Thread {
		return
	}
	if v.state == exclusive && e.Kind == event.KindField && !a.opts.Plain {
		a.setApart(v, e)
	}
	switch {
	case write:
		v.state = sharedModified
	case v.state == exclusive:
		v.state = shared
	}
	if !v.seeded {
		v.candidates, v.seeded = a.sets.protecting(t.set, write), true
		return
	}
	v.candidates = a.sets.refine(v.candidates, t.set, write)
}

// pair finds the kept accesses that e may race with, and then keeps e.
func (a *Analysis) pair(v *variable, t *thread, e *event.Event) {
	if v.state == virgin {
		return
	}
	if x := v.last; x != nil && x.replacedBy(t, e) {
		// No other access came in between, so e races with the same accesses as the latest one.
		x.record(t, e)
		return
	}
	guarded := a.guarded(v, t, e)
	var mine *access
	for _, x := range v.accesses {
		if x.thread == e.Thread {
			if x.replacedBy(t, e) {
				mine = x
			}
			continue
		}
		if guarded && !a.opts.Uses && !a.opts.CollectPruned {
			continue
		}
		if x.published {
			a.pairPublished(x, t, e, guarded)
			continue
		}
		if !a.conflict(x, e) {
			a.pruned.addOrdered(x, t, e)
			continue
		}
		if a.opts.Uses {
			v.use.refine(a.sets, x.set, t.set)
		}
		if !guarded && !a.sets.excludes(x.set, t.set) {
			a.addReport(v, x, t, e)
		} else if a.pruned != nil {
			a.pruned.addExcluded(a.sets, x, t, e)
		}
	}
	if a.opts.Plain && v.warned && v.fallback == nil {
		v.fallback = a.lastOther(v, t, e)
	}
	if mine == nil {
		mine = a.accessToFill(v)
	}
	mine.record(t, e)
	v.last = mine
}

// pairPublished keeps the pair of x, which is published, and e, if they may race.
func (a *Analysis) pairPublished(x *access, t *thread, e *event.Event, guarded bool) {
	if a.opts.EveryPair && !guarded && a.conflict(x, e) && !a.sets.excludes(x.set, t.set) {
		a.published.add(x, t, e)
	}
}

// guarded reports whether some lock protected all accesses so far, including e. Then no two of them
// can race. Writers must hold the lock exclusively.
func (a *Analysis) guarded(v *variable, t *thread, e *event.Event) bool {
	write := e.Op.IsWrite()
	if v.guardValid {
		v.guard = a.sets.refine(v.guard, t.set, write)
	} else {
		v.guard, v.guardValid = a.sets.protecting(t.set, write), true
	}
	return v.guard != 0
}

// lastOther pairs e with the latest access of another thread, even if the two accesses have a lock
// in common: three accesses under {a,b}, {b,c} and {a,c} cause a warning although each two have a
// lock in common.
func (a *Analysis) lastOther(v *variable, t *thread, e *event.Event) *raceReport {
	var best *access
	for _, x := range v.accesses {
		if x.thread != e.Thread && (best == nil || x.seq > best.seq) {
			best = x
		}
	}
	if best == nil {
		return nil
	}
	return newReport(best, t, e)
}

// replacedBy reports whether e replaces x, as the last access of its kind; see access.
func (x *access) replacedBy(t *thread, e *event.Event) bool {
	return x.thread == e.Thread && x.set == t.set && x.op == e.Op && x.stack == e.Stack &&
		(x.flags^e.Flags)&(event.Atomic|event.PerhapsAtomic) == 0 && (x.version == t.locks.Changes || x.sameHeld(t))
}

// sameHeld reports whether t holds the locks held at x, acquired at the same call stacks.
func (x *access) sameHeld(t *thread) bool {
	if len(x.held) != len(t.locks.Held) {
		return false
	}
	for i, h := range t.locks.Held {
		if x.held[i] != h.Lock() || x.heldAt[i] != h.Stack {
			return false
		}
	}
	return true
}

// conflict reports whether x and e conflict, and nothing but locks orders them.
func (a *Analysis) conflict(x *access, e *event.Event) bool {
	if !x.op.IsWrite() && !e.Op.IsWrite() {
		return false
	}
	if event.BothAtomic(x.flags, e.Flags) {
		return false
	}
	return a.opts.Plain || !e.Before(x.slot, x.epoch)
}

// record overwrites x with e.
func (x *access) record(t *thread, e *event.Event) {
	if x.version != t.locks.Changes || x.thread != e.Thread {
		x.held, x.heldAt = x.held[:0], x.heldAt[:0]
		for _, h := range t.locks.Held {
			x.held = append(x.held, h.Lock())
			x.heldAt = append(x.heldAt, h.Stack)
		}
	}
	x.thread, x.set, x.version = e.Thread, t.set, t.locks.Changes
	x.slot, x.epoch = e.Slot, e.Epoch
	x.seq, x.time, x.value = e.Seq, e.Time, e.Value
	x.flags, x.op, x.stack = e.Flags, e.Op, e.Stack
	x.published = false
}

// accessToFill returns an access to fill: a new one, or the oldest if there is no room.
func (a *Analysis) accessToFill(v *variable) *access {
	if len(v.accesses) < a.opts.History {
		x := &access{}
		v.accesses = append(v.accesses, x)
		return x
	}
	a.stats.EvictedAccesses++
	oldest := v.accesses[0]
	for _, x := range v.accesses {
		if x.seq < oldest.seq {
			oldest = x
		}
	}
	return oldest
}

// reportVerdict calls Options.onAccess.
func (a *Analysis) reportVerdict(v *variable, e *event.Event) {
	d := &a.verdict
	d.seq, d.variable, d.state, d.seeded = e.Seq, e.Object, v.state, v.seeded
	d.candidates = d.candidates[:0]
	for _, m := range a.sets.sets[v.candidates] {
		d.candidates = append(d.candidates, m.Lock())
	}
	d.warning = v.state == sharedModified && v.candidates == 0
	a.opts.onAccess(d)
}
