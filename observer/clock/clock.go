// Package clock gives each event its place in the orders of the run: dynamic
// vector clocks over the edges of the order table.
//
// The edges are those that every feasible reordering keeps: M, package order's Must. In
// goes each event of a run, in trace order, well formed as package event says; out come
// its slot, its epoch and its clock. A Must is not safe for concurrent use. It knows no
// analysis, and no value but the one that tells a read from whom it cannot have come.
//
// # Two halves of a read
//
// A race detector must see a read before the edge from the write that it reads
// is joined, and everything after the read with that edge (SHB: Mathur, Kini,
// Viswanathan, "What Happens-After the First Race?", OOPSLA 2018, Algorithm 1).
// Hence Stamp before the analyses, Done after them. Reads take the *write* clock
// of the variable (V_x^w), so that consecutive reads stay unordered.
//
// # Slots
//
// Clocks are indexed by slot, not by thread. A new thread takes the slot of an
// ended one whose last event the forking thread knows, and counts on from its
// epoch: every event of the new thread then comes after every event of the old
// one, so (slot, epoch) still identifies an event, and Event.Before still answers
// exactly. Clocks are as long as the most threads that were unordered at once.
// The plain model, without slots, is eventtest.Naive, and a property test holds the two
// together.
//
// # Holes
//
// Where events of a thread were lost (event.Hole), edges may be missing: from what
// the thread did, and to it. What follows in the thread is stamped event.AfterHole.
// The mark is not passed along edges: what was lost may also have been the very edge
// that would pass it, so a run with a hole is one whose every order is in doubt, and
// who judges findings must doubt them all. The mark says where the doubt begins.
//
// # Cost
//
// Time for an event is O(slots) at worst, O(1) for a join that brings nothing new:
// clocks are closed downwards, so who knows an event's epoch knows its clock. For
// the same reason what follows a thread's clock moves on by one count alone until an
// edge from another thread comes in; e.Since tells the analyses when one did.
// Memory is O((live threads + live objects) × slots); Destroy frees an object's
// part, also an inferred one, which orders nothing. Steady state does not allocate.
package clock

import (
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// maxIdle is the number of slots of ended threads, unknown to whoever forks, that
// are kept. Beyond it (detached threads by the thousand) the oldest is reused all
// the same, by drawing an edge that agrees with the run; see Must.Forced.
const maxIdle = 256

// cachedThreads is how many threads, and cachedObjects how many objects, are found without
// a map. A server has thousands of locks: one for each bucket of a table.
const (
	cachedThreads = 64
	cachedObjects = 1 << 12
)

// Must stamps events with the clocks of the must-order. Make it with New.
type Must struct {
	slots       uint32
	threads     map[event.ThreadID]*thread
	objects     map[event.ObjectID]*object
	threadCache [cachedThreads]*thread // direct-mapped, by the low bits of the ID
	objectCache [cachedObjects]*object // likewise
	idle        []*thread              // ended, slot not yet taken again; oldest first
	spare       []*thread
	spareOb     []*object
	matcher     *order.Matcher
	sets        []mark // by order.Ref
	common      order.Common[event.Epoch]

	forced       uint64
	contradicted uint64
}

// New returns the clocks of a run that has not begun.
func New() *Must {
	return &Must{threads: map[event.ThreadID]*thread{}, objects: map[event.ObjectID]*object{}, matcher: order.New(order.Must)}
}

// Forced is the number of edges drawn from the end of a thread to the begin of a
// later one only to bound the number of slots. Each agrees with the run; a
// prediction that needs the two reordered is lost.
func (m *Must) Forced() uint64 { return m.forced }

// Contradicted is the number of reads whose recorded value is not that of the
// last write; they carry no edge.
func (m *Must) Contradicted() uint64 { return m.contradicted }

// Cells bounds the numbers that all clocks together hold, 4 bytes each: as many
// as the slots for each live thread and object, and an object may hold a few
// times that.
func (m *Must) Cells() uint64 {
	return uint64(m.slots) * uint64(len(m.threads)+len(m.objects))
}

// Slots is the length that a clock may have: the most slots in use so far.
func (m *Must) Slots() int { return int(m.slots) }

// Stamp fills e.Slot, e.Epoch and e.Must. For an access of a plain variable
// e.Must lacks the edge from the write that it reads; Done joins it.
// Call it once for each event, in trace order; e.Must is valid until the next call
// of any method.
func (m *Must) Stamp(e *event.Event) {
	t := m.thread(e.Thread)
	o := m.object(e) // nil for an instance, which orders nothing
	// The must-order knows nothing of who had a lock first: of most events it
	// takes the object's beginning and its use alone.
	lock := o != nil && e.Op >= event.Acquire && e.Op <= event.Release
	var x *order.Match
	if lock {
		t.join(&o.init)
	} else {
		x = m.before(t, o, e)
	}
	t.tick()
	if t.holed {
		e.Flags |= event.AfterHole
	}
	e.Slot, e.Epoch, e.Since = t.slot, t.epoch, t.since
	if lock {
		o.use(t)
	} else {
		m.after(t, o, e, x)
	}
	e.Must = t.clock
}

// Done ends the event that was stamped last, once all analyses have seen it: it
// joins the edge from the write that a plain read reads and remembers a write.
// A read with event.NoSource gets no edge, nor does one whose value is not the
// last write's (both with event.HasValue): the record of racing accesses may be in
// the wrong order, and an edge that the values contradict would carry false causality.
// One with event.Late has had the edges from all accesses before it.
func (m *Must) Done(e *event.Event) {
	if e.Op.IsAccess() {
		m.accessed(e)
	}
}

func (m *Must) accessed(e *event.Event) {
	t := m.threadIf(e.Thread)
	o := m.objectIf(e.Object)
	if t == nil || o == nil {
		return
	}
	if e.Op != event.Write && e.Flags&(event.NoSource|event.Late) == 0 {
		m.joinWrite(t, o, e)
	}
	if e.Op.IsWrite() {
		o.setWrite(t, e)
	}
	o.use(t)
}

// joinWrite draws write → read, unless the values contradict it.
func (m *Must) joinWrite(t *thread, o *object, e *event.Event) {
	if e.Op == event.Read && o.valued && e.Flags&event.HasValue != 0 && o.value != e.Value {
		m.contradicted++
		return
	}
	t.join(&o.write)
}

// before joins what must come before e, and returns what package order says of it, or nil.
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
			o.settle()
			t.joinClock(o.uses)
		} else if o.atomic && e.Flags&(event.Atomic|event.NoSource) == event.Atomic && (e.Op == event.Update || !o.contradicts(e)) {
			// Two atomic accesses do not race, so their edge need not wait for Done.
			t.join(&o.write)
		}
	case event.Destroy:
		o.settle()
		t.joinClock(o.uses)
	default:
		if order.Synchronises(e.Op) {
			return m.synchronise(t, o, e)
		}
	}
	return nil
}

// synchronise draws the edges from what other threads did with the object.
func (m *Must) synchronise(t *thread, o *object, e *event.Event) *order.Match {
	x := m.matcher.Match(&o.order, e)
	for _, edge := range x.Edges {
		t.join(&m.sets[edge.From])
	}
	if n := len(x.Sleepers); n > 0 {
		width := 0
		for _, s := range x.Sleepers {
			width = max(width, len(m.sets[s].clock))
		}
		t.joinClock(m.common.Beyond(x.Beyond, n, width, func(i int, slot uint32) event.Epoch {
			return m.sets[x.Sleepers[i]].clock.At(slot)
		}))
	}
	return x
}

// after remembers e for what must come after it.
func (m *Must) after(t *thread, o *object, e *event.Event, x *order.Match) {
	switch e.Op {
	case event.Fork:
		m.fork(t, e.Peer)
	case event.Join:
		m.forget(e.Peer)
	case event.Detach:
		m.detach(e.Peer)
	case event.End:
		m.end(t, e.Thread)
	case event.Hole:
		t.holed = true
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
		m.remember(t, x)
	}
	if !e.Op.IsAccess() {
		o.use(t)
	}
}

// remember makes the changes that package order asks for.
func (m *Must) remember(t *thread, x *order.Match) {
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
			k.join(t.clock)
		}
	}
}
