// Package causality stamps the relevant events of a run with dynamic vector clocks:
// Algorithm A of Sen, Roşu, Agha, "Online Efficient Predictive Safety Analysis of
// Multithreaded Programs", Section 3.4. Relevant are the events that a specification
// speaks of; the others only carry causality.
//
// In goes each event of a run, in trace order, well formed as package event says; out
// comes the clock of its thread: for each slot, how many of its relevant events are
// known. For two different relevant events, e comes before f if and only if
// V(e)[slot of e] <= V(f)[slot of e] (Theorem 1).
//
// # What orders
//
// New draws the order of this run, tier sync of the order table: all that M and O say there.
// Writes of a variable are ordered with all its accesses, reads with each other not:
// a read takes the write clock of the variable. Locks are variables, written when they
// are taken and when they are released; the shared side of a read-write lock reads. A
// failed attempt reads a lock that somebody holds alone, else writes it. Conditions are
// variables that notifications and wakes write and that a wait reads as it falls asleep; a
// wake by time limit does not touch them. Barriers order arrivals before departures of a
// generation and before arrivals of the next (generations are kept as observed), semaphores
// post j before wait v+j: both edges are package order's. A semaphore whose value v is not
// known is a variable that every operation writes, and so is a channel of messages.
//
// NewExclusion leaves out the edges of locks: sections of a lock may change places, as a
// whole. Of locks there remains that a failed attempt comes after the holder has taken
// the lock and before it is released. That one thread alone holds a lock is then for the
// lattice to see to, which needs takings and releases as relevant events.
//
// # Slots
//
// A thread has a slot from its first relevant event on. One that begins after all
// that the slot of an ended thread has seen takes that slot and counts on, so that
// clocks are as long as the most threads that were unordered at once, and a slot
// stays a chain of events.
//
// # Cost
//
// O(slots) an event at worst, and nothing where a thread comes back to an object
// that nobody else has touched since. Memory is O((live threads + live objects) ×
// slots). Steady state does not allocate. The plain model is the transitive closure
// over all pairs of events, in the tests.
package causality

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// Clock counts relevant events by slot; what lies beyond its length is zero.
type Clock = order.Vector[uint32]

// maxIdle is how many slots of ended threads are kept whose last events whoever needs a
// slot does not know. Beyond it the oldest is taken all the same; see Clocks.Forced.
const maxIdle = 32

// Clocks is Algorithm A. Make it with New. It is not safe for concurrent use.
type Clocks struct {
	threads map[event.ThreadID]*thread
	objects map[event.ObjectID]*object
	slots   uint32
	idle    []idle // oldest first
	forced  uint64
	matcher *order.Matcher
	sets    []Clock // by order.Ref
	free    bool    // locks draw no edges

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
	c.free = true
	return c
}

// Slots is the length that a clock may have: the most slots in use so far.
func (c *Clocks) Slots() int { return int(c.slots) }

// Forced is how often a thread took the slot of an ended one that it did not know, only
// to bound the number of slots: an edge that agrees with the run, but which another
// run need not keep.
func (c *Clocks) Forced() uint64 { return c.forced }

// Stamp takes the next event of the run and gives the clock of its thread after it,
// valid until the next call. For a relevant event slot is its thread's, and the clock
// at slot its place in the chain of the slot, from 1; else slot means nothing.
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

// thread is the clock of a thread, alive or ended and not yet joined.
type thread struct {
	clock    Clock
	version  uint64 // of the clock: rises with each change
	slot     uint32
	slotted  bool
	ended    bool
	detached bool
}

// idle is the slot of an ended thread, and what the thread knew.
type idle struct {
	slot  uint32
	clock Clock
}

func (t *thread) join(d Clock) {
	if t.clock.Join(d) {
		t.version++
	}
}

func (c *Clocks) tick(t *thread) {
	if !t.slotted {
		c.seat(t)
	}
	t.clock.Extend(int(t.slot) + 1)
	t.clock[t.slot]++
	t.version++
}

// seat finds the thread a slot.
func (c *Clocks) seat(t *thread) {
	t.slotted = true
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

func (c *Clocks) thread(id event.ThreadID) *thread {
	if t := c.threads[id]; t != nil {
		return t
	}
	t := &thread{}
	if n := len(c.spareThreads); n > 0 {
		t, c.spareThreads = c.spareThreads[n-1], c.spareThreads[:n-1]
		*t = thread{clock: t.clock[:0], version: t.version + 1} // versions tell its lives apart
	}
	c.threads[id] = t
	return t
}

// end makes the slot of an ended thread free to be taken.
func (c *Clocks) end(t *thread) {
	if t.ended {
		return
	}
	t.ended = true
	if t.slotted {
		c.idle = append(c.idle, idle{t.slot, slices.Clone(t.clock)})
	}
}

func (c *Clocks) forget(id event.ThreadID) {
	t := c.threads[id]
	if t == nil {
		return
	}
	c.end(t)
	delete(c.threads, id)
	c.spareThreads = append(c.spareThreads, t)
}
