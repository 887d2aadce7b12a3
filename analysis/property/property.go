// Package property checks properties on all runs that the causality of the observed one
// allows: predictive monitoring (Sen, Roşu, Agha, "Online Efficient Predictive Safety
// Analysis of Multithreaded Programs").
//
// The input is every event of a run. The caller decides which events are relevant
// (Options.Variable, Options.Events) and supplies, for each property, a monitor and the
// letters that it reads. The vector clocks are those of observer/causality, and the runs are
// the paths of observer/lattice. The output is findings: the observed run violates a property, or
// another run does, shown from the last state that the two have in common. If the state before
// any event violates a property, the finding has that state and no event. The package
// does not know specifications.
//
// # Trust
//
// A finding about another run is predicted only if the monitor reaches its bad state on the
// witness, and package execution accepts the witness: all events of the run that the witness
// needs, in an order that keeps the order of the witness. Package execution knows the rules of
// locks, reads, waits and so on, but no clocks. Otherwise, or if part of the run was not
// observed, the finding is potential and has the reason.
//
// # Bounds
//
// For witnesses at least Options.History events of the run are kept, if it has so many, and at
// most twice as many; the lattice keeps its default number of cuts. A property has at most
// maxFindings findings about other runs, one for each thread and call stack with which runs
// become bad.
package property

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/completion"
	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/stats"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// Options configure an Analysis.
type Options struct {
	// Properties are checked, each on the lattice of its own events.
	Properties []Property
	// Variables are the names of the variables that the letters depend on, by index.
	Variables []string
	// Initial holds the variables' values before the first event. With nil the values are
	// those of the Init events that precede the first relevant event.
	Initial []uint64
	// Variable returns the index of the variable that an object is, -1 for none. It is
	// called once for each object that is accessed.
	Variable func(event.ObjectID) int
	// Events returns the set of declared events that an event of the run matches (bit i: event
	// i). With nil there are none.
	Events func(*event.Event) uint64
	// Window is the largest number of states that a level of the lattice keeps; 0 is no limit.
	// Queue is the number of events that wait until a level is closed; 0 is no limit.
	Window, Queue int
	// Order is what the runs on which properties are checked keep of the order of this one; see completion.Clocks.
	Order finding.Order
	// History is the number of events of the run that are kept for witnesses; default 65536.
	History int
	// Found, if not nil, is called for each finding as soon as it is made.
	Found func(*finding.Finding)
	// NewChecker returns the checker of witnesses; default execution.DefaultChecker.
	NewChecker execution.NewChecker
	// Latency records when an event enters the lattice and how many levels have been built;
	// nil measures nothing.
	Latency *stats.Latency
}

// Property is what is checked on every run.
type Property struct {
	Name    string
	Message string // what its violation means, for the user; "" if the specification has none
	Monitor lattice.Monitor
	Labels  lattice.Labels
	// Variables are the indices of the variables whose writes make a letter. Events is the
	// set of declared events that make a letter.
	Variables []int
	Events    uint64
	// Propositions are the names of the bits of a letter, for witnesses.
	Propositions []string
	// Observed, if not nil, is called for each letter of the observed run, that of the initial state first.
	Observed func(lattice.Letter)
}

const defaultHistory = 1 << 16

// Analysis checks properties of a run. It implements finding.Analysis.
type Analysis struct {
	o            Options
	clocks       *causality.Clocks
	slices       []*slice // by property; nil until the first relevant event, since initial values may precede it
	initial      []uint64
	initialKnown []bool // by variable: its initial value was recorded
	variable     map[event.ObjectID]int
	objects      []event.ObjectID // by variable: the object that it was last; 0: none was seen
	history      history
	lostEvents   bool
	allValued    bool // every write of a variable so far had its value
	findings     map[key]*finding.Finding
	order        []key     // of findings, as they were made
	violated     []bool    // by property: the observed run violates it
	waits        []waiting // violations of which it is not known yet whether they are ones of this run
	omitted      uint64    // number of violations beyond maxFindings
}

// key identifies a finding: violations with equal keys are one finding.
type key struct {
	property int
	stack    event.StackID
	thread   event.ThreadID
}

// maxFindings bounds the number of findings of a property about other runs than the observed
// one.
const maxFindings = 16

// New returns the analysis of a run that has not begun. It returns an error if there is not one initial value for each
// variable.
func New(o Options) (*Analysis, error) {
	if o.History <= 0 {
		o.History = defaultHistory
	}
	if o.NewChecker == nil {
		o.NewChecker = execution.DefaultChecker
	}
	n := len(o.Variables)
	if o.Initial != nil && len(o.Initial) != n {
		return nil, errors.New(plural.Sprintf("check properties of %d {variable|variables} with %d initial {value|values}", n, len(o.Initial)))
	}
	initial, known := make([]uint64, n), make([]bool, n)
	copy(initial, o.Initial)
	for i := range known {
		known[i] = o.Initial != nil
	}
	return &Analysis{
		o: o, clocks: completion.Clocks(o.Order), initial: initial, initialKnown: known,
		variable: map[event.ObjectID]int{}, objects: make([]event.ObjectID, n), history: history{Completer: completion.Completer{History: &completion.History{Limit: o.History}, Order: o.Order, NewChecker: o.NewChecker}}, allValued: true,
		findings: map[key]*finding.Finding{}, violated: make([]bool, len(o.Properties)),
	}, nil
}

// Event processes the next event of the run.
func (a *Analysis) Event(e *event.Event) {
	var events uint64
	if a.o.Events != nil {
		events = a.o.Events(e)
	}
	if e.Op.IsCall() && events == 0 {
		return // A call that no property mentions orders nothing.
	}
	if e.Op == event.Hole || e.Flags&event.AfterHole != 0 {
		a.lostEvents = true
	}
	v := a.variableOf(e)
	if e.Op == event.Init && v >= 0 {
		a.setInitial(v, e)
	}
	r := lattice.Event{Variable: -1, Events: events, Seq: e.Seq, Lock: uint32(e.Object), Locking: completion.Locking(a.o.Order, e)}
	if v >= 0 && e.Op.IsWrite() {
		r.Variable, r.Value = v, e.Value
		a.allValued = a.allValued && e.Flags&event.HasValue != 0
	}
	relevant := r.Variable >= 0 || events != 0 || r.Locking != lattice.NoLock
	slot, clock := a.clocks.Stamp(e, relevant)
	if due := a.history.Due(); due > 0 {
		for _, s := range a.slices {
			s.dropping(due)
		}
	}
	a.history.add(e, read{mask: events, variable: int32(r.Variable), locks: r.Locking != lattice.NoLock})
	if len(a.waits) > 0 {
		a.elapse(e)
	}
	if !relevant {
		return
	}
	if a.slices == nil {
		a.begin()
	}
	uncertain := isUncertain(e.Op, e.Flags, e.Time)
	for _, s := range a.slices {
		s.event(&r, slot, clock, e.Time, uncertain)
	}
}

// Recorded reports whether all events, values and initial values that the letters of a property depend on were recorded, by its
// index in Options.Properties, so that those of Property.Observed are the run's.
func (a *Analysis) Recorded(property int) bool {
	for _, v := range a.o.Properties[property].Variables {
		if !a.initialKnown[v] {
			return false
		}
	}
	return !a.lostEvents && a.allValued
}

// Open reports whether the order of the letters of a property may not be that of the run: nothing orders some of them, and
// some are accesses, which happen at another moment than their records.
func (a *Analysis) Open(property int) bool {
	s := a.slices[property]
	return s.uncertain && s.lattice.Stats().Widest > 1
}

// ClockMemory returns the memory that the clocks of relevant events need at most, in bytes.
func (a *Analysis) ClockMemory() uint64 { return a.clocks.Memory() }

// variableOf returns the index of the variable that the event accesses, or -1.
func (a *Analysis) variableOf(e *event.Event) int {
	if e.Object == 0 || e.Kind != event.KindVariable && e.Kind != event.KindField || a.o.Variable == nil {
		return -1
	}
	v, ok := a.variable[e.Object]
	if !ok {
		if v = a.o.Variable(e.Object); v >= len(a.initial) {
			v = -1
		}
		a.variable[e.Object] = v
		if v >= 0 {
			a.objects[v] = e.Object
		}
	}
	if e.Op == event.Destroy {
		delete(a.variable, e.Object)
	}
	return v
}

// setInitial records the value of a variable from an Init event, unless the lattice has begun.
func (a *Analysis) setInitial(v int, e *event.Event) {
	if e.Flags&event.HasValue != 0 && a.slices == nil {
		a.initial[v], a.initialKnown[v] = e.Value, true
	}
}

// begin makes the lattices, whose initial state has the initial values so far.
func (a *Analysis) begin() {
	a.slices = make([]*slice, len(a.o.Properties))
	for i := range a.slices {
		a.slices[i] = &slice{analysis: a, property: &a.o.Properties[i], latency: a.o.Latency.Another()}
	}
	for i, s := range a.slices {
		s.begin(i)
	}
}

// Finish builds the rest of the lattices and returns the findings in the order in which
// they were made.
func (a *Analysis) Finish() []finding.Finding {
	if a.slices == nil {
		a.begin()
	}
	for _, s := range a.slices {
		s.finish()
	}
	for i := range a.waits {
		a.settle(&a.waits[i])
	}
	a.waits = nil
	var out []finding.Finding
	for _, k := range a.order {
		out = append(out, *a.findings[k])
	}
	return out
}

// Stats returns figures of the parts of the lattices that have been explored: sums, and the widest level and the longest
// queue of all.
func (a *Analysis) Stats() (sum lattice.Stats) {
	for _, s := range a.slices {
		sum.Add(s.lattice.Stats())
	}
	return sum
}

// Witnesses returns how many witnesses were accepted and refused. A refused witness is an
// error of this package, of the clocks or of the lattice.
func (a *Analysis) Witnesses() execution.Tally { return a.history.Witnesses }

// Notes returns sentences for the user: which part of the runs was checked, and what was
// assumed or left out.
func (a *Analysis) Notes() []string {
	s := a.Stats()
	if len(a.o.Properties) == 0 {
		return nil
	}
	var notes []string
	if s.Complete() {
		notes = append(notes, plural.Sprintf("properties were checked on every run that the observed causality allows (%d {state|states})", s.Cuts))
	} else {
		notes = append(notes, fmt.Sprintf("properties were checked on part of the runs that the observed causality allows, and others may violate them: "+
			"the window (--window %d, --queue %d) left out %s; wider ones check more, 0 and 0 check all", a.o.Window, a.o.Queue, leftOut(&s)))
	}
	if n := a.clocks.Forced(); n > 0 {
		notes = append(notes, plural.Sprintf("%d {thread was|threads were} taken to begin after others had ended, as in this run", n))
	}
	if a.omitted > 0 {
		notes = append(notes, plural.Sprintf("%d {violation of a property at a further place is|violations of properties at further places are} not shown", a.omitted))
	}
	return notes
}

// leftOut describes what the window left out of the lattice.
func leftOut(s *lattice.Stats) string {
	var parts []string
	if s.Dropped > 0 {
		parts = append(parts, plural.Sprintf("%d {state|states} at %d of %d {level|levels}", s.Dropped, s.Cut, s.Levels))
	}
	if s.Late > 0 {
		parts = append(parts, plural.Sprintf("states of levels that were closed before %d of their events came", s.Late))
	}
	return strings.Join(parts, ", and ")
}

// Remember adds to n the threads and objects that findings may still name.
func (a *Analysis) Remember(n *event.Names) {
	a.history.Log.Remember(n)
	for _, f := range a.findings {
		f.Remember(n)
	}
}
