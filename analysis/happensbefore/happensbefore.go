// Package happensbefore finds the data races of the run itself: conflicting accesses
// that nothing in this run ordered.
//
// # Algorithm
//
// Vector clocks over the edges of order.Must and order.Observed: fork and join, release to
// the next acquire (readers of a rwlock do not order readers), condition variables,
// barriers, semaphores, once, messages, an atomic store and the load that reads it.
// An access is compared with the epochs (slot and time) of the last write and the last reads
// of the variable, not with whole clocks. There is one epoch if these accesses are ordered,
// and several if they race or are concurrent reads (Flanagan, Freund, "FastTrack", PLDI
// 2009). A read joins the clock of the write that it reads, after it has been checked
// (Mathur, Kini, Viswanathan, "What Happens-After the First Race?", OOPSLA 2018: SHB).
// Without this edge, a second race may be no race at all, since the program might have taken
// another path after reading another value. With it, each reported race has a schedule that
// consists of a part of this run, in its order, after which both accesses come next.
//
// The order is that of package order's Must, Observed and Outcome, so that in each race's
// schedule every operation ends as in this run: an arrival at a barrier comes after those of
// earlier generations, a failed attempt at a semaphore after all waits, and where the initial
// value of a semaphore was not recorded a wait comes after all posts. A property test
// compares the order with the plain model, eventtest.Naive.
//
// # Cost
//
// A mark identifies an event and its clock, which it shares with the event's thread. As long
// as a mark shares a clock, only the entry of the thread's own slot is changed. So an event
// costs O(1), except for an edge after which a thread knows more events: O(slots). Nothing is
// allocated in the steady state. Memory is bounded by live threads, locks and
// variables; each may share a clock of O(slots). Destroyed objects are dropped; the races
// found on them are kept.
//
// The input is the events of a run, with the slots of the must-order; the output is findings
// of kind race and confidence observed. The package never knows names, files or schedules.
package happensbefore

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

const (
	defaultMaxPairs   = 64
	defaultExtraPairs = 1 << 12
)

// Options bound the memory. The zero value is useful.
type Options struct {
	// MaxPairs is the number of pairs of call stacks for which races of each variable are
	// reported. Default 64.
	MaxPairs int
	// ExtraPairs is the number of further pairs, for all variables together. Default 4096; if
	// MaxPairs is set, 0.
	ExtraPairs int
	// Reports is the number of races that are kept once Shrink was called. Default 8192.
	Reports int
	// Locks is the table of the locks that threads hold. The caller passes it each event before
	// the analysis gets the event. Default: the analysis has a table of its own.
	Locks *locks.Table
}

// Stats counts what is in memory, races, and what Shrink evicted.
type Stats struct {
	Variables    int    // in memory now
	Locks        int    // in memory now
	Races        uint64 // pairs of accesses found to race
	DroppedPairs uint64 // races not kept for lack of room (MaxPairs, ExtraPairs, Shrink)
	EvictedLocks uint64 // by Shrink

	// EvictedOthers counts the semaphores, conditions, barriers, onces and channels that Shrink evicted, and
	// EvictedThreads those that had ended and were not joined.
	EvictedOthers, EvictedThreads uint64
}

// Analysis finds races. It implements finding.Analysis.
type Analysis struct {
	opts      Options
	held      *locks.Table
	ownLocks  bool // the analysis itself passes events to held
	clocks    pool
	slots     []*thread                  // by event.Event.Slot: the latest thread that had it
	live      map[event.ThreadID]*thread // the threads that have their slot, without those joined, or detached and ended
	pending   map[event.ThreadID]*mark   // by child without an event so far: its fork
	ended     map[event.ThreadID]*mark   // by thread not joined whose slot another thread has now: its last event
	detached  map[event.ThreadID]bool    // detached threads that have not ended
	inits     map[event.ObjectID]*mark   // by object: its initialisation
	locks     table[lock]
	vars      table[variable]
	others    table[object] // conditions, barriers, semaphores, onces and channels
	matcher   *order.Matcher
	sets      []eventSet // by order.Ref
	shared    order.Common
	uncertain bool // an edge may be missing, since something was not observed
	found     races
	extra     int      // number of reports in memory beyond Options.MaxPairs of a variable
	destroys  []uint64 // those of Destroys
	// contradicted has the variables of which a read was not that of the write before it.
	contradicted map[event.ObjectID]*variable
	floor        floor // of the variables and locks that Shrink evicted
}

var _ finding.Analysis = (*Analysis)(nil)

// New returns an analysis of a run that has not begun.
func New(o Options) *Analysis {
	if o.MaxPairs <= 0 {
		o.MaxPairs, o.ExtraPairs = defaultMaxPairs, max(o.ExtraPairs, defaultExtraPairs)
	}
	if o.Reports <= 0 {
		o.Reports = defaultReports
	}
	own := o.Locks == nil
	if own {
		o.Locks = locks.New()
	}
	return &Analysis{
		opts: o, held: o.Locks, ownLocks: own, live: map[event.ThreadID]*thread{}, pending: map[event.ThreadID]*mark{}, ended: map[event.ThreadID]*mark{}, detached: map[event.ThreadID]bool{},
		inits: map[event.ObjectID]*mark{}, contradicted: map[event.ObjectID]*variable{}, locks: newTable[lock](), vars: newTable[variable](), others: newTable[object](),
		matcher: order.New(order.Must | order.Observed | order.Outcome), found: races{endedCounts: map[pair]*endedCount{}},
	}
}

// Stats returns the counts so far.
func (a *Analysis) Stats() Stats {
	return Stats{Variables: len(a.vars.all), Locks: len(a.locks.all), Races: a.found.races, DroppedPairs: a.found.dropped, EvictedLocks: a.floor.locks, EvictedOthers: a.floor.others, EvictedThreads: a.floor.ended}
}

// Event processes the next event of the run; finding.Analysis.
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
		a.otherEvent(t, e)
	}
}

// otherEvent processes an event that is neither an access nor a lock operation.
func (a *Analysis) otherEvent(t *thread, e *event.Event) {
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
		a.uncertain = true
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

// init begins the lifetime of an object: all its uses come after e.
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
			o.init, o.evicted = k, a.floor.mayHave(e.Object)
		}
		o.used = e.Seq
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

// maxDestroys bounds the result of Destroys.
const maxDestroys = 1 << 8

// Destroys returns the destroys of locks and conditions, each by its Seq, that nothing in this run orders after the
// last exclusive release of the lock, or the last notification of the condition, at most 256. An inferred destroy orders nothing and is not among them,
// nor is one after lost events.
func (a *Analysis) Destroys() []uint64 { return a.destroys }

// destroy ends the lifetime of an object: e comes after all its uses, unless it is inferred.
func (a *Analysis) destroy(t *thread, e *event.Event) {
	c := &a.clocks
	inferred := e.Flags&event.Inferred != 0
	if !inferred && a.floor.mayHave(e.Object) {
		a.joinFloor(t)
	}
	if k := a.inits[e.Object]; k != nil {
		if !inferred {
			t.joinAt(c, k)
		}
		k.drop(c)
		delete(a.inits, e.Object)
	}
	if l := a.locks.remove(e.Object); l != nil {
		if !inferred && l.write.clock != 0 && !t.knows(&l.write) {
			a.addDestroy(e)
		}
		l.destroy(c, t, inferred)
	}
	if v := a.vars.remove(e.Object); v != nil {
		v.destroy(c, t, inferred)
		a.found.retire(v)
		a.extra -= max(0, len(v.reports.order)-a.opts.MaxPairs)
	}
	if o := a.others.remove(e.Object); o != nil {
		a.destroyObject(t, o, e)
	}
}

// addDestroy adds a destroy to the result of Destroys.
func (a *Analysis) addDestroy(e *event.Event) {
	if !a.uncertain && len(a.destroys) < maxDestroys {
		a.destroys = append(a.destroys, e.Seq)
	}
}

// tableCache is the number of entries of a table's cache.
const tableCache = 1 << 12

// table maps objects to their state, with a direct-mapped cache in front of the map.
type table[T any] struct {
	all   map[event.ObjectID]*T
	cache [tableCache]entry[T]
}

type entry[T any] struct {
	id    event.ObjectID
	state *T
}

func newTable[T any]() table[T] { return table[T]{all: map[event.ObjectID]*T{}} }

// known returns the state of an object, or nil if the table has none.
func (t *table[T]) known(id event.ObjectID) *T {
	cached := &t.cache[id%tableCache]
	if cached.id == id {
		return cached.state
	}
	o := t.all[id]
	if o != nil {
		*cached = entry[T]{id, o}
	}
	return o
}

// get returns the state of an object, and makes it if the table has none.
func (t *table[T]) get(id event.ObjectID) *T {
	if o := t.known(id); o != nil {
		return o
	}
	o := new(T)
	t.all[id] = o
	t.cache[id%tableCache] = entry[T]{id, o}
	return o
}

// remove removes an object from the table and returns its state, or nil if there is none.
func (t *table[T]) remove(id event.ObjectID) *T {
	o := t.known(id)
	if o != nil {
		delete(t.all, id)
		t.cache[id%tableCache] = entry[T]{}
	}
	return o
}
