// Package typestate checks the protocols of the use of objects on all runs that the causality of the observed one
// allows: the third stage of PRETEX (Joshi, Sen, "Predictive Typestate Checking of Multithreaded Java Programs", ASE 2008).
//
// The input is every event of a run, and for each the calls of protocols that it is, with the object (Use). An object
// has a slice of the run of its own: its calls, their threads, and a lattice over them, on the clocks that all share
// (observer/causality). A state of the lattice has the set of typestates that the object may be in. The output is findings:
// a call that no state of the object allows, in this run or in another one that the causality allows.
//
// # Objects
//
// An object is a value, such as a pointer or a descriptor, from the call that creates it to the one that creates another
// object of the value, or to the end of its memory (Ended). One that was not seen to be created is in every state at
// first, unless its protocol says otherwise.
//
// # Sections
//
// With finding.OrderExclusion, critical sections of a lock may change places. Of the acquires and releases of a run, an object's
// slice has those of sections in which it was called. An acquire is known to belong there only at the call, so that an
// object's steps wait until no section that was open then is.
//
// # Cost
//
// As long as each call comes after all earlier ones of its object, an object costs its automaton's step, and the memory of
// its last maxSteps calls; a lattice is made only once two calls are not ordered.
package typestate

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/completion"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// Options configure an Analysis.
type Options struct {
	Protocols []Protocol
	// Uses calls yield for each call of a protocol that an event is, with the value of its object.
	Uses func(e *event.Event, yield func(protocol, call int, object uint64))
	// Process returns the number of a thread's process: values of two processes are two objects. With nil there is one.
	Process func(event.ThreadID) uint32
	// Ended returns the value of the objects that end with an event, the end of their memory in the thread's process; ok is
	// false if it is none. With nil there is none.
	Ended func(*event.Event) (object uint64, ok bool)
	// Window and Queue are the bounds of the lattice of each object, as in lattice.Options.
	Window, Queue int
	// Order is what the runs on which protocols are checked keep of the order of this one; see completion.Clocks.
	Order finding.Order
	// History is the part of the run that is kept. Each event of the run is added to it before Analysis.Event is called.
	History History
	// Found, if not nil, is called for each finding as soon as it is made.
	Found func(*finding.Finding)
}

// History is the part of a run that is kept.
type History interface {
	// Step returns the event of a Seq; ok is false if it is not kept.
	Step(seq uint64) (s finding.Step, ok bool)
	// Execution completes a witness, whose steps are some of the relevant events, to a schedule that the checker of
	// executions accepts. It returns what comes after the part that is common with the run.
	Execution(w *lattice.Witness, relevant func(seq uint64) bool) ([]finding.Step, error)
}

// Analysis checks protocols. It implements finding.Analysis.
type Analysis struct {
	o         Options
	automata  []*automaton // by protocol
	clocks    *causality.Clocks
	objects   lifetimes[*object]
	now       *event.Event // of which Options.Uses passes the calls to uses
	uses      func(protocol, call int, value uint64)
	open      map[event.ThreadID][]*section
	lastClock map[event.ThreadID]*causality.Clock // stored with the last step of a thread
	findings  map[key]*finding.Finding
	inRun     map[key]bool    // findings that this run shows
	last      map[key]*object // the last object of each finding
	order     []key           // of findings, as they were made
	lost      bool            // events were lost
	stats     Stats
}

// Stats counts what was checked.
type Stats struct {
	Objects   uint64 // that a protocol's call was seen of
	Calls     uint64 // of protocols
	Shared    uint64 // objects that two threads or more have used
	Unordered uint64 // objects with two calls that are not ordered
	Unkept    uint64 // violations by calls that are no longer kept
	Forgotten uint64 // calls that were too long ago to be compared with later ones of their object
	Lattice   lattice.Stats
}

// object is a value during one lifetime.
type object struct {
	protocol  int
	value     uint64
	first     finding.Step
	made      bool          // by first
	created   bool          // by a call that was seen, or taken to be
	start     lattice.State // before the first of steps
	state     lattice.State // of this run, now
	broken    bool          // in this run
	unordered bool          // two of its calls are not ordered
	threads   [2]event.ThreadID
	steps     []step // those that check does not have, in the order of Seq
	looked    int    // so many steps have been looked at, see Look
	check     *check // nil: there were few steps, or all calls are ordered
}

// check is the lattice over steps of an object.
type check struct {
	object  *object
	start   lattice.State // before the first step
	slice   causality.Slice
	lattice *lattice.Lattice
	fed     []fed // the steps, in the order of Seq; the last maxFed to twice as many
}

// step is a call of an object, or an acquire or release of a section that has one.
type step struct {
	seq     uint64
	clock   *causality.Clock // of the thread; the entry of slot is n
	slot, n uint32
	lock    event.ObjectID
	locking lattice.Locking
	call    int8 // -1: it is none
}

// fed is a step in the lattice of an object.
type fed struct {
	seq  uint64
	call int8 // -1: it is none
}

// maxFed is how many steps in the lattice of an object are remembered for findings.
const maxFed = 1 << 12

// section is a critical section that is open.
type section struct {
	acquire step
	objects []*object // that were called in it
}

// maxSteps is the number of steps of an object that are kept as long as they are ordered, and at most twice as many.
const maxSteps = 1 << 10

// New returns the analysis of a run that has not begun.
func New(o Options) *Analysis {
	a := &Analysis{
		o: o, clocks: completion.Clocks(o.Order), open: map[event.ThreadID][]*section{},
		lastClock: map[event.ThreadID]*causality.Clock{}, findings: map[key]*finding.Finding{}, inRun: map[key]bool{}, last: map[key]*object{},
	}
	a.objects = newLifetimes(o.Process, o.Ended, a.ends)
	a.uses = a.used
	for i := range o.Protocols {
		a.automata = append(a.automata, newAutomaton(&a.o.Protocols[i]))
	}
	return a
}

// Event processes the next event of the run.
func (a *Analysis) Event(e *event.Event) {
	a.lost = a.lost || e.Op == event.Hole || e.Flags&event.AfterHole != 0
	if e.Op.IsCall() {
		a.now = e
		a.o.Uses(e, a.uses)
	}
	a.objects.event(e, len(a.o.Protocols))
	if e.Op.IsCall() {
		return
	}
	locking := completion.Locking(a.o.Order, e)
	slot, clock := a.clocks.Stamp(e, locking != lattice.NoLock)
	switch {
	case locking == lattice.Releases:
		a.release(e, slot, clock)
	case locking != lattice.NoLock:
		a.open[e.Thread] = append(a.open[e.Thread], &section{acquire: step{
			seq: e.Seq, clock: a.stored(e.Thread, slot, clock), slot: slot, n: clock.At(slot), lock: e.Object, locking: locking, call: -1,
		}})
	case e.Op == event.End:
		delete(a.open, e.Thread)
		delete(a.lastClock, e.Thread)
	}
}

// stored returns a copy of the clock of a thread, or the last one if that differs at the thread's own slot alone.
func (a *Analysis) stored(t event.ThreadID, slot uint32, v causality.Clock) *causality.Clock {
	last := a.lastClock[t]
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
	a.lastClock[t] = &own
	return &own
}

// used handles a call of an object by the present event.
func (a *Analysis) used(protocol, call int, value uint64) {
	e := a.now
	slot, clock := a.clocks.Stamp(e, true)
	a.stats.Calls++
	id := a.objects.identity(protocol, e.Thread, value)
	x := a.objects.known[id]
	if x != nil && (a.o.Protocols[protocol].Calls[call].Creates || x.ending && a.automata[protocol].step(x.object.state, call) == broken) {
		a.objects.finish(id)
		x = nil
	}
	if x == nil {
		x = a.objects.begin(id, a.begin(e, protocol, call, value))
	}
	o := x.object
	o.sees(e.Thread, &a.stats)
	for _, s := range a.open[e.Thread] {
		if !slices.Contains(s.objects, o) {
			s.objects = append(s.objects, o)
			o.insert(s.acquire)
		}
	}
	o.insert(step{seq: e.Seq, clock: a.stored(e.Thread, slot, clock), slot: slot, n: clock.At(slot), call: int8(call)})
	before := o.state
	if o.state = a.automata[protocol].step(before, call); o.state == broken && !o.broken {
		o.broken = true
		a.observed(o, e, call, before)
	}
	if len(o.steps) >= 2*maxSteps {
		a.feed(o, a.settled())
	}
}

// begin returns an object that begins with its first call.
func (a *Analysis) begin(e *event.Event, protocol, call int, value uint64) *object {
	a.stats.Objects++
	created := a.o.Protocols[protocol].beginsWith(call)
	start := a.automata[protocol].start(created)
	return &object{
		protocol: protocol, value: value, first: finding.StepOf(e), made: a.o.Protocols[protocol].Calls[call].Creates,
		created: created, start: start, state: start,
	}
}

// sees counts the objects that two threads use.
func (o *object) sees(t event.ThreadID, s *Stats) {
	switch {
	case o.threads[0] == 0:
		o.threads[0] = t
	case o.threads[1] == 0 && o.threads[0] != t:
		o.threads[1] = t
		s.Shared++
	}
}

// insert adds a step at its place.
func (o *object) insert(s step) {
	i, _ := slices.BinarySearchFunc(o.steps, s.seq, func(x step, seq uint64) int { return cmp.Compare(x.seq, seq) })
	o.steps = slices.Insert(o.steps, i, s)
}

// release ends a critical section, for all objects that were called in it.
func (a *Analysis) release(e *event.Event, slot uint32, clock causality.Clock) {
	open := a.open[e.Thread]
	for i := len(open) - 1; i >= 0; i-- {
		if open[i].acquire.lock != e.Object {
			continue
		}
		end := step{seq: e.Seq, clock: a.stored(e.Thread, slot, clock), slot: slot, n: clock.At(slot), lock: e.Object, locking: lattice.Releases, call: -1}
		for _, o := range open[i].objects {
			o.insert(end)
		}
		a.open[e.Thread] = slices.Delete(open, i, i+1)
		return
	}
}

// settled returns the Seq of the first acquire whose section is open: a step before it cannot be added any more.
func (a *Analysis) settled() uint64 {
	first := ^uint64(0)
	for _, open := range a.open {
		for _, s := range open {
			first = min(first, s.acquire.seq)
		}
	}
	return first
}

// ends checks what is left of an object at the end of its lifetime.
func (a *Analysis) ends(o *object) {
	if len(o.steps) > o.looked || o.check != nil {
		a.feed(o, ^uint64(0))
	}
	if o.check == nil && o.looked < len(o.steps) && !ordered(o.steps) {
		o.check = a.begins(o)
		a.feed(o, ^uint64(0))
	}
	if o.check != nil {
		a.finish(o.check)
	}
}

// feed adds the steps of an object before a Seq to its lattice, which it makes if there are too many for one at the end. It
// forgets the older half of steps that are all ordered.
func (a *Analysis) feed(o *object, before uint64) {
	n, _ := slices.BinarySearchFunc(o.steps, before, func(x step, seq uint64) int { return cmp.Compare(x.seq, seq) })
	if o.check == nil {
		switch {
		case len(o.steps) < 2*maxSteps:
			return
		case ordered(o.steps):
			if n = min(n, len(o.steps)-maxSteps); n > 0 {
				a.forget(o, n)
			}
			return
		}
		o.check = a.begins(o)
	}
	for i := range n {
		o.check.add(&o.steps[i])
	}
	o.steps = slices.Delete(o.steps, 0, n)
}

// Look checks the objects that have been used since it was last called, as if the run ended now: the part of the run that a
// schedule needs may not be kept until it does.
func (a *Analysis) Look() {
	before := a.settled()
	for _, x := range a.objects.sorted() {
		o := x.object
		n, _ := slices.BinarySearchFunc(o.steps, before, func(x step, seq uint64) int { return cmp.Compare(x.seq, seq) })
		if o.check != nil || n <= o.looked || ordered(o.steps[:n]) {
			continue
		}
		o.looked = n
		c := a.begins(o)
		for i := range n {
			c.add(&o.steps[i])
		}
		a.finish(c)
	}
}

// ordered reports whether each call comes after all earlier ones.
func ordered(steps []step) bool {
	var last *step
	for i := range steps {
		s := &steps[i]
		if s.call < 0 {
			continue
		}
		if last != nil && s.slot != last.slot && s.clock.At(last.slot) < last.n {
			return false
		}
		last = s
	}
	return true
}

// forget removes the first n steps of an object, which are taken to have been made.
func (a *Analysis) forget(o *object, n int) {
	for _, s := range o.steps[:n] {
		if s.call >= 0 {
			o.start = a.automata[o.protocol].step(o.start, int(s.call))
			a.stats.Forgotten++
		}
	}
	o.steps, o.looked = slices.Delete(o.steps, 0, n), max(0, o.looked-n)
}

// begins makes a lattice of an object.
func (a *Analysis) begins(o *object) *check {
	if !o.unordered {
		o.unordered = true
		a.stats.Unordered++
	}
	c := &check{object: o, start: o.start}
	c.lattice = lattice.New(lattice.Options{
		Width: a.o.Window, Queue: a.o.Queue,
		Properties: []lattice.Property{{Monitor: monitor{a.automata[o.protocol], o.start}, Labels: calls{}, Variables: []int{}, Events: ^uint64(0)}},
		Violation:  func(v *lattice.Violation) { a.violation(c, v) },
	})
	return c
}

// finish builds the rest of a lattice.
func (a *Analysis) finish(c *check) {
	c.lattice.Finish()
	a.stats.Lattice.Add(c.lattice.Stats())
}

// add adds a step to the lattice.
func (c *check) add(s *step) {
	v := slices.Clone(*s.clock)
	v.Extend(int(s.slot) + 1)
	v[s.slot] = s.n
	e := lattice.Event{Variable: -1, Seq: s.seq, Lock: uint32(s.lock), Locking: s.locking}
	if s.call >= 0 {
		e.Events = 1 << s.call
	}
	e.Slot, e.Clock = c.slice.Add(s.slot, v)
	if len(c.fed) >= 2*maxFed {
		c.fed = slices.Delete(c.fed, 0, maxFed)
	}
	c.fed = append(c.fed, fed{s.seq, s.call})
	c.lattice.Event(&e)
}

// Finish checks what is left, and returns the findings in the order in which they were made.
func (a *Analysis) Finish() []finding.Finding {
	a.objects.finishAll()
	var out []finding.Finding
	for _, k := range a.order {
		out = append(out, *a.findings[k])
	}
	return out
}

// Stats returns what was checked so far.
func (a *Analysis) Stats() Stats { return a.stats }

// Notes returns sentences for the user: what was checked, and what was left out.
func (a *Analysis) Notes() []string {
	if len(a.o.Protocols) == 0 {
		return nil
	}
	s := &a.stats
	notes := []string{plural.Sprintf("protocols were checked of %d {object|objects}", s.Objects) + plural.Sprintf(", with %d {call|calls}; ", s.Calls) +
		plural.Sprintf("%d {was|were} used by two threads or more, ", s.Shared) + plural.Sprintf("%d in an order that other schedules may change", s.Unordered)}
	if !s.Lattice.Complete() {
		notes = append(notes, "protocols were checked on part of the orders of calls that the observed causality allows: the window left out "+
			plural.Sprintf("%d {state|states} of lattices, and states that ", s.Lattice.Dropped)+
			plural.Sprintf("%d {call or section|calls or sections} came too late for; wider ones (--window, --queue) check more", s.Lattice.Late))
	}
	if s.Forgotten > 0 {
		notes = append(notes, plural.Sprintf("%d {call was|calls were} followed by more than %d of the same object, and taken to come before later ones", s.Forgotten, maxSteps))
	}
	if s.Unkept > 0 {
		notes = append(notes, plural.Sprintf("%d {order of calls|orders of calls} that {breaks|break} a protocol {is|are} not shown, since the run was not kept for so long", s.Unkept))
	}
	return notes
}

// Remember adds to n the threads and objects that findings may still name.
func (a *Analysis) Remember(n *event.Names) {
	for _, x := range a.objects.known {
		x.object.first.Remember(n)
	}
	for _, f := range a.findings {
		f.Remember(n)
	}
}
