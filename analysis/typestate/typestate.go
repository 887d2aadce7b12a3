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
// A protocol may say that objects are also created unseen (Protocol.RebornAtNextUse). Then a call that comes after the end
// of an object, in this run, is one of another object: it may be unordered with the end, as the unseen creation need not
// order it. Calls before the end are of the object that ends, and other schedules may have them behind the end.
//
// The slices, critical sections that change places, and what an object costs are those of package objects.
package typestate

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/objects"
	"github.com/tracepredict/tracepredict/internal/plural"
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
	// Found, if not nil, is called for each finding as soon as it is made, or as its type is seen to race.
	Found func(*finding.Finding)
	// Races, if not nil, says of which types there are findings. Each event is passed to it before Analysis.Event is called.
	Races *Races
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
	o        Options
	automata []*automaton // by protocol
	slices   *objects.Slices[use]
	objects  objects.Lifetimes[*object]
	now      *event.Event // of which Options.Uses passes the calls to uses
	uses     func(protocol, call int, value uint64)
	findings map[key]*finding.Finding
	inRun    map[key]bool    // findings that this run shows
	last     map[key]*object // the last object of each finding
	order    []key           // of findings, as they were made
	held     []key           // findings of types that do not race yet, of which Options.Found was not told
	racing   int             // the types that go on, when held was last looked through
	lost     bool            // events were lost
	stats    Stats
}

// Stats counts what was checked.
type Stats struct {
	Objects uint64 // that a protocol's call was seen of
	Calls   uint64 // of protocols
	Unkept  uint64 // violations by calls that are no longer kept
	objects.Stats
}

// object is a value during one lifetime, with its calls; check is the lattice over them.
type (
	object = objects.Object[use]
	check  = objects.Check[use]
)

// use is what is known of an object.
type use struct {
	protocol int
	value    uint64
	first    finding.Step
	made     bool          // by first
	created  bool          // by a call that was seen, or taken to be
	start    lattice.State // before the first call that is kept
	state    lattice.State // of this run, now
	broken   bool          // in this run
}

// New returns the analysis of a run that has not begun.
func New(o Options) *Analysis {
	a := &Analysis{o: o, findings: map[key]*finding.Finding{}, inRun: map[key]bool{}, last: map[key]*object{}}
	a.slices = objects.New(objects.Options[use]{
		Window: o.Window, Queue: o.Queue, Order: o.Order, Begin: a.begins, Forget: a.forget, Violation: a.violation,
	})
	a.objects = objects.NewLifetimes(o.Process, o.Ended, a.slices.End)
	a.uses = a.used
	for i := range o.Protocols {
		a.automata = append(a.automata, newAutomaton(&a.o.Protocols[i]))
	}
	return a
}

// Event processes the next event of the run.
func (a *Analysis) Event(e *event.Event) {
	a.lost = a.lost || e.Op == event.Hole || e.Flags&event.AfterHole != 0
	a.publishHeld()
	if e.Op.IsCall() {
		a.now = e
		a.o.Uses(e, a.uses)
	}
	a.objects.Event(e, len(a.o.Protocols))
	a.slices.Event(e)
}

// used handles a call of an object by the present event.
func (a *Analysis) used(protocol, call int, value uint64) {
	e := a.now
	a.stats.Calls++
	id := a.objects.Identity(protocol, e.Thread, value)
	x := a.objects.Of(id)
	if x != nil && (a.o.Protocols[protocol].Calls[call].Creates || a.comesAgain(x, call)) {
		a.objects.Finish(id)
		x = nil
	}
	if x == nil {
		x = a.objects.Begin(id, a.begin(e, protocol, call, value))
	}
	o := x.Object
	a.slices.Add(o, e, objects.Step{Events: 1 << call, Variable: -1})
	before := o.Data.state
	if o.Data.state = a.automata[protocol].step(before, call); o.Data.state == broken && !o.Data.broken {
		o.Data.broken = true
		a.observed(o, e, call, before)
	}
	a.slices.Trim(o)
}

// comesAgain reports whether a call that breaks the protocol of an object is one of another object, which has come into
// its place unseen.
func (a *Analysis) comesAgain(x *objects.Lifetime[*object], call int) bool {
	m, s := a.automata[x.Kind], x.Object.Data.state
	return m.step(s, call) == broken && (x.Ending() || m.p.RebornAtNextUse && m.ended(s))
}

// begin returns an object that begins with its first call.
func (a *Analysis) begin(e *event.Event, protocol, call int, value uint64) *object {
	a.stats.Objects++
	created := a.o.Protocols[protocol].beginsWith(call)
	start := a.automata[protocol].start(created)
	return &object{Data: use{
		protocol: protocol, value: value, first: finding.StepOf(e), made: a.o.Protocols[protocol].Calls[call].Creates,
		created: created, start: start, state: start,
	}}
}

// Look checks the objects that have been used since it was last called, as if the run ended now: the part of the run that a
// schedule needs may not be kept until it does.
func (a *Analysis) Look() { a.slices.Look(a.objects.Sorted()) }

// forget takes a call of an object to have been made.
func (a *Analysis) forget(o *object, x *objects.Step) {
	o.Data.start = a.automata[o.Data.protocol].step(o.Data.start, bits.TrailingZeros64(x.Events))
}

// begins returns what the lattice of an object checks.
func (a *Analysis) begins(o *object) (p lattice.Property, initial []uint64) {
	m := monitor{a.automata[o.Data.protocol], o.Data.start}
	return lattice.Property{Monitor: m, Labels: calls{}, Variables: []int{}, Events: ^uint64(0)}, nil
}

// Finish checks what is left, and returns the findings in the order in which they were made.
func (a *Analysis) Finish() []finding.Finding {
	a.objects.FinishAll()
	var out []finding.Finding
	for _, k := range a.order {
		if a.checks(k.protocol) {
			out = append(out, *a.findings[k])
		}
	}
	return out
}

// checks reports whether there are findings of a protocol.
func (a *Analysis) checks(protocol int) bool { return a.o.Races == nil || a.o.Races.Racing(protocol) }

// publishHeld passes on the findings that waited, of types that are now known to race.
func (a *Analysis) publishHeld() {
	if a.o.Races == nil || a.o.Races.goOn == a.racing {
		return
	}
	a.racing = a.o.Races.goOn
	a.held = slices.DeleteFunc(a.held, func(k key) bool {
		goesOn := a.checks(k.protocol)
		if goesOn {
			a.o.Found(a.findings[k])
		}
		return goesOn
	})
}

// Stats returns what was checked so far.
func (a *Analysis) Stats() Stats {
	s := a.stats
	s.Stats = a.slices.Stats()
	return s
}

// Notes returns sentences for the user: what was checked, and what was left out.
func (a *Analysis) Notes() []string {
	if len(a.o.Protocols) == 0 {
		return nil
	}
	s := a.Stats()
	notes := []string{plural.Sprintf("protocols were checked of %d {object|objects}", s.Objects) + plural.Sprintf(", with %d {call|calls}; ", s.Calls) +
		plural.Sprintf("%d {was|were} used by two threads or more, ", s.Shared) + plural.Sprintf("%d in an order that other schedules may change", s.Unordered)}
	if !s.Lattice.Complete() {
		notes = append(notes, "protocols were checked on part of the orders of calls that the observed causality allows: the window left out "+
			plural.Sprintf("%d {state|states} of lattices, and states that ", s.Lattice.Dropped)+
			plural.Sprintf("%d {call or section|calls or sections} came too late for; wider ones (--window, --queue) check more", s.Lattice.Late))
	}
	if s.Forgotten > 0 {
		notes = append(notes, plural.Sprintf("%d {call was|calls were} followed by more than %d of the same object, and taken to come before later ones", s.Forgotten, objects.MaxSteps))
	}
	if s.Unkept > 0 {
		notes = append(notes, plural.Sprintf("%d {order of calls|orders of calls} that {breaks|break} a protocol {is|are} not shown, since the run was not kept for so long", s.Unkept))
	}
	return append(notes, a.leftOut()...)
}

// leftOut returns a note on the protocols of which objects were used and which are not checked, since none of these races.
func (a *Analysis) leftOut() []string {
	if a.o.Races == nil {
		return nil
	}
	names := a.o.Races.WithoutRace()
	if len(names) == 0 {
		return nil
	}
	return []string{plural.Sprintf("%d {typestate was|typestates were} left out by --racing-types: ", uint64(len(names))) + strings.Join(names, ", ") +
		": no two calls of an object by different threads race, since a lock excludes one of the other, or a message orders them"}
}

// Remember adds to n the threads and objects that findings may still name.
func (a *Analysis) Remember(n *event.Names) {
	for x := range a.objects.All() {
		x.Object.Data.first.Remember(n)
	}
	for _, f := range a.findings {
		f.Remember(n)
	}
}
