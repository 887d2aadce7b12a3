// Package bind binds a specification to a run: it matches the events of the run with the
// declarations of the specification, and checks the properties, by analysis/property, on all
// runs that the observed causality allows. The input is events, in trace order, and the names
// of their identifiers; the output is findings. It reads no files and knows no process.
package bind

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/tracepredict/tracepredict/analysis/completion"
	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/property"
	"github.com/tracepredict/tracepredict/analysis/scope"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/analysis/stats"
	"github.com/tracepredict/tracepredict/analysis/typestate"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Options configure a Run.
type Options struct {
	Spec     *spec.Spec
	Monitors []*spec.Monitor // by Spec.Properties
	Names    run.Namer
	// Window and Queue are those of property.Options.
	Window, Queue int
	Order         finding.Order // as in property.Options
	// Found, if not nil, is called for each finding as soon as it is made.
	Found func(*finding.Finding)
	// RacingTypes: of typestates, there are only findings of types with an object whose calls race (typestate.Races).
	// Races: such objects are looked for and counted, even so.
	RacingTypes, Races bool
	// Kernel, if not nil, is the specification's scope, monitored in the observed threads.
	Kernel *KernelScope
	// Outside means that the specification's formulas are evaluated in the observed threads alone.
	Outside bool
	// Latency is that of property.Options.
	Latency *stats.Latency
}

// Run is a specification bound to one run. It implements finding.Analysis.
type Run struct {
	*property.Analysis
	spec          *spec.Spec
	monitors      []*spec.Monitor
	match         *spec.Matcher
	names         run.Namer
	forms         []*event.Form    // by spec.Vars: the form of its values; nil until its object is seen
	objects       []event.ObjectID // by spec.Vars: its object; 0 until it is seen
	seen          int              // number of variables whose object was seen
	otherObjects  int              // number of further objects with these names, in forked processes
	threads       Threads
	letters       []*letters               // by spec.Properties
	verdicts      []*verdict               // of properties that are no safety properties
	tallies       []tally                  // by property of ofObjects
	protocols     *typestate.Analysis      // of spec.Typestates; nil if there are none
	races         *typestate.Races         // of the same protocols; nil if races are not looked for
	ofObjects     *property.Parametric     // the properties of objects; nil if there are none
	parametric    []int                    // by property of ofObjects: its index in spec.Properties
	plain         uint64                   // the events that other properties mention
	events        uint64                   // that the present event is
	fieldSeen     []bool                   // by spec.Vars: a field of an object was seen
	history       *completion.Completer    // for protocols, properties of objects, and scopes
	formulas      []*formula               // of spec.Formulas
	scopes        []*scope.Monitor         // by spec.Scopes
	judgedInner   map[*spec.Scope][]uint64 // of inner scopes: how many checks have each of spec.Verdicts in the last outer region
	schedules     *completion.Completer    // for scopes; of the same history
	kernel        *KernelScope             // Options.Kernel
	window, queue int
}

// New binds a specification to a run that has not begun.
func New(o Options) (*Run, error) {
	r := &Run{
		spec: o.Spec, monitors: o.Monitors, window: o.Window, queue: o.Queue, names: o.Names,
		forms: make([]*event.Form, len(o.Spec.Vars)), objects: make([]event.ObjectID, len(o.Spec.Vars)), threads: NewThreads(o.Names),
		fieldSeen: make([]bool, len(o.Spec.Vars)),
	}
	r.match = o.Spec.NewMatcher(spec.Names{
		Func:   o.Names.Func,
		Object: func(id event.ObjectID) string { return o.Names.Object(id).Name },
		Thread: r.threads.Type, Variable: r.variable, Form: func(i int) *event.Form { return r.forms[i] },
	})
	opts := property.Options{Window: o.Window, Queue: o.Queue, Order: o.Order, Found: o.Found, Latency: o.Latency, Events: r.matched, Variable: r.match.Variable}
	for _, v := range o.Spec.Vars {
		opts.Variables = append(opts.Variables, v.Name)
	}
	var ofObjects []property.ParametricProperty
	for i, p := range o.Spec.Properties {
		l := &letters{run: r, property: p}
		r.letters = append(r.letters, l)
		bound := property.Property{Name: p.Name, Message: p.Message, Monitor: o.Monitors[i], Labels: l, Variables: p.Vars}
		for _, e := range p.Events {
			bound.Events |= 1 << e
		}
		for _, prop := range p.Propositions {
			bound.Propositions = append(bound.Propositions, prop.Name)
		}
		if p.Of != nil {
			r.parametric = append(r.parametric, i)
			each := ofEach(p, bound)
			if len(o.Monitors[i].Unreported) > 0 {
				var err error
				if each.Verdicts, err = threeValued(p); err != nil {
					return nil, err
				}
			}
			ofObjects = append(ofObjects, each)
			r.tallies = append(r.tallies, tally{property: p})
			continue
		}
		r.plain |= bound.Events
		if len(o.Monitors[i].Unreported) > 0 {
			v, err := newVerdict(p, len(opts.Properties))
			if err != nil {
				return nil, err
			}
			bound.Observed = v.read
			r.verdicts = append(r.verdicts, v)
		}
		opts.Properties = append(opts.Properties, bound)
	}
	if len(o.Spec.Typestates)+len(ofObjects)+len(o.Spec.Scopes) > 0 {
		r.history = &completion.Completer{
			History: &completion.History{Limit: objectHistory}, Order: o.Order, NewChecker: execution.DefaultChecker,
		}
	}
	if len(ofObjects) > 0 {
		r.checkObjects(&o, ofObjects, opts.Variables)
	}
	if len(o.Spec.Typestates) > 0 {
		r.checkProtocols(&o)
	}
	if err := r.bindFormulas(o.Found, o.Outside); err != nil {
		return nil, err
	}
	if err := r.monitorScopes(&o); err != nil {
		return nil, err
	}
	var err error
	r.Analysis, err = property.New(opts)
	return r, err
}

// variable returns the index in Spec.Vars of an object, -1 for none. A name denotes the object
// that was seen first, which is that of the first process.
func (r *Run) variable(id event.ObjectID) int {
	o := r.names.Object(id)
	if o.Kind != event.KindVariable {
		return -1
	}
	i := r.spec.Name(o.Name)
	switch {
	case i < 0:
	case r.objects[i] == 0:
		r.objects[i], r.forms[i] = id, o.Form
		r.seen++
	case r.objects[i] != id:
		r.otherObjects++
		return -1
	}
	return i
}

// Event processes the next event of the run.
func (r *Run) Event(e *event.Event) {
	r.threads.Named(e)
	r.Analysis.Event(e)
	if r.history != nil {
		r.history.Add(e)
	}
	look := r.history != nil && len(r.history.Log)%(objectHistory/2) == 0
	if r.protocols != nil {
		if look {
			r.protocols.Look()
		}
		if r.races != nil {
			r.races.Event(e)
		}
		r.protocols.Event(e)
	}
	if r.ofObjects != nil {
		if look {
			r.ofObjects.Look()
		}
		r.ofObjects.Event(e, r.events)
	}
	for _, f := range r.formulas {
		f.event(e)
	}
	if r.kernel != nil {
		r.kernel.see(e, r.threads)
	}
	for _, m := range r.scopes {
		m.Event(e, r.events)
	}
	r.threads.Event(e)
}

// letters computes the letters of a property. The form of a variable is known once the variable
// is seen, at its initial value or its first access. Several goroutines may compute letters at
// once, but none while a variable is seen for the first time.
type letters struct {
	run      *Run
	property *spec.Property
	fitted   atomic.Pointer[fitted]
}

// fitted computes letters from variables in the forms that were known when it was made.
type fitted struct {
	code     *spec.Letters // nil: the types do not fit the program
	problems syntax.List
	seen     int // Run.seen when it was made
}

// Letter implements lattice.Labels. If the types of the property do not fit the program, the
// letter is 0 and has no meaning, and unfit returns an error.
func (l *letters) Letter(values []uint64, events uint64) uint64 {
	f := l.fitted.Load()
	if f == nil || f.seen != l.run.seen {
		f = &fitted{seen: l.run.seen}
		f.code, f.problems = l.run.spec.Letters(l.property, l.run.forms)
		l.fitted.Store(f)
	}
	if f.code == nil {
		return 0
	}
	return f.code.Letter(values, events)
}

// unfit returns an error if the specification does not fit the program that ran, so that the
// properties were not checked. The error lists what does not fit.
func (r *Run) unfit() error {
	var all syntax.List
	for _, l := range r.letters {
		if f := l.fitted.Load(); f != nil && f.problems.HasErrors() {
			all = append(all, f.problems...)
		}
	}
	for _, f := range r.formulas {
		if f.problems.HasErrors() {
			all = append(all, f.problems...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("the properties were not checked: %w", all)
}

// checked returns how much of the properties was checked, and their definitions.
func (r *Run) checked() *run.Properties {
	s := r.Stats()
	out := &run.Properties{
		Window: r.window, Queue: r.queue, Complete: s.Complete(), Levels: s.Levels, States: s.Cuts, Dropped: s.Dropped,
		CutLevels: s.Cut, Late: s.Late, Widest: s.Widest, Notes: slices.Clone(r.Analysis.Notes()),
	}
	if r.otherObjects > 0 {
		out.Notes = append(out.Notes, plural.Sprintf("%d {variable of another process has a name|variables of other processes have the names} of the specification's: {it was|they were} not checked", r.otherObjects))
	}
	for i, v := range r.spec.Vars {
		if v.Used && r.objects[i] == 0 && !r.fieldSeen[i] {
			out.Notes = append(out.Notes, fmt.Sprintf("nothing was recorded of the variable %s, so that its value is not known: was it watched?", v.Path))
		}
	}
	for _, l := range r.match.WithoutEvents() {
		out.Notes = append(out.Notes, fmt.Sprintf("there was no event of the %s %s", l.Kind, l.Path))
	}
	if n := r.match.Unknown(); n > 0 {
		out.Notes = append(out.Notes, plural.Sprintf("%d {event was not matched, for what its|events were not matched, for what their} condition speaks of was not recorded", n))
	}
	for i, p := range r.spec.Properties {
		out.Names = append(out.Names, p.Name)
		out.Definitions = append(out.Definitions, r.definition(p))
		for _, part := range r.monitors[i].Unreported {
			out.Notes = append(out.Notes, fmt.Sprintf("property %s: what no finite run can show is not reported: %s", p.Name, part))
		}
		if f := r.letters[i].fitted.Load(); f != nil && f.code != nil && f.code.Faults() > 0 {
			out.Notes = append(out.Notes, plural.Sprintf("property %s: a division by zero made a proposition false %d {time|times}", p.Name, f.code.Faults()))
		}
	}
	for _, f := range r.formulas {
		out.Names = append(out.Names, f.of.Name)
		out.Definitions = append(out.Definitions, f.definition())
	}
	return out
}

// definition returns the definition of a property, for a report.
func (r *Run) definition(p *spec.Property) run.Definition {
	d := run.Definition{Name: p.Name, Text: p.Text}
	say := func(name, text string) {
		if text != "" && text != name {
			d.Where = append(d.Where, run.Meaning{Name: name, Text: text})
		}
	}
	for _, q := range p.Propositions {
		if q.Event >= 0 {
			say(q.Name, r.spec.Events[q.Event].Text)
		} else {
			say(q.Name, q.Text)
		}
	}
	for _, v := range p.Vars {
		say(r.spec.Vars[v].Name, r.spec.Vars[v].Path)
	}
	return d
}
