package spec

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// maxProtocolStates is the number of states that the automaton of an expression over calls may have.
const maxProtocolStates = 1 << 12

// protocolExpression resolves the expression of a typestate, and makes its states: those of the smallest automaton in which
// a call has no transition if no continuation keeps to the expression then.
func (r *resolver) protocolExpression(t *Typestate, d *syntax.Typestate, calls map[string]int) {
	reading := monitor.GoodWords
	if d.Bad {
		reading = monitor.BadWords
	}
	t.Text = d.Whole.Text()
	if len(d.States) > 0 {
		r.problem(syntax.Syntax, d.States[0].Name.Span, "state %q beside an expression: a typestate has states, or one expression in their place", d.States[0].Name.Text)
		return
	}
	earlier := len(r.problems)
	parts := map[any]syntax.Span{}
	regexp := regexps{func(x *syntax.Letter) ere.Cube { return r.callCube(x, calls) }, parts}.of(d.Regex)
	if r.problems[earlier:].HasErrors() {
		return
	}
	automaton, err := monitor.SingleFromERE(regexp, len(t.Calls), reading, monitor.Options{Limit: maxProtocolStates})
	var size *monitor.SizeError
	switch {
	case errors.As(err, &size):
		r.expressionTooLarge(t, d, parts, size)
		return
	case err != nil:
		r.problem(syntax.Syntax, d.Whole, "typestate %q: %v", t.Name, err)
		return
	}
	t.States = statesOf(automaton)
	r.warnExpression(t, d)
}

// expressionTooLarge reports that the automaton of an expression has too many states, at the part that makes it grow.
func (r *resolver) expressionTooLarge(t *Typestate, d *syntax.Typestate, parts map[any]syntax.Span, size *monitor.SizeError) {
	at := d.Whole
	if part, ok := parts[size.Part]; ok {
		at = part
	}
	r.tooLarge(at, "the automaton of typestate %q would have more than %d states: %q makes it grow", t.Name, size.Limit, at.Text())
}

// callCube returns the calls that a letter of an expression stands for.
func (r *resolver) callCube(x *syntax.Letter, calls map[string]int) (c ere.Cube) {
	for _, l := range x.Literals {
		i, known := calls[l.Name.Text]
		switch {
		case !known:
			r.unknownAmong(l.Name, "event", calls)
		case l.Not:
			c.False |= 1 << i
		default:
			c.True |= 1 << i
		}
	}
	if c.True&c.False != 0 || c.True&(c.True-1) != 0 {
		r.warn(syntax.Doubtful, x.Span, "no call is in this letter: a call has one name of the block")
	}
	return c
}

// statesOf returns the states of an automaton over calls.
func statesOf(a *monitor.Single) (states []ProtocolState) {
	for i, row := range a.Next {
		s := ProtocolState{Name: "s" + strconv.Itoa(i), Next: make([][]int, len(row))}
		for c, to := range row {
			if to != monitor.NoState {
				s.Next[c] = []int{to}
			}
		}
		states = append(states, s)
	}
	return states
}

// warnExpression warns of an expression that every call breaks, or none.
func (r *resolver) warnExpression(t *Typestate, d *syntax.Typestate) {
	none, all := true, true
	for i, s := range t.States {
		for c := range s.Next {
			all = all && len(s.Next[c]) > 0
			none = none && (i > 0 || len(s.Next[c]) == 0)
		}
	}
	switch {
	case len(t.States) == 0:
		r.problem(syntax.AlwaysViolated, d.Whole, "the expression allows nothing, so that every object would break typestate %q, used or not", t.Name)
	case none:
		r.warn(syntax.AlwaysViolated, d.Whole, "typestate %q is broken by the first call of every object", t.Name)
	case all:
		r.warn(syntax.NeverViolated, d.Whole, "typestate %q can never be broken", t.Name)
	}
}

// StateText returns a state as a block writes it, without the word before it: its name and its transitions.
func (t *Typestate) StateText(i int) string {
	var edges []string
	for c, next := range t.States[i].Next {
		for _, to := range next {
			edges = append(edges, t.Calls[c].Name+" -> "+t.States[to].Name)
		}
	}
	if len(edges) == 0 {
		return t.States[i].Name + " { }"
	}
	return t.States[i].Name + " { " + strings.Join(edges, "; ") + " }"
}

// WriteDOT draws the automaton of the typestate for Graphviz. A call without an edge breaks the protocol.
func (t *Typestate) WriteDOT(w io.Writer) error {
	var states []monitor.AutomatonState
	for _, s := range t.States {
		state := monitor.AutomatonState{Name: s.Name}
		for c, next := range s.Next {
			for _, to := range next {
				state.Edges = append(state.Edges, monitor.Edge{Guard: ere.Cube{True: 1 << c}, To: to})
			}
		}
		states = append(states, state)
	}
	if len(states) == 0 {
		return nil // what mine learns from
	}
	a, err := monitor.NewAutomaton(states)
	if err != nil {
		return err
	}
	return a.WriteDOT(w, t.Name, func(i int) string { return t.Calls[i].Name })
}
