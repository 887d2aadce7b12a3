package property

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/completion"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/analysis/objects"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// This file checks properties of each object of a type, by package objects. Of an object, a property reads a word of its
// own: its fields and its events, and the variables and events of the program that the property names.
//
// What memory held before it was first accessed is not known, and before an object is complete its fields mean nothing.
// So the word of an object begins when all fields that the property reads have been accessed, with the values that they
// have then; without fields, before the object's first event. It begins so in every run: those checked share the
// observed one up to there. An event of the object that came before, or a second write, may have mattered: then findings
// are likely at most.

// ParametricOptions configure Parametric.
type ParametricOptions struct {
	Properties []ParametricProperty
	// Variables are the names of all variables and fields, by index. Initial values of variables are those of Init events.
	Variables []string
	// Variable returns the index of the variable or field that an object is, -1 for none; and of a field the object that
	// it is a field of. It is called once for each object that is accessed.
	Variable func(event.ObjectID) (variable int, of uint64)
	// Own calls yield for each event of a property that an event is of one object, with that object. It is called for
	// events with such a bit.
	Own func(e *event.Event, yield func(property, event int, object uint64))
	// Process and Ended are those of objects.NewLifetimes.
	Process func(event.ThreadID) uint32
	Ended   func(*event.Event) (object uint64, ok bool)
	// Window, Queue and Order are those of Options.
	Window, Queue int
	Order         finding.Order
	// History is the part of the run that is kept. Each event is added to it before Parametric.Event is called.
	History *completion.Completer
	// Found, if not nil, is called for each finding as soon as it is made.
	Found func(*finding.Finding)
	// Judged is called for each object of a property with Verdicts, at its end or that of the run.
	Judged func(*Judged)
}

// ParametricProperty is a property of each object of a type.
type ParametricProperty struct {
	Property
	// Fields are those of Variables that each object has of its own; OwnEvents are those of Events.
	Fields    []int
	OwnEvents uint64
	// Verdicts, if not nil, judges the word of each object.
	Verdicts *monitor.ThreeValued
}

// Parametric checks properties of each object of a type. It implements finding.Analysis, but for Event.
type Parametric struct {
	o        ParametricOptions
	words    []*word // by property
	slices   *objects.Slices[instance]
	objects  objects.Lifetimes[*object]
	accessed map[event.ObjectID]access
	values   []uint64 // by variable: of those that are no fields, now
	known    []bool   // by variable: its value was recorded
	live     []living // by property

	now      *event.Event
	own      []owned // the objects whose events now is
	ownEvent func(property, event int, object uint64)

	findings map[placed]*finding.Finding
	last     map[placed]*object // the last object of each finding
	tries    map[placed]int     // number of searches for a schedule
	proven   map[placed]bool    // this run violates it in every order that the record leaves open
	order    []placed           // of findings, as they were made
	lost     bool               // events were lost
	over     bool               // the run has ended
	stats    ParametricStats
}

// ParametricStats counts what was checked.
type ParametricStats struct {
	Objects uint64 // of properties
	Begun   uint64 // those of them whose words have begun
	Unkept  uint64 // violations by events that are no longer kept
	objects.Stats
}

// living is the objects of a property whose words have begun, in this order, and some that have ended.
type living struct {
	objects []*object
	ended   int
}

// access is what an accessed object is.
type access struct {
	variable int // -1: none
	of       uint64
}

// owned is the events of a property that an event of the run is of one object.
type owned struct {
	property int
	object   uint64
	events   uint64
}

// object is an object of a property, with its word; check is the lattice over it.
type (
	object = objects.Object[instance]
	check  = objects.Check[instance]
)

// instance is what is known of an object of a property.
type instance struct {
	property int
	value    uint64
	made     finding.Step // its first event
	begun    bool         // its word has begun
	known    []bool       // by field of the property; nil once the word has begun
	values   []uint64     // by variable, now
	state    uint32       // the set of states in this run, now
	first    []uint64     // values before the first step that is kept
	start    uint32       // state before that step
	last     uint64       // Seq of the last step
	ended    bool
	skipped  bool         // an event that may matter came before the word began
	unvalued bool         // a write had no value
	unknown  int          // 1 + the index of a variable whose value was not known when the word began; 0: none
	broken   bool         // this run violates the property
	by       placed       // if broken: the finding
	open     bool         // the record leaves the order of two steps by different threads open
	prior    recorded     // the step before
	at       monitor.Pair // of Verdicts
}

// NewParametric returns the analysis of a run that has not begun.
func NewParametric(o ParametricOptions) *Parametric {
	n := len(o.Variables)
	a := &Parametric{
		o: o, accessed: map[event.ObjectID]access{}, values: make([]uint64, n), known: make([]bool, n),
		live: make([]living, len(o.Properties)), tries: map[placed]int{}, proven: map[placed]bool{}, findings: map[placed]*finding.Finding{}, last: map[placed]*object{},
	}
	a.slices = objects.New(objects.Options[instance]{
		Window: o.Window, Queue: o.Queue, Order: o.Order, Begin: a.begins, Forget: a.forget, Violation: a.violation,
	})
	a.objects = objects.NewLifetimes(o.Process, o.Ended, a.end)
	a.ownEvent = a.addOwned
	for i := range o.Properties {
		a.words = append(a.words, newWord(o.Properties[i].Monitor))
	}
	return a
}

// Event processes the next event of the run, with the declared events that it is.
func (a *Parametric) Event(e *event.Event, events uint64) {
	a.lost = a.lost || e.Op == event.Hole || e.Flags&event.AfterHole != 0
	a.now = e
	x := a.accessOf(e)
	switch {
	case x.variable < 0:
		a.happens(events, -1)
	case x.of != 0:
		a.field(x)
	default:
		a.variable(x.variable, events)
	}
	a.objects.Event(e, len(a.o.Properties))
	a.slices.Event(e)
	if e.Op == event.Destroy {
		delete(a.accessed, e.Object)
	}
}

// accessOf returns what an event accesses.
func (a *Parametric) accessOf(e *event.Event) access {
	if e.Object == 0 || e.Kind != event.KindVariable && e.Kind != event.KindField {
		return access{variable: -1}
	}
	x, ok := a.accessed[e.Object]
	if !ok {
		x.variable, x.of = a.o.Variable(e.Object)
		a.accessed[e.Object] = x
	}
	return x
}

// variable handles an access of a variable that is no field.
func (a *Parametric) variable(v int, events uint64) {
	e := a.now
	valued := e.Flags&event.HasValue != 0
	switch {
	case e.Op == event.Init && valued && !a.known[v]:
		a.values[v], a.known[v] = e.Value, true
	case e.Op.IsWrite():
		a.values[v], a.known[v] = e.Value, valued
		a.happens(events, v)
		return
	}
	a.happens(events, -1)
}

// happens handles what is a letter for all objects of a property, a write of a variable and declared events, and the
// declared events of one object.
func (a *Parametric) happens(events uint64, variable int) {
	if events == 0 && variable < 0 {
		return
	}
	a.own = a.own[:0]
	a.o.Own(a.now, a.ownEvent)
	for i := range a.o.Properties {
		p := &a.o.Properties[i]
		common := events & p.Events &^ p.OwnEvents
		if common != 0 || variable >= 0 && slices.Contains(p.Variables, variable) {
			a.forAll(i, common, variable)
		}
	}
	for _, x := range a.own {
		o := a.of(x.property, x.object)
		a.step(o, x.events, -1)
	}
}

// addOwned collects an event of an object.
func (a *Parametric) addOwned(property, event int, object uint64) {
	for i := range a.own {
		if x := &a.own[i]; x.property == property && x.object == object {
			x.events |= 1 << event
			return
		}
	}
	a.own = append(a.own, owned{property, object, 1 << event})
}

// forAll handles what is a letter for all objects of a property. For one whose own events the event is too, it is one letter.
func (a *Parametric) forAll(property int, events uint64, variable int) {
	own := a.own[:0]
	for _, x := range a.own {
		if x.property == property {
			a.step(a.of(property, x.object), events|x.events, variable)
			continue
		}
		own = append(own, x)
	}
	for _, o := range a.live[property].objects {
		if !o.Data.ended && o.Data.last != a.now.Seq {
			a.step(o, events, variable)
		}
	}
	a.own = own
}

// of returns the object of a property that has a value. Without fields its word begins now.
func (a *Parametric) of(property int, value uint64) *object {
	p := &a.o.Properties[property]
	id := a.objects.Identity(property, a.now.Thread, value)
	switch x := a.objects.Of(id); {
	case x == nil:
	case x.Ending() && !a.now.Op.IsCall(): // an access of a new object in the memory of the old one
		a.objects.Finish(id)
	default:
		return x.Object
	}
	a.stats.Objects++
	o := &object{Data: instance{
		property: property, value: value, made: finding.StepOf(a.now), known: make([]bool, len(p.Fields)), values: make([]uint64, len(a.o.Variables)),
	}}
	a.objects.Begin(id, o)
	if len(p.Fields) == 0 {
		a.beginWord(o)
	}
	return o
}

// field handles an access of a field, for each property that reads it.
func (a *Parametric) field(x access) {
	e := a.now
	if !e.Op.IsAccess() {
		return
	}
	for i := range a.o.Properties {
		at := slices.Index(a.o.Properties[i].Fields, x.variable)
		if at < 0 {
			continue
		}
		switch o := a.of(i, x.of); {
		case o.Data.begun && e.Op.IsWrite():
			a.step(o, 0, x.variable)
		case !o.Data.begun:
			a.learn(o, at, x.variable)
		}
	}
}

// learn sets the value of a field of an object whose word has not begun, and begins it if all are known.
func (a *Parametric) learn(o *object, at, variable int) {
	e, d := a.now, &o.Data
	d.follows(e)
	d.skipped = d.skipped || d.known[at] && e.Op.IsWrite()
	if e.Flags&event.HasValue == 0 {
		d.skipped = d.skipped || e.Op.IsWrite()
		return
	}
	d.values[variable], d.known[at] = e.Value, true
	if !slices.Contains(d.known, false) {
		a.beginWord(o)
	}
}

// beginWord begins the word of an object, in the present state. That may violate the property.
func (a *Parametric) beginWord(o *object) {
	d, p := &o.Data, &a.o.Properties[o.Data.property]
	for _, v := range p.Variables {
		if !slices.Contains(p.Fields, v) {
			if d.values[v] = a.values[v]; !a.known[v] {
				d.unknown = v + 1
			}
			d.open = true // it may have been written close to this moment
		}
	}
	live := &a.live[d.property]
	live.objects = append(live.objects, o)
	a.stats.Begun++
	d.begun, d.known, d.first = true, nil, slices.Clone(d.values)
	var bad bool
	l := p.Labels.Letter(d.values, 0)
	a.judge(d, l)
	d.state, bad = a.words[d.property].step(a.words[d.property].start, l)
	if d.start = d.state; bad {
		a.observed(o, l)
	}
}

// step handles a letter of an object: declared events, and a write of a variable; -1: of none.
func (a *Parametric) step(o *object, events uint64, variable int) {
	d, e := &o.Data, a.now
	d.follows(e)
	if d.last = e.Seq; !d.begun {
		d.skipped = true
		return
	}
	x := objects.Step{Events: events, Variable: int32(variable)}
	if variable >= 0 {
		x.Value = e.Value
		d.unvalued = d.unvalued || e.Flags&event.HasValue == 0
	}
	a.slices.Add(o, e, x)
	l := a.letter(d.property, d.values, &x)
	a.judge(d, l)
	var bad bool
	if d.state, bad = a.words[d.property].step(d.state, l); bad && !d.broken {
		a.observed(o, l)
	}
	a.slices.Trim(o)
}

// recorded is when and by whom a step was recorded.
type recorded struct {
	thread    event.ThreadID // 0: there was none
	time      uint64
	uncertain bool // it was made at another moment than its record
}

// follows notes a step. If the step before is another thread's, and at least one of the two is an access, their records
// show their order only if these are so far apart that no access can have been made on the other side.
func (d *instance) follows(e *event.Event) {
	last, now := d.prior, recorded{e.Thread, e.Time, isUncertain(e.Op, e.Flags, e.Time)}
	d.prior = now
	apart := uint64(0)
	for _, m := range []recorded{last, now} {
		if m.uncertain {
			apart += uint64(MaxDelay)
		}
	}
	if last.thread != 0 && last.thread != now.thread && apart > 0 && now.time <= last.time+apart {
		d.open = true
	}
}

// letter sets what a step writes, and returns the letter at the step.
func (a *Parametric) letter(property int, values []uint64, x *objects.Step) lattice.Letter {
	if x.Variable >= 0 {
		values[x.Variable] = x.Value
	}
	return a.o.Properties[property].Labels.Letter(values, x.Events)
}

// forget takes a step of an object to have been made.
func (a *Parametric) forget(o *object, x *objects.Step) {
	d := &o.Data
	d.start, _ = a.words[d.property].step(d.start, a.letter(d.property, d.first, x))
}

// begins returns what the lattice of an object checks.
func (a *Parametric) begins(o *object) (p lattice.Property, initial []uint64) {
	of := &a.o.Properties[o.Data.property]
	m := resume(of.Monitor, slices.Clone(a.words[o.Data.property].sets[o.Data.start]))
	variables := of.Variables
	if variables == nil {
		variables = []int{}
	}
	return lattice.Property{Monitor: m, Labels: of.Labels, Variables: variables, Events: of.Events}, slices.Clone(o.Data.first)
}

// end ends an object.
func (a *Parametric) end(o *object) {
	a.slices.End(o)
	if o.Data.broken && !(o.Data.open && o.Unordered()) {
		a.proven[o.Data.by] = true
	}
	a.judged(o)
	if o.Data.ended = true; !o.Data.begun {
		return
	}
	live := &a.live[o.Data.property]
	if live.ended++; 2*live.ended > len(live.objects) {
		live.objects = slices.DeleteFunc(live.objects, func(o *object) bool { return o.Data.ended })
		live.ended = 0
	}
}

// Look checks the objects that have been used since it was last called, as if the run ended now: the part of the run that a
// schedule needs may not be kept until it does.
func (a *Parametric) Look() { a.slices.Look(a.objects.Sorted()) }

// Finish checks what is left, and returns the findings in the order in which they were made.
func (a *Parametric) Finish() []finding.Finding {
	a.over = true
	a.objects.FinishAll()
	var out []finding.Finding
	for _, k := range a.order {
		f := a.findings[k]
		if f.Confidence == finding.Observed && !a.proven[k] {
			a.unprove(k, f)
		}
		out = append(out, *f)
	}
	return out
}

// unprove makes a violation in the order of the trace one of another schedule, as the record does not prove that order: an
// access and its record are two moments, and steps that nothing orders may have come in between (prover.go).
func (a *Parametric) unprove(k placed, f *finding.Finding) {
	f.Confidence, f.Reason = finding.Likely, reason.Reason{What: reason.OrderOpen}
	f.Message = violates(&a.o.Properties[k.property].Property, false)
}

// Stats returns what was checked so far.
func (a *Parametric) Stats() ParametricStats {
	s := a.stats
	s.Stats = a.slices.Stats()
	return s
}

// Notes returns sentences for the user: what was checked, and what was left out.
func (a *Parametric) Notes() []string {
	if len(a.o.Properties) == 0 {
		return nil
	}
	s := a.Stats()
	notes := []string{plural.Sprintf("properties of objects were checked of %d {object|objects}; ", s.Objects) +
		plural.Sprintf("%d {was|were} used by two threads or more, ", s.Shared) + plural.Sprintf("%d in an order that other schedules may change", s.Unordered)}
	if n := s.Objects - s.Begun; n > 0 {
		notes = append(notes, plural.Sprintf("%d {object was|objects were} not checked, since not all fields that a property reads were accessed", n))
	}
	if !s.Lattice.Complete() {
		notes = append(notes, "properties of objects were checked on part of the runs that the observed causality allows: the window left out "+
			plural.Sprintf("%d {state|states} of lattices, and states that ", s.Lattice.Dropped)+
			plural.Sprintf("%d {event|events} came too late for; wider ones (--window, --queue) check more", s.Lattice.Late))
	}
	if s.Forgotten > 0 {
		notes = append(notes, plural.Sprintf("%d {event was|events were} followed by more than %d of the same object, and taken to come before later ones", s.Forgotten, objects.MaxSteps))
	}
	if s.Unkept > 0 {
		notes = append(notes, plural.Sprintf("%d {violation|violations} of properties of objects {is|are} not shown, since the run was not kept for so long", s.Unkept))
	}
	return notes
}

// Remember adds to n the threads and objects that findings may still name.
func (a *Parametric) Remember(n *event.Names) {
	for x := range a.objects.All() {
		x.Object.Data.made.Remember(n)
	}
	for _, f := range a.findings {
		f.Remember(n)
	}
}
