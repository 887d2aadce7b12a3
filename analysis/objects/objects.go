// Package objects divides a run into slices, one for each object: the steps of the object, their threads, and a lattice
// over them. The vector clocks are those of the whole run (observer/causality).
//
// The input is every event of the run and, for each that is a step of an object, that object. The output is violations of
// the lattices. The package knows neither protocols nor properties: what a step means, and where a lattice begins, the caller
// says (Options).
//
// # Objects
//
// An object is a value, such as a pointer or a descriptor, during one lifetime (Lifetimes): to the end of its memory, or
// until the caller ends it.
//
// # Sections
//
// With finding.OrderExclusion, critical sections of a lock may change places. Of the acquires and releases of a run, an object's
// slice has those of sections in which it had a step. An acquire is known to belong there only at that step, so that an
// object's steps wait until no section that was open then is.
//
// # Cost
//
// As long as each step comes after all earlier ones of its object, an object costs the memory of its last MaxSteps
// steps; a lattice is made only once two steps are not ordered.
package objects

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/completion"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// Options configure Slices. D is what the caller knows of an object.
type Options[D any] struct {
	// Window and Queue are the bounds of the lattice of each object, as in lattice.Options.
	Window, Queue int
	// Order is what the runs of the lattices keep of the order of this one; see completion.Clocks.
	Order finding.Order
	// Begin returns what the lattice of an object checks, and the values of the variables, before the first of its steps.
	Begin func(*Object[D]) (p lattice.Property, initial []uint64)
	// Forget is called for the first step of an object that is removed, since all later ones come after it.
	Forget func(*Object[D], *Step)
	// Violation is called for each violation.
	Violation func(*Check[D], *lattice.Violation)
}

// Slices are the slices of the objects of a run. Make it with New.
type Slices[D any] struct {
	o         Options[D]
	clocks    *causality.Clocks
	open      map[event.ThreadID][]*section[D]
	lastClock map[event.ThreadID]*causality.Clock // stored with the last step of a thread
	now       moment                              // of the last event that was passed to Add
	stepping  []*Object[D]                        // that have a step at that event
	stats     Stats
}

// Stats counts what was checked.
type Stats struct {
	Shared    uint64 // objects that two threads or more have used
	Unordered uint64 // objects with two steps that are not ordered
	Forgotten uint64 // steps that were too long ago to be compared with later ones of their object
	Lattice   lattice.Stats
}

// Object is a value during one lifetime.
type Object[D any] struct {
	Data D

	unordered bool // two of its steps are not ordered
	threads   [2]event.ThreadID
	steps     []step    // those that check does not have, in the order of Seq
	looked    int       // so many steps have been looked at, see Look
	check     *Check[D] // nil: there were few steps, or all are ordered
}

// Unordered reports whether two of the object's steps are known not to be ordered; after Slices.End, whether any are.
func (o *Object[D]) Unordered() bool { return o.unordered }

// Check is the lattice over steps of an object.
type Check[D any] struct {
	Object *Object[D]
	// Steps are those in the lattice, in the order of Seq; the last maxFed to twice as many.
	Steps []Step

	slice   causality.Slice
	lattice *lattice.Lattice
}

// Step is an event of an object's slice.
type Step struct {
	Seq      uint64
	Reads    bool   // the monitor reads a letter; else it is an acquire or release of a section that has such a step
	Events   uint64 // bit i: it is declared event i
	Variable int32  // the index of the variable that it writes; -1: none
	Value    uint64 // written to Variable
}

// step is a Step with its clock.
type step struct {
	Step
	clock   *causality.Clock // of the thread; the entry of slot is n
	slot, n uint32
	lock    event.ObjectID
	locking lattice.Locking
}

// maxFed is how many steps in the lattice of an object are remembered for findings.
const maxFed = 1 << 12

// section is a critical section that is open.
type section[D any] struct {
	acquire step
	objects []*Object[D] // that had a step in it
}

// MaxSteps is the number of steps of an object that are kept as long as they are ordered, and at most twice as many.
const MaxSteps = 1 << 10

// New returns the slices of a run that has not begun.
func New[D any](o Options[D]) *Slices[D] {
	return &Slices[D]{
		o: o, clocks: completion.Clocks(o.Order), open: map[event.ThreadID][]*section[D]{},
		lastClock: map[event.ThreadID]*causality.Clock{},
	}
}

// moment is where an event is in the order of the run, and what it does to a lock.
type moment struct {
	seq     uint64
	clock   *causality.Clock
	slot, n uint32
	lock    event.ObjectID
	locking lattice.Locking
}

// step returns a step at the moment.
func (m *moment) step(x Step) step {
	x.Seq = m.seq
	return step{Step: x, clock: m.clock, slot: m.slot, n: m.n, lock: m.lock, locking: m.locking}
}

// at returns the moment of an event, which it stamps once.
func (s *Slices[D]) at(e *event.Event) *moment {
	if s.now.seq != e.Seq {
		m := moment{seq: e.Seq, locking: completion.Locking(s.o.Order, e)}
		if m.locking != lattice.NoLock {
			m.lock = e.Object
		}
		var clock causality.Clock
		m.slot, clock = s.clocks.Stamp(e, true)
		m.clock, m.n = s.stored(e.Thread, m.slot, clock), clock.At(m.slot)
		s.now = m
		clear(s.stepping)
		s.stepping = s.stepping[:0]
	}
	return &s.now
}

// Event handles the next event of the run, behind the calls of Add for it.
func (s *Slices[D]) Event(e *event.Event) {
	stamped := s.now.seq == e.Seq
	if e.Op.IsCall() {
		return
	}
	locking := completion.Locking(s.o.Order, e)
	switch {
	case locking == lattice.Releases:
		s.release(e)
	case locking != lattice.NoLock:
		m := s.at(e)
		s.open[e.Thread] = append(s.open[e.Thread], &section[D]{acquire: m.step(Step{Variable: -1}), objects: slices.Clone(s.stepping)})
	case !stamped:
		s.clocks.Stamp(e, false)
	}
	if e.Op == event.End {
		delete(s.open, e.Thread)
		delete(s.lastClock, e.Thread)
	}
}

// stored returns a copy of the clock of a thread, or the last one if that differs at the thread's own slot alone.
func (s *Slices[D]) stored(t event.ThreadID, slot uint32, v causality.Clock) *causality.Clock {
	last := s.lastClock[t]
	if last != nil && len(*last) == len(v) {
		same := true
		for i := range v {
			same = same && (v[i] == (*last)[i] || i == int(slot))
		}
		if same {
			return last
		}
	}
	own := slices.Clone(v)
	s.lastClock[t] = &own
	return &own
}

// Add adds the present event of the run to an object as a step, at which the monitor reads a letter. Its Seq is that of the
// event.
func (s *Slices[D]) Add(o *Object[D], e *event.Event, x Step) {
	m := s.at(e)
	o.sees(e.Thread, &s.stats)
	for _, open := range s.open[e.Thread] {
		if !slices.Contains(open.objects, o) {
			open.objects = append(open.objects, o)
			o.insert(open.acquire)
		}
	}
	if m.locking != lattice.NoLock {
		s.stepping = append(s.stepping, o)
	}
	x.Reads = true
	o.insert(m.step(x))
}

// Trim checks or forgets steps of an object that has many. It is called behind Add, once the caller knows what the step
// does.
func (s *Slices[D]) Trim(o *Object[D]) {
	if len(o.steps) >= 2*MaxSteps {
		s.feed(o, s.settled())
	}
}

// sees counts the objects that two threads use.
func (o *Object[D]) sees(t event.ThreadID, s *Stats) {
	switch {
	case o.threads[0] == 0:
		o.threads[0] = t
	case o.threads[1] == 0 && o.threads[0] != t:
		o.threads[1] = t
		s.Shared++
	}
}

// insert adds a step at its place, unless there is one of its event: an acquire or release may be an event that the monitor
// reads.
func (o *Object[D]) insert(x step) {
	i := before(o.steps, x.Seq)
	if i == len(o.steps) || o.steps[i].Seq != x.Seq {
		o.steps = slices.Insert(o.steps, i, x)
	}
}

// before returns the number of steps before a Seq.
func before(steps []step, seq uint64) int {
	n, _ := slices.BinarySearchFunc(steps, seq, func(x step, seq uint64) int { return cmp.Compare(x.Seq, seq) })
	return n
}

// release ends a critical section, for all objects that had a step in it.
func (s *Slices[D]) release(e *event.Event) {
	m := s.at(e)
	open := s.open[e.Thread]
	for i := len(open) - 1; i >= 0; i-- {
		if open[i].acquire.lock != e.Object {
			continue
		}
		end := m.step(Step{Variable: -1})
		for _, o := range open[i].objects {
			o.insert(end)
		}
		s.open[e.Thread] = slices.Delete(open, i, i+1)
		return
	}
}

// settled returns the Seq of the first acquire whose section is open: a step before it cannot be added any more.
func (s *Slices[D]) settled() uint64 {
	first := ^uint64(0)
	for _, open := range s.open {
		for _, x := range open {
			first = min(first, x.acquire.Seq)
		}
	}
	return first
}

// End checks what is left of an object at the end of its lifetime.
func (s *Slices[D]) End(o *Object[D]) {
	if len(o.steps) > o.looked || o.check != nil {
		s.feed(o, ^uint64(0))
	}
	if o.check == nil && o.looked < len(o.steps) && !ordered(o.steps) {
		o.check = s.begins(o)
		s.feed(o, ^uint64(0))
	}
	if o.check != nil {
		s.finish(o.check)
	}
}

// feed adds the steps of an object before a Seq to its lattice, which it makes if there are too many for one at the end. It
// forgets the older half of steps that are all ordered.
func (s *Slices[D]) feed(o *Object[D], seq uint64) {
	n := before(o.steps, seq)
	if o.check == nil {
		switch {
		case len(o.steps) < 2*MaxSteps:
			return
		case ordered(o.steps):
			if n = min(n, len(o.steps)-MaxSteps); n > 0 {
				s.forget(o, n)
			}
			return
		}
		o.check = s.begins(o)
	}
	for i := range n {
		o.check.add(&o.steps[i])
	}
	o.steps = slices.Delete(o.steps, 0, n)
}

// Look checks objects as if the run ended now, those that have had steps since it was last called: the part of the run that
// a schedule needs may not be kept until it does.
func (s *Slices[D]) Look(all []*Lifetime[*Object[D]]) {
	settled := s.settled()
	for _, x := range all {
		o := x.Object
		if o == nil {
			continue
		}
		n := before(o.steps, settled)
		if o.check != nil || n <= o.looked || ordered(o.steps[:n]) {
			continue
		}
		o.looked = n
		c := s.begins(o)
		for i := range n {
			c.add(&o.steps[i])
		}
		s.finish(c)
	}
}

// ordered reports whether each step at which the monitor reads a letter comes after all earlier ones.
func ordered(steps []step) bool {
	var last *step
	for i := range steps {
		x := &steps[i]
		if !x.Reads {
			continue
		}
		if last != nil && x.slot != last.slot && x.clock.At(last.slot) < last.n {
			return false
		}
		last = x
	}
	return true
}

// forget removes the first n steps of an object, which are taken to have been made.
func (s *Slices[D]) forget(o *Object[D], n int) {
	for i := range o.steps[:n] {
		if x := &o.steps[i]; x.Reads {
			s.o.Forget(o, &x.Step)
			s.stats.Forgotten++
		}
	}
	o.steps, o.looked = slices.Delete(o.steps, 0, n), max(0, o.looked-n)
}

// begins makes a lattice of an object.
func (s *Slices[D]) begins(o *Object[D]) *Check[D] {
	if !o.unordered {
		o.unordered = true
		s.stats.Unordered++
	}
	c := &Check[D]{Object: o}
	p, initial := s.o.Begin(o)
	c.lattice = lattice.New(lattice.Options{
		Width: s.o.Window, Queue: s.o.Queue, Initial: initial, Properties: []lattice.Property{p},
		Violation: func(v *lattice.Violation) { s.o.Violation(c, v) },
	})
	return c
}

// finish builds the rest of a lattice.
func (s *Slices[D]) finish(c *Check[D]) {
	c.lattice.Finish()
	s.stats.Lattice.Add(c.lattice.Stats())
}

// add adds a step to the lattice.
func (c *Check[D]) add(x *step) {
	v := slices.Clone(*x.clock)
	v.Extend(int(x.slot) + 1)
	v[x.slot] = x.n
	e := lattice.Event{Variable: int(x.Variable), Value: x.Value, Events: x.Events, Seq: x.Seq, Lock: uint32(x.lock), Locking: x.locking}
	e.Slot, e.Clock = c.slice.Add(x.slot, v)
	if len(c.Steps) >= 2*maxFed {
		c.Steps = slices.Delete(c.Steps, 0, maxFed)
	}
	c.Steps = append(c.Steps, x.Step)
	c.lattice.Event(&e)
}

// Has reports whether an event of the run is a step of the lattice.
func (c *Check[D]) Has(seq uint64) bool {
	_, ok := c.Find(seq)
	return ok
}

// Find returns the step that an event of the run is; ok is false if it is none.
func (c *Check[D]) Find(seq uint64) (x Step, ok bool) {
	i, ok := slices.BinarySearchFunc(c.Steps, seq, func(x Step, seq uint64) int { return cmp.Compare(x.Seq, seq) })
	if ok {
		x = c.Steps[i]
	}
	return x, ok
}

// Between returns the steps at which the monitor reads a letter, from the last state that a witness has in common with
// the run to the last event of the witness, as observed.
func (c *Check[D]) Between(w *lattice.Witness) (steps []Step) {
	last := w.From
	for i := range w.Steps {
		last = max(last, w.Steps[i].Seq)
	}
	for _, x := range c.Steps {
		if x.Seq > w.From && x.Seq <= last && x.Reads {
			steps = append(steps, x)
		}
	}
	return steps
}

// Stats returns what was checked so far.
func (s *Slices[D]) Stats() Stats { return s.stats }
