// Package clock stamps each event with its position in the must-order: dynamic
// vector clocks over the edges of the order table.
//
// The edges are those that every feasible reordering keeps: M, package order's Must. The
// input is each event of a run, in trace order, well formed as package event requires; the
// output is its slot, its epoch and its clock. A Must is not safe for concurrent use. It knows
// no analysis. Of values it only compares that of a read with that of the last write.
//
// # Two halves of a read
//
// A race detector must see a read before the edge from the write that it reads
// is joined, and everything after the read with that edge (SHB: Mathur, Kini,
// Viswanathan, "What Happens-After the First Race?", OOPSLA 2018, Algorithm 1).
// Hence Stamp before the analyses, Done after them. A read joins only the clock of the last
// write of the variable, so that reads stay unordered.
//
// # Slots
//
// Clocks are indexed by slot, not by thread. A new thread takes the slot of an
// ended one whose last event comes before the fork, and counts on from its
// epoch: every event of the new thread then comes after every event of the old
// one, so (slot, epoch) still identifies an event, and Event.Before is still
// exact. A clock is as long as the largest number of threads that were unordered at
// once. The plain model, without slots, is eventtest.Naive, and a property test compares
// the two.
//
// # Holes
//
// Where events of a thread were lost (event.Hole), edges may be missing: from these events, and
// to them. Later events of the thread are stamped event.AfterHole. The flag is not passed
// along edges, since the lost events may include the very edge that would pass it. Every
// order in a run with a hole is therefore in doubt, and an analysis that judges findings
// must doubt them all. The flag shows where the doubt begins.
//
// # Cost
//
// Time for an event is O(slots) at worst, O(1) for a join that brings nothing new:
// clocks are closed downwards, so a clock that includes an event's epoch includes its clock.
// For the same reason a clock that copies a thread's needs only the thread's own count updated
// until an edge from another thread comes in; e.Since is the epoch of the last such edge.
// Memory is O((live threads + live objects) × slots) at worst; Destroy frees an object's
// part, also an inferred one, which orders nothing. Beyond the first 256 slots, clocks share what
// they have in common (event.Clock): threads that know nothing but their common past cost O(1)
// each, and one that learns what another one knows costs O(slots/256). Steady state does not
// allocate, except that a thread beyond the first 256 slots that learns something gets memory for
// the part of its clock that changes.
package clock

import (
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// maxIdle is the number of slots of ended threads that are kept although no forking thread
// comes after their last event. Beyond it (detached threads by the thousand) the oldest slot
// is reused all the same, by drawing an edge that agrees with the run; see Must.Forced.
const maxIdle = 256

// cachedThreads and cachedObjects are the sizes of the direct-mapped caches in front of the
// maps. A server has thousands of locks: one for each bucket of a table.
const (
	cachedThreads = 64
	cachedObjects = 1 << 12
)

// Must stamps events with the clocks of the must-order. Make it with New.
type Must struct {
	slots        uint32 // number of slots so far
	threads      map[event.ThreadID]*thread
	objects      map[event.ObjectID]*object
	threadCache  [cachedThreads]*thread // direct-mapped, by the low bits of the ID
	objectCache  [cachedObjects]*object // likewise
	idle         []*thread              // ended, slot not yet reused; oldest first
	spare        []*thread              // not in use
	spareObjects []*object              // likewise
	matcher      *order.Matcher
	sets         []mark // by order.Ref

	forced uint64 // see Forced
	floor  floor  // of the objects that Shrink evicted
}

// New returns the clocks of a run that has not begun.
func New() *Must {
	return &Must{threads: map[event.ThreadID]*thread{}, objects: map[event.ObjectID]*object{}, matcher: order.New(order.Must)}
}

// Forced returns the number of edges that were drawn from the end of a thread to the begin of
// a later one only to bound the number of slots. Each agrees with the run; a
// prediction that needs the two threads reordered is missed.
func (m *Must) Forced() uint64 { return m.forced }

// MayNeed returns the memory that all clocks need at most, in bytes: what they would need if none shared
// a part of its memory with another one. It costs nothing to ask.
func (m *Must) MayNeed() uint64 {
	const entry, clocks = 4, 4 // bytes; of a thread one clock, of an object three, and sets
	return uint64(m.slots) * uint64(len(m.threads)+len(m.objects)+len(m.sets)) * entry * clocks
}

// Memory returns the memory of all clocks, in bytes. It visits all of them.
func (m *Must) Memory() uint64 {
	var w event.Weigher
	for _, t := range m.threads {
		w.Add(&t.clock)
	}
	for _, t := range m.idle {
		w.Add(&t.clock)
	}
	for _, o := range m.objects {
		w.Add(&o.uses)
		w.Add(&o.init.clock)
		w.Add(&o.write.clock)
	}
	for i := range m.sets {
		w.Add(&m.sets[i].clock)
	}
	return w.Bytes()
}

// Slots returns the length that a clock may have: the number of slots so far.
func (m *Must) Slots() int { return int(m.slots) }

// Stamp sets e.Slot, e.Epoch, e.Since and e.Must, and event.AfterHole where it applies. For an
// access of a plain variable e.Must lacks the edge from the write that it reads; Done joins it.
// Call it once for each event, in trace order; e.Must is valid until the next call
// of any method.
func (m *Must) Stamp(e *event.Event) {
	t := m.thread(e.Thread)
	o := m.object(e) // nil for an instance, which orders nothing
	if o != nil {
		if o.used = e.Seq; o.evicted {
			m.joinFloor(t)
		}
	}
	// The must-order has no edges from a release to an acquire. The only edge to an operation of
	// a lock is that from the lock's Init, and the operation counts as a use of the lock.
	lock := o != nil && e.Op >= event.Acquire && e.Op <= event.Release
	var x *order.Match
	if lock {
		t.join(&o.init)
	} else {
		x = m.before(t, o, e)
	}
	t.tick()
	if t.hasHole {
		e.Flags |= event.AfterHole
	}
	e.Slot, e.Epoch, e.Since = t.slot, t.epoch, t.since
	if lock {
		o.recordUse(t)
	} else {
		m.after(t, o, e, x)
	}
	e.Must = &t.clock
}

// Done ends the event that was stamped last, once all analyses have seen it: it
// joins the edge from the write that a plain read reads, and records a write.
// A read with event.NoSource gets no edge, nor does one whose value is not the
// last write's (both with event.HasValue): racing accesses may be recorded in
// the wrong order, and an edge that the values contradict would carry false causality.
// A read with event.Late gets none either: Stamp has drawn the edges from all accesses before.
// An update with event.ResultUnused gets none, since what it read decides nothing in its thread;
// but a read of its value comes after all the writes that this value is made of.
func (m *Must) Done(e *event.Event) {
	if e.Op.IsAccess() {
		m.accessed(e)
	}
}

// accessed is Done for an access.
func (m *Must) accessed(e *event.Event) {
	t := m.threadIf(e.Thread)
	o := m.objectIf(e.Object)
	if t == nil || o == nil {
		return
	}
	blind := blindUpdate(e)
	if e.Op != event.Write && !blind && e.Flags&(event.NoSource|event.Late) == 0 {
		m.joinWrite(t, o, e)
	}
	if e.Op.IsWrite() {
		o.setWrite(t, e, blind)
	}
	o.recordUse(t)
}

// blindUpdate reports whether the event is an update that may come after any write.
func blindUpdate(e *event.Event) bool {
	return e.Op == event.Update && e.Flags&event.ResultUnused != 0
}

// joinWrite draws the edge from the last write to a read, unless their values differ.
func (m *Must) joinWrite(t *thread, o *object, e *event.Event) {
	if e.Op == event.Read && o.valued && e.Flags&event.HasValue != 0 && o.value != e.Value {
		return
	}
	t.join(&o.write)
}

// before draws the edges into e. It returns the match of package order, or nil if e needs none.
func (m *Must) before(t *thread, o *object, e *event.Event) *order.Match {
	if e.Op == event.Join {
		m.joinThread(t, e.Peer)
	}
	if o == nil || e.Op == event.Destroy && e.Flags&event.Inferred != 0 {
		return nil
	}
	t.join(&o.init)
	switch e.Op {
	case event.Read, event.Update:
		if e.Flags&event.Late != 0 {
			o.flushLastUse()
			t.joinClock(&o.uses)
		} else if o.atomic && !blindUpdate(e) && e.Flags&(event.Atomic|event.NoSource) == event.Atomic && (e.Op == event.Update || !o.contradicts(e)) {
			// Two atomic accesses do not race, so their edge need not wait for Done.
			t.join(&o.write)
		}
	case event.Destroy:
		o.flushLastUse()
		t.joinClock(&o.uses)
	default:
		if order.Synchronises(e.Op) {
			return m.synchronise(t, o, e)
		}
	}
	return nil
}

// synchronise draws the edges that package order matches, and returns the match.
func (m *Must) synchronise(t *thread, o *object, e *event.Event) *order.Match {
	x := m.matcher.Match(&o.order, e)
	for _, edge := range x.Edges {
		t.join(&m.sets[edge.From])
	}
	return x
}

// after records e for the edges that lead from it to later events.
func (m *Must) after(t *thread, o *object, e *event.Event, x *order.Match) {
	switch e.Op {
	case event.Fork:
		m.fork(t, e.Peer)
	case event.Join:
		m.dropThread(e.Peer)
	case event.Detach:
		m.detach(e.Peer)
	case event.End:
		m.end(t, e.Thread)
	case event.Hole:
		t.hasHole = true
	}
	switch {
	case o == nil || e.Op == event.Init && e.Flags&event.Inferred != 0:
		return
	case e.Op == event.Destroy:
		m.dropObject(e.Object, o)
		return
	case e.Op == event.Init:
		o.init.set(t)
	case x != nil:
		m.applyChanges(t, x)
	}
	if !e.Op.IsAccess() {
		o.recordUse(t)
	}
}

// applyChanges makes the changes to sets that a match lists.
func (m *Must) applyChanges(t *thread, x *order.Match) {
	for _, c := range x.Changes {
		for int(c.Set) >= len(m.sets) {
			m.sets = append(m.sets, mark{})
		}
		k := &m.sets[c.Set]
		switch {
		case c.From != 0:
			if c.Fresh {
				k.reset()
			}
			k.add(&m.sets[c.From])
		case c.Fresh:
			k.set(t)
		default:
			k.join(t)
		}
	}
}
