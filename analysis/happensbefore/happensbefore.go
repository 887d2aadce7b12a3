// Package happensbefore finds the data races of the run itself: conflicting accesses
// that nothing in this run ordered.
//
// # Algorithm
//
// Vector clocks over the edges M and O of the order table: fork and join, release to
// the next acquire (readers of a rwlock do not order readers), condition variables,
// barriers, semaphores, once, messages, an atomic store and the load that reads it.
// An access is compared with an epoch (a slot and its time), not with a clock: the
// last write and the last reads of a variable are such epochs, one where all are
// ordered, more where they race or are concurrent reads (Flanagan, Freund,
// "FastTrack", PLDI 2009). A read joins the clock of the write that it reads, after it
// has been checked (Mathur, Kini, Viswanathan, "What Happens-After the First Race?",
// OOPSLA 2018: SHB). Without that a second race may be no race at all, for another
// value read before would lead elsewhere; with it, each race that is found can be had
// next in a schedule that keeps to this run up to there.
//
// The order is that of package order's Must, Observed and Outcome, so that each race has a
// schedule with what this run had: an arrival at a barrier comes after those of the
// generations before, a failed attempt at a semaphore after all waits, and where nobody
// recorded a semaphore's initial value a wait comes after all posts. A property test holds
// it to the plain model, eventtest.Naive.
//
// # Cost
//
// A clock is never changed once an event is remembered with it, but for the count of
// the slot that it belongs to; to remember an event is to share its thread's clock. So
// an event costs O(1), but for the edge that brings something new: O(slots). Nothing is
// allocated in the steady state. Memory is bounded by live threads, locks and
// variables; each may share a clock of O(slots). Objects that are destroyed are
// forgotten, but for the races found.
//
// In go the events of a run, with the slots of the must-order; out come findings of
// kind race and confidence observed. What it never knows: names, files, schedules.
package happensbefore

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

const defaultMaxPairs = 64

// Options bound the memory. The zero value is useful.
type Options struct {
	// MaxPairs is how many pairs of places a variable can be reported for. Default 64.
	MaxPairs int
	// Locks are the locks that threads hold, which has taken each event before the analysis
	// gets it. Default: the analysis follows them itself.
	Locks *locks.Table
}

// Stats counts what is in memory and what was forgotten.
type Stats struct {
	Variables    int    // in memory now
	Locks        int    // likewise
	Races        uint64 // pairs of accesses found to race
	DroppedPairs uint64 // races not kept for want of room (MaxPairs)
}

// Analysis finds races. It implements finding.Analysis.
type Analysis struct {
	opts     Options
	held     *locks.Table
	ownLocks bool // held is not shared
	clocks   pool
	slots    []*thread // by event.Event.Slot
	live     map[event.ThreadID]*thread
	pending  map[event.ThreadID]*mark // created, nothing seen of them
	ended    map[event.ThreadID]*mark // not joined, their slot is another's
	detached map[event.ThreadID]bool
	inits    map[event.ObjectID]*mark
	locks    table[lock]
	vars     table[variable]
	others   table[object]
	matcher  *order.Matcher
	sets     []past // by order.Ref
	shared   order.Common[event.Epoch]
	unsure   bool // an edge may be missing from here on
	found    races
}

var _ finding.Analysis = (*Analysis)(nil)

// New makes an analysis.
func New(o Options) *Analysis {
	if o.MaxPairs <= 0 {
		o.MaxPairs = defaultMaxPairs
	}
	own := o.Locks == nil
	if own {
		o.Locks = locks.New()
	}
	return &Analysis{
		opts: o, held: o.Locks, ownLocks: own, live: map[event.ThreadID]*thread{}, pending: map[event.ThreadID]*mark{}, ended: map[event.ThreadID]*mark{}, detached: map[event.ThreadID]bool{},
		inits: map[event.ObjectID]*mark{}, locks: newTable[lock](), vars: newTable[variable](), others: newTable[object](),
		matcher: order.New(order.Must | order.Observed | order.Outcome), found: races{dead: map[pair]*dead{}},
	}
}

// Stats reports what is in memory and what was forgotten.
func (a *Analysis) Stats() Stats {
	return Stats{Variables: len(a.vars.all), Locks: len(a.locks.all), Races: a.found.races, DroppedPairs: a.found.dropped}
}

// Event takes the next event of the run; the signature of finding.Analysis.
func (a *Analysis) Event(e *event.Event) {
	if e.Kind == event.KindInstance || e.Op.IsCall() {
		return // it orders nothing
	}
	t := a.thread(e)
	switch {
	case e.Op.IsAccess():
		a.access(t, e)
	case e.Op >= event.Acquire && e.Op <= event.Release:
		a.lockEvent(t, e)
	default:
		a.rare(t, e)
	}
}

// rare takes what is neither access nor lock.
func (a *Analysis) rare(t *thread, e *event.Event) {
	if a.ownLocks {
		a.held.Event(e)
	}
	switch e.Op {
	case event.Fork:
		a.fork(t, e.Peer)
	case event.Join:
		a.join(t, e.Peer)
	case event.Detach:
		a.detach(e.Peer)
	case event.End:
		a.end(t)
	case event.Hole:
		a.unsure = true
	case event.Init:
		a.init(t, e)
	case event.Destroy:
		a.destroy(t, e)
	case event.Begin, event.OnceEnter:
	default:
		if e.Object != 0 {
			a.object(t, e)
		}
	}
}

// init begins the lifetime of an object: its uses come after it.
func (a *Analysis) init(t *thread, e *event.Event) {
	if e.Object == 0 || e.Flags&event.Inferred != 0 {
		return
	}
	k := a.inits[e.Object]
	if k == nil {
		k = &mark{}
		a.inits[e.Object] = k
	}
	t.joinAt(&a.clocks, k)
	k.set(&a.clocks, t)
	t.tick()
	if o := a.others.known(e.Object); o != nil || e.Flags&event.HasValue != 0 {
		if o == nil {
			o = a.others.get(e.Object)
			o.init = k
		}
		a.matcher.Match(&o.order, e)
		o.use(a, t)
	}
	if l := a.locks.known(e.Object); l != nil {
		l.init = k
	}
	if v := a.vars.known(e.Object); v != nil {
		v.init = k
	}
}

// destroy ends the lifetime of an object: it comes after all uses.
func (a *Analysis) destroy(t *thread, e *event.Event) {
	c := &a.clocks
	guessed := e.Flags&event.Inferred != 0
	if k := a.inits[e.Object]; k != nil {
		if !guessed {
			t.joinAt(c, k)
		}
		k.drop(c)
		delete(a.inits, e.Object)
	}
	if l := a.locks.take(e.Object); l != nil {
		l.destroy(c, t, guessed)
	}
	if v := a.vars.take(e.Object); v != nil {
		v.destroy(c, t, guessed)
		a.found.bury(v)
	}
	if o := a.others.take(e.Object); o != nil {
		a.destroyObject(t, o, guessed)
	}
}

// tableCache is how many objects of a table are found without a map.
const tableCache = 1 << 12

// table finds what is known of objects.
type table[T any] struct {
	all   map[event.ObjectID]*T
	cache [tableCache]entry[T]
}

type entry[T any] struct {
	id event.ObjectID
	of *T
}

func newTable[T any]() table[T] { return table[T]{all: map[event.ObjectID]*T{}} }

// known returns what is known of an object, or nil.
func (t *table[T]) known(id event.ObjectID) *T {
	cached := &t.cache[id%tableCache]
	if cached.id == id {
		return cached.of
	}
	o := t.all[id]
	if o != nil {
		*cached = entry[T]{id, o}
	}
	return o
}

// get makes an object known.
func (t *table[T]) get(id event.ObjectID) *T {
	if o := t.known(id); o != nil {
		return o
	}
	o := new(T)
	t.all[id] = o
	t.cache[id%tableCache] = entry[T]{id, o}
	return o
}

// take forgets an object and gives what was known of it, or nil.
func (t *table[T]) take(id event.ObjectID) *T {
	o := t.known(id)
	if o != nil {
		delete(t.all, id)
		t.cache[id%tableCache] = entry[T]{}
	}
	return o
}
