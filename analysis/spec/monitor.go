package spec

import (
	"errors"
	"fmt"
	"io"

	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// MonitorOptions configure how monitors are made. The zero value is useful.
type MonitorOptions struct {
	// Limit is the number of states that a monitor may have; 0 is monitor.DefaultLimit.
	Limit int
	// Partial accepts formulas that are not safety properties. Monitor.Unreported then names
	// what their monitors never report.
	Partial bool
}

// Monitor is the monitor of a property.
type Monitor struct {
	monitor.Monitor
	// Unreported lists the parts of a formula whose violation no finite run shows (see
	// MonitorOptions.Partial).
	Unreported []string

	deterministic *monitor.Deterministic // nil for an automaton that the user wrote
	automaton     *monitor.Automaton     // nil for a deterministic monitor
	p             *Property
}

// Monitor returns the monitor of a property. If the problems have errors, the monitor is nil.
// Warnings are about properties that no run or every run violates, and about propositions that
// never or always hold.
func (s *Spec) Monitor(p *Property, o MonitorOptions) (*Monitor, syntax.List) {
	m := &Monitor{p: p}
	var parts []monitor.Eventuality
	var err error
	opts := monitor.Options{Limit: o.Limit, Partial: o.Partial}
	switch p.Logic {
	case syntax.LTL:
		m.deterministic, parts, err = monitor.FromLTL(p.Formula, opts)
	case syntax.EREBad:
		m.deterministic, err = monitor.FromERE(p.Regexp, monitor.BadWords, opts)
	case syntax.EREGood:
		m.deterministic, err = monitor.FromERE(p.Regexp, monitor.GoodWords, opts)
	default:
		m.automaton, m.Monitor = p.Automaton, p.Automaton
	}
	if err != nil {
		return nil, syntax.List{p.monitorError(err)}
	}
	if m.deterministic != nil {
		m.Monitor = m.deterministic
	}
	for _, e := range parts {
		m.Unreported = append(m.Unreported, e.Text(p.name))
	}
	problems := m.warnings()
	return m, append(problems, s.impossible(p, m, len(problems) > 0)...)
}

// name returns the name of the i-th proposition.
func (p *Property) name(i int) string { return p.Propositions[i].Name }

// monitorError returns the error that no monitor can be made, at the part of the property that
// is the cause.
func (p *Property) monitorError(err error) *syntax.Diagnostic {
	d := &syntax.Diagnostic{Kind: syntax.Syntax, Span: p.body, Message: fmt.Sprintf("property %q: %v", p.Name, err)}
	var liveness *monitor.NotSafetyError
	var future *monitor.FutureUnderPastError
	var size *monitor.SizeError
	switch {
	case errors.As(err, &liveness):
		d.Kind = syntax.NotSafety
		d.Span = p.spanOf(liveness.Formula)
		d.Message = fmt.Sprintf("property %q is not a safety property: no finite run violates %q", p.Name, liveness.Text(p.name))
		d.Notes = []string{"--partial accepts it, and reports the violations that a finite run can show"}
	case errors.As(err, &future):
		d.Kind = syntax.FutureUnderPast
		d.Span = p.spanOf(future.Future)
		d.Message = fmt.Sprintf("a future operator under a past one: %q in %q", future.Future.Text(p.name), future.Past.Text(p.name))
	case errors.As(err, &size):
		d.Kind = syntax.TooLarge
		d.Message = fmt.Sprintf("the monitor of property %q would have more than %d states", p.Name, size.Limit)
		if size.Part != nil {
			d.Span = p.spanOf(size.Part)
			d.Message += fmt.Sprintf(": %q makes it grow", p.text(size.Part))
		}
	}
	return d
}

// spanOf returns the span of a part of the property, or of the whole if that is not known.
func (p *Property) spanOf(part any) syntax.Span {
	if at, ok := p.parts[part]; ok {
		return at
	}
	return p.body
}

// text returns the text of a part of the property.
func (p *Property) text(part fmt.Stringer) string {
	switch part := part.(type) {
	case *ltl.Formula:
		return part.Text(p.name)
	case *ere.Regexp:
		return part.Text(p.name)
	}
	return part.String()
}

// warnings returns a warning if no word violates the property, or if every first letter does.
func (m *Monitor) warnings() syntax.List {
	warn := func(kind syntax.Kind, format string) syntax.List {
		return syntax.List{{Kind: kind, Warning: true, Span: m.p.body, Message: fmt.Sprintf(format, m.p.Name)}}
	}
	word, ok := m.shortestBad()
	switch {
	case !ok:
		return warn(syntax.NeverViolated, "property %q can never be violated")
	case len(word) <= 1 && m.violatedAtOnce():
		return warn(syntax.AlwaysViolated, "property %q is violated by the first state of every run")
	}
	return nil
}

// maxSubsets bounds the number of subsets of an automaton's states that are examined for a
// warning.
const maxSubsets = 1000

// violatedAtOnce reports whether every word of one letter is bad. For an automaton it returns
// false if there are more than maxSubsets subsets.
func (m *Monitor) violatedAtOnce() bool {
	if m.deterministic != nil {
		return m.deterministic.ViolatedAtOnce()
	}
	d, err := m.automaton.Determinise(monitor.Options{Limit: maxSubsets})
	return err == nil && d.ViolatedAtOnce()
}

// States returns the number of states.
func (m *Monitor) States() int {
	if m.deterministic != nil {
		return m.deterministic.States()
	}
	return len(m.automaton.States())
}

// isDeterministic reports whether the monitor is in one state at a time.
func (m *Monitor) isDeterministic() bool { return m.deterministic != nil }

// size returns the number of inner nodes of the decision diagrams of a deterministic monitor, or
// the number of edges of an automaton that the user wrote.
func (m *Monitor) size() int {
	if m.deterministic != nil {
		return m.deterministic.Choices()
	}
	n := 0
	for _, s := range m.automaton.States() {
		n += len(s.Edges)
	}
	return n
}

// WriteDOT draws the monitor for Graphviz.
func (m *Monitor) WriteDOT(w io.Writer) error {
	if m.deterministic != nil {
		return m.deterministic.WriteDOT(w, m.p.Name, m.p.name)
	}
	return m.automaton.WriteDOT(w, m.p.Name, m.p.name)
}

// shortestBad returns a word of the fewest letters that violates the property, as if
// propositions were independent of each other; false if there is none. Propositions whose value
// makes no difference do not hold in it.
func (m *Monitor) shortestBad() ([]monitor.Letter, bool) {
	if m.deterministic != nil {
		return m.deterministic.ShortestBad()
	}
	return m.automaton.ShortestBad()
}
