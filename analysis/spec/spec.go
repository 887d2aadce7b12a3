// Package spec resolves specifications (docs/specification.md): it looks up names, checks
// types, makes the propositions and the logic of each property, ready for a monitor, and
// lists what has to be probed.
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
//		state := m.Start(nil)
//		letter := letters.Letter(values, events) // values[i] of s.Vars[i], bit i of events: s.Events[i]
//	}
package spec

import (
	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// MaxPropositions is the number of propositions that a property can have, and MaxEvents the
// number of declared events that the properties of a specification can mention.
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
	// Events: those that properties mention come first, at most MaxEvents.
	Events     []Event
	Locals     []Local
	Props      []Prop
	Properties []*Property
	Checks     []Check
	Typestates []*syntax.Typestate
	Formulas   []*syntax.MTTL
	Scopes     []*syntax.Scope

	names   *table
	sources []*syntax.Source
}

// Var is a declared variable.
type Var struct {
	Name string
	Path string // as --watch names it
	Type Class  // as declared; Unknown where the debug information determines it
	Span syntax.Span
	At   syntax.Span // of Path
	Used bool        // something mentions it
}

// Sync is a declared lock, condition, semaphore or barrier.
type Sync struct {
	Kind  syntax.SyncKind
	Name  string
	Class string // every field Path of this type; "" for one variable
	Path  string
	Span  syntax.Span
	At    syntax.Span // of Path
	Used  bool
}

// Thread is a declared type of threads.
type Thread struct {
	Kind syntax.ThreadKind
	Name string
	Text string // the start routine, or the glob of names
	Nth  uint64
	Of   int // of NthOf: which of Spec.Threads
	Span syntax.Span
	Used bool
}

// Event is a declared event.
type Event struct {
	Name  string
	Text  string // its pattern and conditions, as written
	Op    syntax.Op
	On    string   // of call and return: the pattern as --on takes it
	Bound []string // the names that it binds, parameters first
	// Result is which of Bound is the result of a return, or the value of a write;
	// -1 for none.
	Result int
	Var    int // of read and write: which of Spec.Vars, else -1
	Sync   int // which of Spec.Syncs, else -1: any, or of another kind
	Thread int // of start, end, fork and join: which of Spec.Threads, else -1
	By     int // which of Spec.Threads; -1 for any thread
	// When is the condition of events that match; nil is no condition.
	When *Condition
	Span syntax.Span
	At   syntax.Span // of the pattern's function, or of its object
	Used bool

	params []int // the bound parameters by their position in the source; -1 is this
}

// Local is a variable of each thread.
type Local struct {
	Name  string
	Type  Class
	Value uint64 // at the thread's beginning
	On    []Clause
	Span  syntax.Span
}

// Clause is the effect of an event on the locals of its thread. Where Sets is empty, the
// event only makes a state of its thread.
type Clause struct {
	Event int // which of Spec.Events
	Sets  []Assign
}

// Assign sets a local.
type Assign struct {
	Local int
	Value *Condition // an expression over what the event binds, tid and locals
}

// Prop is a declared proposition.
type Prop struct {
	Name string
	Expr syntax.Expr // arranged
	Span syntax.Span
	Used bool
}

// Property is a property of a specification, with its propositions by number.
type Property struct {
	Name    string
	Message string
	Text    string // its body as written
	Logic   syntax.Logic
	// Propositions: bit i of a letter is Propositions[i].
	Propositions []Proposition
	Vars         []int // which of Spec.Vars it mentions, ascending: their writes are relevant
	Events       []int // which of Spec.Events it mentions, ascending
	Formula      *ltl.Formula
	Regexp       *ere.Regexp
	Automaton    *monitor.Automaton
	Span         syntax.Span // of its name

	body  syntax.Span
	parts map[any]syntax.Span // of *ltl.Formula and *ere.Regexp
}

// Proposition is one of a property's.
type Proposition struct {
	Name  string      // of a declared proposition or event, or the expression
	Text  string      // the expression that it stands for; "" of an event
	Event int         // which of Spec.Events; -1 for one over variables
	Expr  syntax.Expr // arranged; nil of an event
	Vars  []int       // which of Spec.Vars it reads, ascending
}

// Check is an analysis that the specification requests.
type Check struct {
	Analysis string // races, deadlocks, misuse or atomicity
	Vars     []int  // of races, which of Spec.Vars
	Func     string // of atomicity
	Span     syntax.Span
}

const (
	atomicity    = "atomicity"
	notEvaluated = " is checked for names and types but not evaluated yet"
)

// NotEvaluated returns an error for each block for which there is no analysis yet. A run
// with such a specification is refused.
func (s *Spec) NotEvaluated() syntax.List {
	var out syntax.List
	say := func(at syntax.Span, what string) {
		out = append(out, &syntax.Diagnostic{Kind: syntax.NotEvaluated, Span: at,
			Message: what + notEvaluated + ": a run with it would find nothing"})
	}
	for _, c := range s.Checks {
		if c.Analysis == atomicity {
			say(c.Span, "check atomicity")
		}
	}
	for _, l := range s.Syncs {
		if l.Used && l.Class != "" {
			say(l.Span, "a lock by its class, "+l.Name)
		}
	}
	for _, d := range s.Typestates {
		say(d.Name.Span, "typestate "+d.Name.Text)
	}
	for _, d := range s.Formulas {
		say(d.Name.Span, "mttl "+d.Name.Text)
	}
	for _, d := range s.Scopes {
		say(d.Name.Span, "scope "+d.Name.Text)
	}
	return out
}
