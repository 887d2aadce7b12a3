// Package lattice builds the computation lattice of a run, level by level and
// online, and runs monitors over all its paths (Sen, Roşu, Agha, "Online Efficient
// Predictive Safety Analysis of Multithreaded Programs", Section 4).
//
// In go the relevant events of a run in trace order, each with its dynamic vector
// clock (observer/causality); out come violations: edges of the lattice by which some
// run that the causality allows first reaches a bad state of a monitor. A cut is a set
// of events closed under causality, written as how many events of each slot are in it;
// its level is how many in all. The lattice never sees what an event was beyond the
// variable that it wrote and the declared events that it is.
//
// # The cone
//
// With a window w a level keeps at most w cuts, and is closed when it has w, or l
// events wait in the queue, or the run is over, asked once all of the queue has been
// tried. The cut of the observed run enters first, so that it is never lost; the others
// in the order in which the run made their last events: what had to wait longest is
// least likely to come next. A full level still takes further paths into the cuts that
// it has. What the cone leaves out is counted (Stats): the paper's figures, taken to the
// letter, would stop with levels unbuilt.
//
// # Runs and words
//
// All runs into one cut are followed at once: a cut holds, for each property, the set of
// states in which its monitor may be. A monitor steps on an edge, by the values at the
// cut where the edge ends and the event of the edge, and only if its property mentions
// what the event did. The initial state is read first. Where a run turns bad, that is
// reported once, and the rest of the set goes on.
//
// # Representation
//
// A cut is packed into lanes of 8, 16 or 32 bits, a slot a lane, counted from a base
// that moves with the levels: one subtraction compares eight slots (cut.go). Sets of
// the states of a small monitor are masks, united as they come to a cut and stepped once
// (masks.go); else they are interned, and set × letter and set ∪ set remembered, so that a
// step is a look-up (sets.go). Levels live in arrays that are used again; once warm,
// nothing is allocated. In a window the cuts of the next level are found by a table
// (build.go, table.go); without one, levels are sorted and the next is a merge, on all
// cores where it is wide (whole.go). The naive twin, which enumerates linear extensions,
// is in the tests.
//
// # Witnesses
//
// Levels passed are kept up to Options.History cuts, without the values of variables, which
// the events tell. From them the run that leads to a violation is found backwards, to the
// last cut that it shares with the observed run (witness.go).
//
// # Bounds
//
// Memory is O(w·(slots + m) + l·slots) and the history; time for an event O(w·slots) and
// the letters of new cuts.
package lattice

import "runtime"

// Rule is how the cuts of a level are chosen.
type Rule uint8

// The rules.
const (
	// Centred: the cut of the observed run enters each level first.
	Centred Rule = iota
	// Repaired: cuts enter in the order of the queue alone, so that a narrow window may
	// lose the observed run. It is here to be compared with the paper's Example 3.
	Repaired
)

// Options configure a Lattice.
type Options struct {
	// Width is w, the most cuts that a level keeps; 0 is no limit.
	Width int
	// Queue is l, the number of waiting events that closes a level; 0 is no limit:
	// narrower levels than w are built only when the run is over.
	Queue int
	Rule  Rule
	// Initial are the values of the variables before the first event, one a variable.
	Initial    []uint64
	Properties []Property
	// History is how many cuts of passed levels are kept for witnesses; default 262144.
	History int
	// Violation is called for each violation, as the level is built; nil is not.
	Violation func(*Violation)
}

// Property is what is checked on every run.
type Property struct {
	Monitor Monitor
	Labels  Labels
	// Variables are those, by index, whose writes make a letter and on whose values
	// letters depend; nil is all of them.
	Variables []int
	// Events are the declared events that make a letter (bit i: event i).
	Events uint64
}

// Event is a relevant event.
type Event struct {
	Slot uint32
	// Lock is the lock that it takes or releases where sections may change places (the
	// clocks have no edges of locks then), and Locking what it does to it. Such an event
	// makes no letter unless it is a declared one. A lock has one holder, or readers.
	Lock    uint32
	Locking Locking
	// Variable is the index of the variable that it wrote, -1 for none. The clocks order
	// the writes of a variable.
	Variable int
	Value    uint64   // written
	Events   uint64   // bit i: it is declared event i
	Seq      uint64   // in the trace
	Clock    []uint32 // by slot, itself included; shorter than needed means zero
}

// Locking is what an event does to a lock.
type Locking uint8

// What events do to locks.
const (
	NoLock Locking = iota
	Takes
	TakesShared
	Releases
)

// Stats says how much of the lattice was explored.
type Stats struct {
	Levels  uint64 // closed, the initial one not counted
	Cuts    uint64 // built, the initial one included
	Edges   uint64 // steps between cuts that were taken
	Dropped uint64 // cuts that a full level did not take
	Cut     uint64 // levels that dropped some
	Late    uint64 // events that came when a level that they belong to was closed
	Widest  int    // cuts of the widest level
	Queue   int    // most events that waited
}

// Complete reports whether every cut was built, so that all runs were checked.
func (s *Stats) Complete() bool { return s.Dropped == 0 && s.Late == 0 }

const defaultHistory = 1 << 18

// Lattice is the lattice of one run. Make it with New. It is not safe for concurrent
// use.
type Lattice struct {
	o     Options
	props []*automaton
	stats Stats

	packing
	old     packing // scratch of repack
	chains  []chain
	arrived []uint32 // the slots of the events from level passed on, in trace order
	passed  int      // levels whose observed event has left arrived
	written []uint64 // by variable: what was written last
	total   int      // events that came
	queued  int      // of them not below every cut

	level    int // number of the current level
	current  *level
	next     *level
	building bool // next has seen all of the queue
	observed []uint32
	locks    bool     // some event took a lock
	only     []uint32 // see restrict
	floor    []uint32 // least count of each slot over the current level

	history []*level // passed levels, oldest first
	gone    int      // levels at the beginning of history that are forgotten
	keeping int      // their cuts
	spare   []*level

	waiting []waiting // in trace order; some may be below the floor by now
	table   table
	bytewise
	edges edges
	keyed []uint64 // scratch: a key
	cuts  []uint32 // scratch of repack

	cores   int // that build levels without a window
	share   int // cuts of a level that are enough for a core
	mergers []*merger

	// meetings at the cuts of next, one a property: the last.
	meetings []meeting
	single   bool // there is one property, with masks

	found  Violation // the last, used again
	closed func()    // called when a level is closed, for tests; nil is not
}

// New makes the lattice of a run that has not begun; the monitors read its initial
// state, which may be a violation already.
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

// Event takes the next relevant event of the run.
func (l *Lattice) Event(e *Event) {
	l.seat(int(e.Slot) + 1)
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
	c.holds(m)
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

// Finish builds the levels that are left, the run being over.
func (l *Lattice) Finish() { l.advance(true) }

// Stats reports how much was explored so far.
func (l *Lattice) Stats() Stats { return l.stats }

func sum(clock []uint32) int {
	n := 0
	for _, v := range clock {
		n += int(v)
	}
	return n
}

// stepsOf is the properties for which the event makes a letter.
func (l *Lattice) stepsOf(e *Event) uint64 {
	var steps uint64
	for p := range l.props {
		if l.props[p].reads(e) {
			steps |= 1 << p
		}
	}
	return steps
}
