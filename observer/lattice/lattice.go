// Package lattice builds the computation lattice of a run, level by level and
// online, and runs monitors over all its paths (Sen, Roşu, Agha, "Online Efficient
// Predictive Safety Analysis of Multithreaded Programs", Section 4).
//
// The input is the relevant events of a run in trace order, each with its dynamic vector
// clock (observer/causality); the output is violations: edges of the lattice by which some
// run that the causality allows first reaches a bad state of a monitor. A consistent cut is a
// set of events closed under causality, written as the number of its events in each slot;
// its level is the number of its events. Of an event the lattice sees only the variable that
// it wrote, the lock that it acquired or released, and the declared events that it is.
//
// # The cone
//
// With a window w a level keeps at most w cuts. It is closed when it has w, when l events
// wait in the queue, or when the run is over; this is checked once all of the queue has been
// tried. The cut of the observed run enters first, so that it is never lost. The others
// enter in the order in which the run made their last events: an event that had to wait for
// long is least likely to come next. A full level still takes further paths into the cuts that
// it has. Stats counts what the cone leaves out. The rule of the paper's figures, taken to the
// letter, would stop with levels unbuilt.
//
// # Runs and words
//
// All runs into one cut are followed at once: a cut holds, for each property, the set of
// states in which its monitor may be. A monitor steps on an edge, by the values at the
// cut where the edge ends and the event of the edge, and only if its property mentions
// what the event did. The initial state is read first. Where a run turns bad, that is
// reported once, and the other states of the set are followed further.
//
// # Representation
//
// A cut is packed into lanes of 8, 16 or 32 bits, one for each slot, counted from a base
// that moves with the levels: one subtraction compares all lanes of a word (cut.go). Sets of
// the states of a small monitor are masks, united as they come to a cut and stepped once
// (masks.go). Other sets are interned, and the results of set × letter and set ∪ set are
// cached, so that a step is a look-up (sets.go). The arrays of levels are reused; in the
// steady state nothing is allocated. With a window the cuts of the next level are found by a
// hash table (build.go, table.go). Without one, levels are sorted and the next one is a merge,
// on all cores where it is wide (whole.go). The plain model, which enumerates linear
// extensions, is in the tests.
//
// # Witnesses
//
// Passed levels are kept up to Options.History cuts, without the values of variables, which
// follow from the events. From these levels the run that leads to a violation is found
// backwards, to the last cut that it shares with the observed run (witness.go).
//
// # Bounds
//
// Memory is O(w·(slots + m) + l·slots), m being the number of variables, and the passed levels;
// time for an event O(w·slots) and the letters of new cuts.
package lattice

import "runtime"

// Rule is how the cuts of a level are chosen.
type Rule uint8

// The rules.
const (
	// Centred: the cut of the observed run enters each level first.
	Centred Rule = iota
	// Repaired: cuts enter in the order of the queue alone, so that a narrow window may
	// lose the observed run. Tests compare it with the paper's Example 3.
	Repaired
)

// Options configure a Lattice.
type Options struct {
	// Width is w, the most cuts that a level keeps; 0 is no limit.
	Width int
	// Queue is l, the number of waiting events at which a level is closed. 0 is no limit: a
	// level with fewer than w cuts is then closed only when the run is over.
	Queue int
	Rule  Rule // how the cuts of a level are chosen; default Centred
	// Initial holds the values of the variables before the first event, one a variable.
	Initial    []uint64
	Properties []Property // what is checked; at most 64
	// History is how many cuts of passed levels are kept for witnesses; default 262144.
	History int
	// Violation, if not nil, is called for each violation, as the level is built.
	Violation func(*Violation)
}

// Property is what is checked on every run.
type Property struct {
	Monitor Monitor
	Labels  Labels
	// Variables holds the indices of the variables whose writes the monitor reads as a letter,
	// and on whose values letters depend; nil is all variables.
	Variables []int
	// Events is the set of declared events that the monitor reads as a letter (bit i: event i).
	Events uint64
}

// Event is a relevant event.
type Event struct {
	Slot uint32
	// Lock is the lock that the event acquires or releases, and Locking its operation, where
	// critical sections may change places: the clocks then have no edges of locks. The monitor
	// reads no letter at such an event unless it is a declared one. A lock is held by one
	// exclusive holder, or by readers.
	Lock    uint32
	Locking Locking
	// Variable is the index of the variable that it wrote, -1 for none. The clocks order
	// the writes of a variable.
	Variable int
	Value    uint64   // written to Variable
	Events   uint64   // bit i: it is declared event i
	Seq      uint64   // in the trace
	Clock    []uint32 // by slot, the event itself included; missing entries are zero
}

// Locking is the operation of an event on a lock.
type Locking uint8

// The operations: none, exclusive acquire, shared acquire, release.
const (
	NoLock Locking = iota
	Acquires
	AcquiresShared
	Releases
)

// Stats counts how much of the lattice was explored.
type Stats struct {
	Levels  uint64 // closed, the initial one not counted
	Cuts    uint64 // built, the initial one included
	Edges   uint64 // steps between cuts that were taken
	Dropped uint64 // cuts for which a full level had no room
	Cut     uint64 // levels that had no room for a cut
	Late    uint64 // events that came after a level that they belong to was closed
	Widest  int    // cuts of the widest level
	Queue   int    // the largest number of events that waited at once
}

// Complete reports whether every cut was built, so that all runs were checked.
func (s *Stats) Complete() bool { return s.Dropped == 0 && s.Late == 0 }

// Add adds the counts of another lattice of the same run. Widest and Queue become the larger ones.
func (s *Stats) Add(o Stats) {
	s.Levels, s.Cuts, s.Edges = s.Levels+o.Levels, s.Cuts+o.Cuts, s.Edges+o.Edges
	s.Dropped, s.Cut, s.Late = s.Dropped+o.Dropped, s.Cut+o.Cut, s.Late+o.Late
	s.Widest, s.Queue = max(s.Widest, o.Widest), max(s.Queue, o.Queue)
}

const defaultHistory = 1 << 18

// Lattice is the lattice of one run. Make it with New. It is not safe for concurrent
// use.
type Lattice struct {
	o     Options
	props []*automaton
	stats Stats

	packing
	old         packing  // scratch of repack
	chains      []chain  // by slot
	arrived     []uint32 // the slots of the events in trace order, without the first arrivedBase ones
	arrivedBase int      // number of events removed from the beginning of arrived
	written     []uint64 // by variable: the value written last
	total       int      // number of events so far
	queued      int      // number of events that some cut of the current level lacks

	level    int // number of the current level
	current  *level
	next     *level
	building bool     // all waiting events have been tried for next, with a window
	observed []uint32 // by slot: the observed run's cut at the current level
	locks    bool     // some event has a Locking
	onlySlot []uint32 // see restrict
	floor    []uint32 // by slot: the least count over the cuts of the current level

	history       []*level // passed levels, oldest first
	droppedLevels int      // number of levels at the beginning of history that were dropped
	historyCuts   int      // number of cuts of the other levels in history
	spare         []*level // not in use

	waiting []waiting // in trace order; some may be below the floor by now
	table   table
	bytewise
	edges  edges
	keyBuf []uint64 // scratch: a key
	cuts   []uint32 // scratch of repack

	cores   int // most cores that build a level without a window
	share   int // number of cuts of a level for which a core is used
	mergers []*merger

	// pendingSets holds the pending sets of each cut of next, one a property.
	pendingSets []pendingSet
	single      bool // there is only one property, and its sets are masks

	found    Violation // the last violation, reused
	onClosed func()    // for tests: called when a level is closed; nil: nothing is called
}

// New returns the lattice of a run that has not begun. The monitors read the initial state,
// which may be a violation already.
func New(o Options) *Lattice {
	if o.History <= 0 {
		o.History = defaultHistory
	}
	l := &Lattice{o: o, packing: packing{bits: 8}, cores: runtime.GOMAXPROCS(0), share: defaultShare}
	l.current, l.next = l.newLevel(), l.newLevel()
	for i := range o.Properties {
		l.props = append(l.props, newAutomaton(&o.Properties[i]))
	}
	l.single = len(l.props) == 1 && l.props[0].masked()
	l.written = append(l.written, o.Initial...)
	l.current.n = 1
	l.current.values = append(l.current.values, o.Initial...)
	l.current.observed = 0
	for p, a := range l.props {
		s, fresh := a.begin(o.Initial)
		l.current.sets = append(l.current.sets, s)
		l.current.run = append(l.current.run, s)
		if fresh {
			l.violate(Violation{Property: p, Observed: true, lattice: l})
		}
	}
	l.stats.Cuts, l.stats.Widest = 1, 1
	return l
}

// Event handles the next relevant event of the run. It keeps a copy of e and of its clock.
func (l *Lattice) Event(e *Event) {
	l.addSlots(int(e.Slot) + 1)
	c := &l.chains[e.Slot]
	m := c.push()
	m.Event = *e
	m.Clock = append(m.clock[:0], e.Clock...)
	m.clock = m.Clock
	if e.Variable >= 0 {
		m.before, l.written[e.Variable] = l.written[e.Variable], e.Value
	}
	m.order = l.total
	m.steps = l.stepsOf(e)
	c.setHeld(m)
	l.locks = l.locks || e.Locking != NoLock
	l.arrived = append(l.arrived, e.Slot)
	l.waiting = append(l.waiting, waiting{e.Slot, c.last()})
	l.total++
	l.queued++
	l.stats.Queue = max(l.stats.Queue, l.queued)
	if sum(e.Clock) <= l.level {
		l.stats.Late++
	}
	if c.last()-l.base[e.Slot] > l.limit() {
		l.rebase()
	} else {
		l.packNeed(e.Slot, c.last())
	}
	if l.building {
		l.try(e.Slot, c.last())
	}
	l.advance(false)
}

// Finish builds the levels that are left, when the run is over.
func (l *Lattice) Finish() { l.advance(true) }

// Stats returns the counts so far.
func (l *Lattice) Stats() Stats { return l.stats }

// sum returns the number of events that a clock includes.
func sum(clock []uint32) int {
	n := 0
	for _, v := range clock {
		n += int(v)
	}
	return n
}

// stepsOf returns the set of properties whose monitors read a letter at the event (bit p:
// property p).
func (l *Lattice) stepsOf(e *Event) uint64 {
	var steps uint64
	for p := range l.props {
		if l.props[p].reads(e) {
			steps |= 1 << p
		}
	}
	return steps
}
