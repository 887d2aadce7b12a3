// Package spec resolves specifications (docs/specification.md). It looks up names and checks
// types, makes the propositions, the formula and the monitor of each property, and lists what
// has to be probed.
//
// The input is the text of files; the output is a Spec, or all errors in the text.
// It reads no events itself: whoever runs monitors passes the values of the variables, and
// the events that happened, to Letters as numbers.
//
//	s, problems := spec.Load("valve.tps", spec.Options{})
//	if problems.HasErrors() {
//		return problems // with lines and carets
//	}
//	plan := s.Plan() // as by --watch and --on
//	for _, p := range s.Properties {
//		m, problems := s.Monitor(p, spec.MonitorOptions{})
//		letters, problems := s.Letters(p, forms) // forms from the debug information
//		states := m.Start(nil)
//		// values[i] is the value of s.Vars[i]; bit i of events is set for s.Events[i].
//		letter := letters.Letter(values, events)
//	}
package spec

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// MaxPropositions is the largest number of propositions of a property, and MaxEvents the
// largest number of declared events that the properties and scopes of a specification mention.
const (
	MaxPropositions = ltl.Atoms
	MaxEvents       = 64
)

// Spec is a specification whose names are known. It is not changed once made.
type Spec struct {
	File    string
	Vars    []Var
	Syncs   []Sync
	Threads []Thread
	// Events begin with those that properties and scopes mention, at most MaxEvents.
	Events     []Event
	Locals     []Local
	Props      []Prop
	Properties []*Property
	Checks     []Check
	Typestates []*Typestate
	Formulas   []*Formula
	Scopes     []*Scope

	names     *table
	sources   []*syntax.Source
	installed map[*syntax.Source]bool // those that come with the program
}

// Declared returns the names that the specification declares, those of its blocks included.
func (s *Spec) Declared() []string {
	out := slices.Clone(s.names.order)
	for _, p := range s.Properties {
		out = append(out, p.Name)
	}
	for _, t := range s.Typestates {
		out = append(out, t.Name)
	}
	for _, f := range s.Formulas {
		out = append(out, f.Name)
	}
	for _, c := range s.Scopes {
		out = append(out, c.Name)
	}
	return out
}

// Var is a declared variable.
type Var struct {
	Name string
	Path string      // as --watch takes it
	Type Class       // as declared; Unknown if the debug information determines it
	Span syntax.Span // of Name
	At   syntax.Span // of Path
	Used bool        // a property, a check or an mttl formula needs it
	// Field: it is a field of each object of a type, as a property of an object names it.
	Field bool
}

// Sync is a declared lock, condition, semaphore or barrier.
type Sync struct {
	Kind  syntax.SyncKind
	Name  string
	Class string      // the type of which Path is a field; "" if Path is a variable
	Path  string      // as in the source
	Span  syntax.Span // of Name
	At    syntax.Span // of Path
	Used  bool        // an event that is used mentions it
}

// Thread is a declared type of threads.
type Thread struct {
	Kind syntax.ThreadKind
	Name string
	Text string      // the start routine, or the glob of names
	Nth  uint64      // for NthOf: the number of the thread among those of the type Of, from 1
	Of   int         // for NthOf: the index in Spec.Threads; -1 for the others
	Span syntax.Span // of Name
	Used bool        // an event that is used mentions it
}

// Event is a declared event.
type Event struct {
	Name  string
	Text  string // its pattern and conditions, as written
	Op    syntax.Op
	On    string   // for calls, returns and lines: the pattern as --on takes it
	Bound []string // the names that it binds, parameters first
	// Result is the index in Bound of the result of a return, or of the value of a write; -1
	// for none.
	Result int
	Var    int // for read and write: the index in Spec.Vars, else -1
	Sync   int // the index in Spec.Syncs; -1 for any lock, and for other operations
	Thread int // for start, end, fork and join: the index in Spec.Threads, else -1
	By     int // the index in Spec.Threads of the type of its thread; -1 for any thread
	// When is a condition that the event must meet; nil is no condition.
	When *Condition
	Span syntax.Span // of Name
	At   syntax.Span // of the pattern's function, or of its object
	Used bool        // a property, or the condition of a used event, needs it

	params []parameter // by bound parameter
}

// leavesFunction reports whether the event is the end of a call, by whatever ends it, and no departure from lines.
func (e *Event) leavesFunction() bool { return e.Op == syntax.OpLeave && !syntax.OfLines(e.On) }

// parameter is where what a pattern binds is: event.Param without its name.
type parameter struct {
	index   int // its position in the source; -1 for this
	stored  bool
	element int
}

// Local is a variable that the specification keeps for each thread.
type Local struct {
	Name  string
	Type  Class
	Value uint64 // when the thread begins
	On    []Clause
	Span  syntax.Span // of Name
}

// Clause has the assignments to locals that an event of their thread makes. It may have none.
type Clause struct {
	Event int // index in Spec.Events
	Sets  []Assign
}

// Assign sets a local.
type Assign struct {
	Local int        // index in Spec.Locals
	Value *Condition // an expression over what the event binds, tid and locals
}

// Prop is a declared proposition.
type Prop struct {
	Name string
	Expr syntax.Expr // arranged
	Span syntax.Span // of Name
}

// Property is a property of a specification, with its propositions by number.
type Property struct {
	Name    string
	Message string
	Text    string // its body as written
	Logic   syntax.Logic
	// Propositions are the propositions of its letters: bit i of a letter is set if
	// Propositions[i] holds.
	Propositions []Proposition
	Vars         []int              // the indices in Spec.Vars that it mentions, ascending: their writes are relevant
	Events       []int              // the indices in Spec.Events that it mentions, ascending
	Formula      *ltl.Formula       // for LTL
	Regexp       *ere.Regexp        // for EREBad and EREGood
	Automaton    *monitor.Automaton // for Automaton
	Span         syntax.Span        // of Name
	// Of is the object that the property is of: each object of the type has a word of its own. nil: it is one of the whole
	// program.
	Of *Parameter

	body  syntax.Span
	parts map[any]syntax.Span // where the parts of Formula (*ltl.Formula) or Regexp (*ere.Regexp) are written
}

// Parameter is the object of a property.
type Parameter struct {
	Name string
	Type string      // as written
	At   syntax.Span // of Type
	// Fields are the indices in Spec.Vars of the fields that the property reads, ascending.
	Fields []int
	// Events are the events of Property.Events whose patterns bind the object.
	Events []OwnEvent
}

// OwnEvent is an event of one object.
type OwnEvent struct {
	Event  int // index in Spec.Events
	Object int // index in Event.Bound of the object
}

// Proposition is an atomic proposition of a property: a declared event, or an expression over
// variables.
type Proposition struct {
	Name  string      // the name of a declared proposition or event, or the expression
	Text  string      // the expression that it stands for; "" for an event
	Event int         // index in Spec.Events; -1 for an expression
	Expr  syntax.Expr // arranged; nil for an event
	Vars  []int       // the indices in Spec.Vars that it reads, ascending
}

// Check is an analysis that the specification requests.
type Check struct {
	Analysis string      // races, deadlocks, misuse or atomicity
	Vars     []int       // for races: indices in Spec.Vars
	Func     string      // for atomicity: the function, or the lines as FILE:FIRST-LAST
	Span     syntax.Span // of Analysis
}

const (
	atomicity    = "atomicity"
	noStates     = " has no states"
	notEvaluated = " is checked for names and types but not evaluated yet"
)

// notEvaluated returns an error for each declaration for which there is no analysis yet. A run
// with such a specification is refused.
func (s *Spec) notEvaluated() syntax.List {
	var out syntax.List
	report := func(at syntax.Span, what string) {
		out = append(out, &syntax.Diagnostic{Kind: syntax.NotEvaluated, Span: at,
			Message: what + notEvaluated + ": a run with it would find nothing"})
	}
	for _, l := range s.Syncs {
		if l.Used && l.Class != "" {
			report(l.Span, "a lock by its class, "+l.Name)
		}
	}
	for _, t := range s.Typestates {
		if len(t.States) == 0 && !t.ByExpression {
			out = append(out, &syntax.Diagnostic{Kind: syntax.NotEvaluated, Span: t.Span,
				Message: "typestate " + t.Name + noStates + ": tracepredict mine --spec FILE learns them from a run"})
		}
	}
	return out
}
