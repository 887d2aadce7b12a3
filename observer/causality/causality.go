// Package causality stamps the relevant events of a run with dynamic vector clocks:
// Algorithm A of Sen, Roşu, Agha, "Online Efficient Predictive Safety Analysis of
// Multithreaded Programs", Section 3.4. Relevant events are those that a specification
// mentions; the others only carry causality.
//
// The input is each event of a run, in trace order, well formed as package event requires;
// the output is the clock of its thread: for each slot, how many of its relevant events are
// known. For two different relevant events, e comes before f if and only if
// V(e)[slot of e] <= V(f)[slot of e] (Theorem 1).
//
// # What orders
//
// New draws the order of this run ("sync" in findings): the edges of order.Must and order.Observed.
// Writes of a variable are ordered with all its accesses, reads not with each other:
// a read joins the write clock of the variable. Locks are variables, written at an acquire
// and at a release; the shared side of a read-write lock reads. A failed attempt reads a lock
// that is held exclusively, and else writes it. Conditions are variables that notifications
// and wakes write and that a wait reads as it falls asleep; a wake by time limit does not
// touch them. Barriers order arrivals before departures of a generation and before arrivals
// of the next (generations are kept as observed), semaphores post j before wait v+j: both
// edges are package order's. A semaphore whose value v is not known is a variable that every
// operation writes, and so is a channel of messages.
//
// NewExclusion leaves out the edges of locks: critical sections of a lock may change places,
// as a whole. The only edges left are those that keep a failed attempt after the acquire of
// the section that held the lock, and before its release. Mutual exclusion is then up to the
// lattice, which needs acquires and releases as relevant events.
//
// # Slots
//
// A thread has a slot from its first relevant event on. A thread that then comes after all
// relevant events of an ended thread's slot takes over that slot and continues its count. So
// clocks are as long as the largest number of threads that were unordered at once, and the
// events of a slot are totally ordered.
//
// # Cost
//
// O(slots) an event at worst, and O(1) where a thread uses an object again
// that no other thread has used since. Memory is O((live threads + live objects) ×
// slots). Steady state does not allocate. The plain model is the transitive closure
// over all pairs of events, in the tests.
package causality

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// Clock counts relevant events by slot; entries beyond its length are zero.
type Clock = order.Vector[uint32]

// maxIdle is the number of slots of ended threads that are kept although no thread that needs a
// slot comes after their last events. Beyond it the oldest is reused all the same; see
// Clocks.Forced.
const maxIdle = 32

// Clocks is Algorithm A. Make it with New. It is not safe for concurrent use.
type Clocks struct {
	threads   map[event.ThreadID]*thread
	objects   map[event.ObjectID]*object
	slots     uint32 // number of slots so far
	idle      []idle // oldest first
	forced    uint64 // see Forced
	matcher   *order.Matcher
	sets      []Clock // by order.Ref
	exclusion bool    // made by NewExclusion: without edges of locks

	spareThreads []*thread
	spareObjects []*object
}

// New returns the clocks of a run that has not begun.
func New() *Clocks {
	return &Clocks{threads: map[event.ThreadID]*thread{}, objects: map[event.ObjectID]*object{}, matcher: order.New(order.Must | order.Observed)}
}

// NewExclusion returns the clocks of a run that has not begun, without the edges of locks.
func NewExclusion() *Clocks {
	c := New()
	c.exclusion = true
	return c
}

// Slots returns the length that a clock may have: the number of slots so far.
func (c *Clocks) Slots() int { return int(c.slots) }

// Memory returns the memory that the clocks need at most, in bytes: one for each thread, and two for each
// object and set, with an entry for each slot.
func (c *Clocks) Memory() uint64 {
	const entry = 4
	return uint64(c.slots) * uint64(len(c.threads)+2*len(c.objects)+len(c.sets)) * entry
}

// Forced returns how often a thread took the slot of an ended one without coming after its
// last events, only to bound the number of slots. Each time an edge is drawn that agrees with
// the run, but which another run need not keep.
func (c *Clocks) Forced() uint64 { return c.forced }

// Stamp handles the next event of the run and returns the clock of its thread after it,
// valid until the next call. For a relevant event, slot is that of its thread, and the clock's
// entry at slot is the number of the event in the slot, from 1; else slot means nothing.
func (c *Clocks) Stamp(e *event.Event, relevant bool) (slot uint32, v Clock) {
	t := c.thread(e.Thread)
	o := c.object(e)
	x := c.before(t, o, e)
	if relevant {
		c.tick(t)
	}
	c.after(t, o, e, x)
	return t.slot, t.clock
}

// thread is the state of a thread that is alive, or has ended and not been joined.
type thread struct {
	clock    Clock
	version  uint64 // of the clock: rises with each change
	slot     uint32
	hasSlot  bool // slot is valid
	ended    bool
	detached bool
}

// idle is the slot of an ended thread, and the thread's clock.
type idle struct {
	slot  uint32
	clock Clock
}

// join joins a clock to that of the thread.
func (t *thread) join(d Clock) {
	if t.clock.Join(d) {
		t.version++
	}
}

// tick counts a relevant event of the thread.
func (c *Clocks) tick(t *thread) {
	if !t.hasSlot {
		c.assignSlot(t)
	}
	t.clock.Extend(int(t.slot) + 1)
	t.clock[t.slot]++
	t.version++
}

// assignSlot assigns a slot to the thread.
func (c *Clocks) assignSlot(t *thread) {
	t.hasSlot = true
	at := slices.IndexFunc(c.idle, func(d idle) bool { return t.clock.At(d.slot) >= d.clock.At(d.slot) })
	if at < 0 {
		if len(c.idle) <= maxIdle {
			t.slot = c.slots
			c.slots++
			return
		}
		at = 0
		c.forced++
		t.join(c.idle[0].clock)
	}
	t.slot = c.idle[at].slot
	c.idle = slices.Delete(c.idle, at, at+1)
}

// thread returns the state of a thread, and makes it if there is none.
func (c *Clocks) thread(id event.ThreadID) *thread {
	if t := c.threads[id]; t != nil {
		return t
	}
	t := &thread{}
	if n := len(c.spareThreads); n > 0 {
		t, c.spareThreads = c.spareThreads[n-1], c.spareThreads[:n-1]
		// An object may still have this thread as its last one: the version must not recur.
		*t = thread{clock: t.clock[:0], version: t.version + 1}
	}
	c.threads[id] = t
	return t
}

// end makes the slot of an ended thread available for reuse.
func (c *Clocks) end(t *thread) {
	if t.ended {
		return
	}
	t.ended = true
	if t.hasSlot {
		c.idle = append(c.idle, idle{t.slot, slices.Clone(t.clock)})
	}
}

// dropThread drops the state of a thread that can no longer be joined.
func (c *Clocks) dropThread(id event.ThreadID) {
	t := c.threads[id]
	if t == nil {
		return
	}
	c.end(t)
	delete(c.threads, id)
	c.spareThreads = append(c.spareThreads, t)
}
