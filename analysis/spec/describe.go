package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/bits"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// Description is what `tracepredict check` prints of a specification. Its JSON form is that of
// the command's output: fields are added, never changed or removed.
type Description struct {
	Problems     syntax.List          `json:"-"`
	Properties   []Described          `json:"properties"`
	Typestates   []DescribedTypestate `json:"typestates"`
	Formulas     []DescribedFormula   `json:"formulas"` // on what threads know
	Scopes       []DescribedScope     `json:"scopes"`
	Checks       []string             `json:"checks"`        // the requested analyses
	NotEvaluated []string             `json:"not_evaluated"` // declarations for which there is no analysis yet
	Watch        []string             `json:"watch"`         // as --watch takes it
	On           []string             `json:"on"`            // as --on takes it
	Syncs        []string             `json:"locks"`         // declared locks, conds, sems and barriers that events mention
	Threads      []string             `json:"threads"`       // declared thread types that events mention
}

// Described is the description of a property.
type Described struct {
	Name         string                 `json:"name"`
	Of           *DescribedObject       `json:"of,omitempty"` // absent: it is a property of the whole program
	Message      string                 `json:"message"`
	Logic        string                 `json:"logic"`
	Text         string                 `json:"text"`
	Propositions []DescribedProposition `json:"propositions"`
	Moves        string                 `json:"moves"`      // which writes and events make letters
	States       int                    `json:"states"`     // of the monitor
	Size         string                 `json:"size"`       // of the monitor, in words
	Unreported   []string               `json:"unreported"` // as in Monitor
	BadPrefix    []monitor.Letter       `json:"bad_prefix"` // a shortest one; null: the property can never be violated
	Values       []DescribedValues      `json:"values"`     // of the variables along the bad prefix; empty: none were found
	Steps        []string               `json:"steps"`      // by state of the bad prefix: "", "write", or an event's name
	Monitor      *Monitor               `json:"-"`
}

// DescribedObject is the object that a property is of.
type DescribedObject struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Fields are those that make letters of it alone, as --watch takes them; Events are such events.
	Fields []string `json:"fields"`
	Events []string `json:"events"`
}

// DescribedTypestate is the description of a typestate.
type DescribedTypestate struct {
	Name   string          `json:"name"`
	Type   string          `json:"type"` // of the objects
	Mined  bool            `json:"mined"`
	Calls  []DescribedCall `json:"calls"`
	States []string        `json:"states"`
	// Expression stands in place of states; its automaton has those of States.
	Expression string     `json:"expression,omitempty"`
	Typestate  *Typestate `json:"-"`
}

// DescribedCall is a call of a typestate.
type DescribedCall struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"`
	Creates bool   `json:"creates"` // an object begins with it
}

// DescribedScope is the description of a scope. Numbers of states are of the monitors in LTL₃.
type DescribedScope struct {
	Name   string           `json:"name"`
	Sync   DescribedMeaning `json:"synchronising_action"`
	Locals []DescribedLocal `json:"local_properties"`
	Atoms  []DescribedAtom  `json:"atoms"`
	Checks []DescribedCheck `json:"checks"`
	Outer  string           `json:"outer_scope,omitempty"` // the scope whose regions its own are in
}

// DescribedMeaning is a declared name with what it stands for.
type DescribedMeaning struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// DescribedLocal is the description of a local property of a scope.
type DescribedLocal struct {
	Name   string             `json:"name"`
	Type   DescribedMeaning   `json:"threads"`
	Text   string             `json:"text"`
	Across bool               `json:"across_scopes"`
	Events []DescribedMeaning `json:"events"`
	States int                `json:"states"`
}

// DescribedAtom is the description of an atom of a scope.
type DescribedAtom struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// DescribedCheck is the description of a check of a scope.
type DescribedCheck struct {
	Text    string `json:"text"`
	Message string `json:"message"`
	States  int    `json:"states"`
}

// DescribedProposition describes the proposition that is a bit of the letters. Its text is ""
// for an event.
type DescribedProposition struct {
	Name  string `json:"name"`
	Text  string `json:"text"`
	Event bool   `json:"event"`
}

// DescribedValues are the values of a variable in the states of a bad prefix.
type DescribedValues struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// Describe makes the monitors of a specification and describes it. The specification may be nil
// if the problems have errors. The problems of monitors are added to the problems.
func Describe(s *Spec, problems syntax.List, o MonitorOptions) *Description {
	d := &Description{Problems: problems, Properties: []Described{}, Typestates: []DescribedTypestate{}, Formulas: []DescribedFormula{}, Scopes: []DescribedScope{}, Checks: []string{}, NotEvaluated: []string{}, Watch: []string{}, On: []string{}, Syncs: []string{}, Threads: []string{}}
	if s == nil {
		return d
	}
	for _, p := range s.Properties {
		m, more := s.Monitor(p, o)
		d.Problems = append(d.Problems, more...)
		if m != nil {
			d.Properties = append(d.Properties, s.describe(p, m))
		}
	}
	for _, t := range s.Typestates {
		d.Typestates = append(d.Typestates, s.describeTypestate(t))
	}
	for _, f := range s.Formulas {
		d.Formulas = append(d.Formulas, s.describeFormula(f))
	}
	for _, sc := range s.Scopes {
		m, more := s.ScopeMonitors(sc, o)
		d.Problems = append(d.Problems, more...)
		if m != nil {
			d.Scopes = append(d.Scopes, s.describeScope(sc, m))
		}
	}
	for _, c := range s.Checks {
		d.Checks = append(d.Checks, s.checkText(c))
	}
	for _, n := range s.notEvaluated() {
		what, _, _ := strings.Cut(n.Message, notEvaluated)
		if before, _, stateless := strings.Cut(n.Message, noStates); stateless {
			what = before + noStates
		}
		d.NotEvaluated = append(d.NotEvaluated, what)
	}
	s.describePlan(d)
	return d
}

func (s *Spec) describeTypestate(t *Typestate) DescribedTypestate {
	d := DescribedTypestate{Name: t.Name, Type: t.Type, Mined: t.Mined, Calls: []DescribedCall{}, States: []string{}, Expression: t.Text, Typestate: t}
	for _, c := range t.Calls {
		d.Calls = append(d.Calls, DescribedCall{c.Name, s.Events[c.Event].Text, c.Creates})
	}
	for _, st := range t.States {
		d.States = append(d.States, st.Name)
	}
	return d
}

func (s *Spec) describeScope(sc *Scope, m *ScopeMonitors) DescribedScope {
	d := DescribedScope{Name: sc.Name, Sync: s.meaning(sc.Sync), Locals: []DescribedLocal{}, Atoms: []DescribedAtom{}, Checks: []DescribedCheck{}}
	for i := range sc.Locals {
		l, t := &sc.Locals[i], &s.Threads[sc.Locals[i].Type]
		out := DescribedLocal{Name: l.Name, Type: DescribedMeaning{t.Name, t.String()}, Text: l.Text, Across: l.Across, Events: []DescribedMeaning{}, States: m.Locals[i].States()}
		for _, e := range l.Events {
			out.Events = append(out.Events, s.meaning(e))
		}
		d.Locals = append(d.Locals, out)
	}
	for i := range sc.Atoms {
		d.Atoms = append(d.Atoms, DescribedAtom{sc.Atoms[i].Name, sc.Atoms[i].Text})
	}
	for i := range sc.Checks {
		d.Checks = append(d.Checks, DescribedCheck{sc.Checks[i].Text, sc.Checks[i].Message, m.Checks[i].States()})
	}
	if sc.Outer != nil {
		d.Outer = sc.Outer.Name
	}
	return d
}

// meaning returns a declared event with its pattern.
func (s *Spec) meaning(event int) DescribedMeaning {
	return DescribedMeaning{s.Events[event].Name, s.Events[event].Text}
}

// describePlan adds to the description what has to be probed.
func (s *Spec) describePlan(d *Description) {
	plan := s.Plan()
	for _, i := range plan.Watch {
		d.Watch = append(d.Watch, s.Vars[i].Path)
	}
	d.On = append(d.On, plan.On...)
	for _, i := range plan.Syncs {
		l := s.Syncs[i]
		text := l.Kind.String() + " " + l.Path
		if l.Class != "" {
			text = fmt.Sprintf("%s %s of every %s", l.Kind, l.Path, l.Class)
		}
		d.Syncs = append(d.Syncs, text)
	}
	for _, i := range plan.Threads {
		d.Threads = append(d.Threads, s.Threads[i].String())
	}
}

// describe returns the description of a property and its monitor.
func (s *Spec) describe(p *Property, m *Monitor) Described {
	d := Described{Name: p.Name, Message: p.Message, Logic: p.Logic.String(), Text: p.Text, Monitor: m, States: m.States(),
		Size: m.sizeText(), Moves: s.moves(p), Unreported: append([]string{}, m.Unreported...), Propositions: []DescribedProposition{}}
	d.Of = s.describeObject(p.Of)
	for _, q := range p.Propositions {
		d.Propositions = append(d.Propositions, DescribedProposition{q.Name, q.Text, q.Event >= 0})
	}
	d.Values, d.Steps = []DescribedValues{}, []string{}
	if e, ok := s.example(p, m); ok {
		d.BadPrefix = e.letters
		s.describeValues(&d, p, e)
	}
	return d
}

func (s *Spec) describeObject(of *Parameter) *DescribedObject {
	if of == nil {
		return nil
	}
	d := &DescribedObject{Name: of.Name, Type: of.Type, Fields: []string{}, Events: []string{}}
	for _, v := range of.Fields {
		d.Fields = append(d.Fields, s.Vars[v].Path)
	}
	for _, e := range of.Events {
		d.Events = append(d.Events, s.Events[e.Event].Name)
	}
	return d
}

// describeValues adds to the description of a property the values and steps of an example.
func (s *Spec) describeValues(d *Described, p *Property, e example) {
	for i, v := range p.Vars {
		values := DescribedValues{Name: s.Vars[v].Name, Values: []string{}}
		for _, state := range e.values {
			values.Values = append(values.Values, s.valueText(v, state[i]))
		}
		if e.values != nil {
			d.Values = append(d.Values, values)
		}
	}
	for i, event := range e.event {
		step := ""
		if event >= 0 {
			step = s.Events[event].Name
		} else if i > 0 {
			step = "write"
		}
		d.Steps = append(d.Steps, step)
	}
}

// sizeText returns the size of a monitor in words.
func (m *Monitor) sizeText() string {
	n := len(m.p.Propositions)
	letters := "1 letter"
	switch {
	case n > 16:
		letters = fmt.Sprintf("2^%d letters", n)
	case n > 0:
		letters = fmt.Sprintf("%d letters", 1<<n)
	}
	kind := "deterministic, " + counted(m.size(), "choice")
	if !m.isDeterministic() {
		kind = "as given, " + counted(m.size(), "transition")
	}
	return fmt.Sprintf("%s, %s; %s", counted(m.States(), "state"), letters, kind)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// moves describes which writes and events make letters of a property.
func (s *Spec) moves(p *Property) string {
	var parts []string
	var names []string
	for _, v := range p.Vars {
		names = append(names, s.Vars[v].Name)
	}
	if len(names) > 0 {
		parts = append(parts, "each write of "+strings.Join(names, ", "))
	}
	names = nil
	for _, e := range p.Events {
		names = append(names, s.Events[e].Name)
	}
	if len(names) > 0 {
		parts = append(parts, "each event "+strings.Join(names, ", "))
	}
	if len(parts) == 0 {
		return "the initial state alone"
	}
	return "the initial state; " + strings.Join(parts, "; ")
}

// checkText returns a request of an analysis as specifications write it.
func (s *Spec) checkText(c Check) string {
	switch {
	case c.Func != "":
		return c.Analysis + "(" + c.Func + ")"
	case c.Analysis != "races":
		return c.Analysis
	}
	var names []string
	for _, v := range c.Vars {
		names = append(names, s.Vars[v].Name)
	}
	if len(names) == 0 {
		return c.Analysis
	}
	return c.Analysis + "(" + strings.Join(names, ", ") + ")"
}

// Letters returns the letters of the bad prefix as specifications write them, by the
// propositions that hold.
func (d *Described) Letters() []string {
	out := make([]string, len(d.BadPrefix))
	for i, l := range d.BadPrefix {
		out[i] = "{" + strings.Join(d.holding(l), ", ") + "}"
	}
	return out
}

// holding returns the names of the propositions that hold in a letter.
func (d *Described) holding(l monitor.Letter) []string {
	names := []string{}
	for ; l != 0; l &= l - 1 {
		names = append(names, d.Propositions[bits.TrailingZeros64(l)].Name)
	}
	return names
}

// MarshalJSON writes the description with its problems.
func (d *Description) MarshalJSON() ([]byte, error) {
	type plain Description
	type problem struct {
		Kind    string   `json:"kind"`
		Warning bool     `json:"warning"`
		File    string   `json:"file"`
		Line    int      `json:"line"`
		Column  int      `json:"column"`
		Message string   `json:"message"`
		Notes   []string `json:"notes"`
	}
	problems := []problem{}
	for _, p := range d.Problems {
		out := problem{Kind: p.Kind.String(), Warning: p.Warning, Message: p.Message, Notes: append([]string{}, p.Notes...)}
		if p.Span.IsValid() {
			out.File, out.Line, out.Column = p.Span.Src.Name, p.Span.Line(), p.Span.Column()
		}
		problems = append(problems, out)
	}
	return plainJSON(struct {
		Problems []problem `json:"problems"`
		*plain
	}{problems, (*plain)(d)})
}

// MarshalJSON writes the bad prefix as the names of the propositions that hold in each state.
func (d Described) MarshalJSON() ([]byte, error) {
	type plain Described
	var prefix [][]string
	if d.BadPrefix != nil {
		prefix = [][]string{}
	}
	for _, l := range d.BadPrefix {
		prefix = append(prefix, d.holding(l))
	}
	return plainJSON(struct {
		plain
		BadPrefix [][]string `json:"bad_prefix"`
	}{plain(d), prefix})
}

// plainJSON returns the JSON form of v, in which <, > and & are not escaped, unlike in that of
// json.Marshal.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// ForRun loads a specification for a run, and makes the monitors of its properties. It is an
// error if there is no analysis for a declaration yet, or no monitor for a property.
func ForRun(name string, o Options, mo MonitorOptions) (*Spec, []*Monitor, syntax.List) {
	s, problems := Load(name, o)
	if s == nil {
		return nil, nil, problems
	}
	problems = append(problems, s.notEvaluated()...)
	var monitors []*Monitor
	for _, p := range s.Properties {
		m, more := s.Monitor(p, mo)
		problems = append(problems, more...)
		monitors = append(monitors, m)
	}
	for _, sc := range s.Scopes {
		_, more := s.ScopeMonitors(sc, mo)
		problems = append(problems, more...)
	}
	if problems.HasErrors() {
		return nil, nil, problems
	}
	return s, monitors, problems
}
