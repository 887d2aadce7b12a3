package spec

import (
	"sync/atomic"

	"github.com/tracepredict/tracepredict/analysis/spec/ir"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Letters computes the letters of one property. Any number of goroutines may share it.
type Letters struct {
	code   []step        // by proposition
	faults atomic.Uint64 // propositions that divided by zero
}

// step computes one proposition.
type step struct {
	code  *ir.Code // nil for an event
	event uint64   // for an event: its bit in the mask of events
	bit   uint64   // its bit in the letter
}

// Letters returns the computation of a property's letters. Forms has, for each of s.Vars, the
// form of its values in the program. Nil forms, or a nil form, mean the declared type, in 64
// bits. The problems are types and constants of enumerations that do not fit the program.
func (s *Spec) Letters(p *Property, forms []*event.Form) (*Letters, syntax.List) {
	r := &resolver{Spec: s}
	st := &state{resolver: r, forms: forms, formsKnown: true}
	st.checkTypes(p.Vars)
	out := &Letters{code: make([]step, len(p.Propositions))}
	c := newCompiler(st)
	for i, prop := range p.Propositions {
		out.code[i].bit = 1 << i
		if prop.Event >= 0 {
			out.code[i].event = 1 << prop.Event
			continue
		}
		out.code[i].code = c.code(prop.Expr, true)
	}
	if r.problems.HasErrors() {
		return nil, r.problems
	}
	return out, r.problems
}

// Letter returns the letter of a state: bit i is set if proposition i holds. Values[i] is the
// value of s.Vars[i], as in event.Event. Bit i of events is set if the event that led to the
// state matches s.Events[i]; events is 0 for the initial state. Values that the property does
// not read may be anything. Letter retains and allocates nothing. A division by zero makes its
// proposition false, and is counted.
func (l *Letters) Letter(values []uint64, events uint64) uint64 {
	var letter uint64
	for i := range l.code {
		c := &l.code[i]
		if c.code == nil {
			if events&c.event != 0 {
				letter |= c.bit
			}
			continue
		}
		v, ok := c.code.Eval(values)
		if !ok {
			l.faults.Add(1)
		} else if v != 0 {
			letter |= c.bit
		}
	}
	return letter
}

// Faults returns the number of propositions that were false because of a division by zero.
func (l *Letters) Faults() uint64 { return l.faults.Load() }

// checkTypes compares the declared types of variables with their forms.
func (s *state) checkTypes(vars []int) {
	for _, i := range vars {
		v, f := s.Vars[i], s.form(i)
		if f == nil {
			continue
		}
		if f.Class == event.FormFloat && f.Bits != 32 && f.Bits != 64 {
			s.problem(syntax.TypeMismatch, v.Span, "%q is a float of %d bits, which cannot be computed with", v.Name, f.Bits)
		}
		if got := classOf(f); v.Type != Unknown && got != v.Type {
			s.problem(syntax.TypeMismatch, v.Span, "%q is declared %s, and the program's %s is %s", v.Name, v.Type, v.Path, aForm(got))
		}
	}
}

// aForm returns the type of a form for messages.
func aForm(c Class) string {
	switch c {
	case Int:
		return "an integer with a sign (int)"
	case Uint:
		return "an integer without sign (uint)"
	case Enum:
		return "an enumeration (enum)"
	case Ptr:
		return "a pointer (ptr)"
	}
	return "a " + c.String()
}
