package spec

import (
	"iter"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// body makes the propositions of one property, and its formula, expression or automaton.
type body struct {
	*resolver
	p       *Property
	index   map[string]int // by text: the index in p.Propositions
	tooMany bool           // the error that there are too many propositions was reported
	earlier int            // number of problems before those of this property
}

// property resolves a property.
func (r *resolver) property(d *syntax.Property) {
	p := &Property{Name: d.Name.Text, Logic: d.Logic, Text: d.Span.Text(), Span: d.Name.Span, body: d.Span, parts: map[any]syntax.Span{}}
	if d.Message != nil {
		p.Message = d.Message.Text
	}
	b := &body{resolver: r, p: p, index: map[string]int{}, earlier: len(r.problems)}
	r.of = d.Of
	defer func() { r.of = nil }()
	switch d.Logic {
	case syntax.LTL:
		if x, ok := r.arrange(d.Formula); ok {
			b.fieldsIn(x)
			p.Formula = b.formula(x)
		}
	case syntax.EREBad, syntax.EREGood:
		p.Regexp = b.regexp(d.Regex)
	case syntax.Automaton:
		b.automaton(d)
	}
	b.mentions()
	b.parameter(d.Of)
	r.Properties = append(r.Properties, p)
}

// mentions collects the variables and events that the property mentions, and marks them as
// used.
func (b *body) mentions() {
	vars, events := map[int]bool{}, map[int]bool{}
	for _, p := range b.p.Propositions {
		for _, v := range p.Vars {
			vars[v] = true
			b.Vars[v].Used = true
		}
		if p.Event >= 0 {
			events[p.Event] = true
			b.useEvent(p.Event)
		}
	}
	b.p.Vars, b.p.Events = slices.Sorted(maps.Keys(vars)), slices.Sorted(maps.Keys(events))
}

// proposition returns the index of the proposition with a text. If there is none yet, it adds
// one, which fill completes.
func (b *body) proposition(text string, at syntax.Span, fill func(p *Proposition)) int {
	if i, ok := b.index[text]; ok {
		return i
	}
	if len(b.p.Propositions) == MaxPropositions {
		if !b.tooMany {
			b.problem(syntax.TooLarge, at, "property %q has more than %d propositions", b.p.Name, MaxPropositions)
		}
		b.tooMany = true
		return 0
	}
	p := Proposition{Name: text, Event: -1}
	fill(&p)
	b.index[text] = len(b.p.Propositions)
	b.p.Propositions = append(b.p.Propositions, p)
	return len(b.p.Propositions) - 1
}

// named returns the index of the proposition that a name is: a declared one, an event, or a
// variable that is true or false. It returns false after an error.
func (b *body) named(n syntax.Name) (int, bool) {
	b.field(&n)
	e, ok := b.names.entries[n.Text]
	if !ok {
		b.unknown(n, kindProp, kindEvent, kindVar)
		return 0, false
	}
	switch e.kind {
	case kindProp:
		return b.proposition(n.Text, n.Span, func(p *Proposition) {
			p.Expr, p.Text = &syntax.Ident{Name: n}, syntax.SourceText(b.Props[e.index].Expr)
			p.Vars = b.reads(p.Expr)
		}), true
	case kindEvent:
		return b.proposition(n.Text, n.Span, func(p *Proposition) { p.Event = e.index }), true
	case kindVar:
		return b.expression(&syntax.Ident{Name: n})
	case kindLocal:
		b.problem(syntax.TypeMismatch, n.Span, "%q is a local variable: those are for when and mttl alone", n.Text)
	default:
		b.problem(syntax.TypeMismatch, n.Span, "%q is %s, not something true or false", n.Text, kindNames[e.kind])
	}
	return 0, false
}

// expression returns the index of the proposition that an expression over the state is. It
// returns false after an error.
func (b *body) expression(x syntax.Expr) (int, bool) {
	before := len(b.problems)
	newCompiler(&state{resolver: b.resolver}).code(x, true)
	if len(b.problems) > before && b.problems[before:].HasErrors() {
		return 0, false
	}
	text := syntax.SourceText(unparen(x))
	return b.proposition(text, x.Where(), func(p *Proposition) {
		p.Expr, p.Text, p.Vars = x, text, b.reads(x)
	}), true
}

var ltlOps = map[syntax.Operator]ltl.Op{
	syntax.Iff: ltl.Iff, syntax.Implies: ltl.Implies, syntax.Xor: ltl.Xor, syntax.Or: ltl.Or, syntax.LogicalAnd: ltl.And,
	syntax.Until: ltl.Until, syntax.WeakUntil: ltl.WeakUntil, syntax.Release: ltl.Release, syntax.StrongRelease: ltl.StrongRelease,
	syntax.Since: ltl.Since, syntax.WeakSince: ltl.WeakSince,
	syntax.LogicalNot: ltl.Not, syntax.Always: ltl.Always, syntax.Eventually: ltl.Eventually, syntax.Next: ltl.Next, syntax.Prev: ltl.Prev,
	syntax.StrongPrev: ltl.Yesterday, syntax.WeakPrev: ltl.WeakPrev, syntax.Once: ltl.Once, syntax.Historically: ltl.Historically,
	syntax.Start: ltl.Start, syntax.End: ltl.End,
}

// formula makes a formula of an arranged expression, and records its span. A part with an error
// becomes true.
func (b *body) formula(x syntax.Expr) *ltl.Formula {
	f := b.formulaOf(x)
	if _, ok := b.p.parts[f]; !ok {
		b.p.parts[f] = x.Where()
	}
	return f
}

func (b *body) formulaOf(x syntax.Expr) *ltl.Formula {
	if f := operation(x, b.formula); f != nil {
		return f
	}
	switch x := x.(type) {
	case *syntax.Ident:
		return atom(b.named(x.Name))
	case *syntax.Binary:
		if inner := b.temporal(x); inner != nil {
			b.problem(syntax.TypeMismatch, inner.Where(), "%s compares values, and %q is a formula", x.Op, syntax.SourceText(inner))
			return ltl.Constant(true)
		}
	}
	if value, ok := b.constant(x); ok {
		b.warn(syntax.Doubtful, x.Where(), "%q is always %v", syntax.SourceText(x), value)
		return ltl.Constant(value)
	}
	return atom(b.expression(x))
}

// operation makes a formula of an arranged expression that is an operation of logic or time, parenthesised, or a constant,
// and nil of others. Of makes formulas of its operands.
func operation(x syntax.Expr, of func(syntax.Expr) *ltl.Formula) *ltl.Formula {
	switch x := x.(type) {
	case *syntax.Paren:
		return of(x.X)
	case *syntax.Bool:
		return ltl.Constant(x.Value)
	case *syntax.Interval:
		op := ltl.Interval
		if x.Weak {
			op = ltl.WeakInterval
		}
		return ltl.Binary(op, of(x.F), of(x.G))
	case *syntax.Unary:
		if op, ok := ltlOps[x.Op]; ok {
			return ltl.Unary(op, of(x.X))
		}
	case *syntax.Binary:
		if op, ok := ltlOps[x.Op]; ok {
			left := of(x.X)
			return ltl.Binary(op, left, of(x.Y))
		}
	}
	return nil
}

// constant returns the value of an expression without names; false if it has names, or no
// value.
func (b *body) constant(x syntax.Expr) (value, ok bool) {
	names := false
	walk(x, func(syntax.Name) { names = true })
	if names {
		return false, false
	}
	r := &resolver{Spec: b.Spec}
	code := newCompiler(&state{resolver: r}).code(x, true)
	if r.problems.HasErrors() {
		return false, false
	}
	v, known := code.Eval(nil)
	return v != 0, known
}

// atom returns the formula of a proposition, or true if there is none.
func atom(i int, ok bool) *ltl.Formula {
	if !ok {
		return ltl.Constant(true)
	}
	return ltl.Proposition(i)
}

// temporal returns the first part of an expression that is a temporal operation, nil if there is
// none.
func (b *body) temporal(x syntax.Expr) syntax.Expr {
	switch x := x.(type) {
	case *syntax.Paren:
		return b.temporal(x.X)
	case *syntax.Interval:
		return x
	case *syntax.Unary:
		if x.Op.IsTemporal() {
			return x
		}
		return b.temporal(x.X)
	case *syntax.Binary:
		if x.Op.IsTemporal() {
			return x
		}
		if inner := b.temporal(x.X); inner != nil {
			return inner
		}
		return b.temporal(x.Y)
	}
	return nil
}

// regexp makes a regular expression over letters, and records its span.
func (b *body) regexp(x syntax.Regex) *ere.Regexp {
	return regexps{b.cube, b.p.parts}.of(x)
}

// regexps makes regular expressions of their text.
type regexps struct {
	cube  func(*syntax.Letter) ere.Cube
	parts map[any]syntax.Span // gets where each part is written
}

func (m regexps) of(x syntax.Regex) *ere.Regexp {
	r := m.make(x)
	m.parts[r] = x.Where()
	return r
}

func (m regexps) make(x syntax.Regex) *ere.Regexp {
	switch x := x.(type) {
	case *syntax.Letter:
		return ere.One(m.cube(x))
	case *syntax.Cat:
		return ere.Sequence(m.all(x.Parts)...)
	case *syntax.Alt:
		return ere.Either(m.all(x.Parts)...)
	case *syntax.And:
		return ere.Both(m.all(x.Parts)...)
	case *syntax.Not:
		return ere.Not(m.of(x.X))
	case *syntax.Repeat:
		maximum := x.Max
		if maximum < 0 {
			maximum = ere.Unbounded
		}
		return ere.Times(m.of(x.X), x.Min, maximum)
	case *syntax.Epsilon:
		return ere.EmptyWord()
	}
	return ere.None()
}

func (m regexps) all(parts []syntax.Regex) []*ere.Regexp {
	out := make([]*ere.Regexp, len(parts))
	for i, p := range parts {
		out[i] = m.of(p)
	}
	return out
}

// cube returns the literals of a letter as bits.
func (b *body) cube(x *syntax.Letter) ere.Cube {
	var c ere.Cube
	for _, l := range x.Literals {
		i, ok := b.named(l.Name)
		switch {
		case !ok:
		case l.Not:
			c.False |= 1 << i
		default:
			c.True |= 1 << i
		}
	}
	if c.True&c.False != 0 {
		b.warn(syntax.Doubtful, x.Span, "no state is in this letter: it has a proposition and its negation")
	}
	return c
}

// automaton makes the automaton of a property. It adds warnings about states that no word
// reaches, and about transitions out of bad states.
func (b *body) automaton(d *syntax.Property) {
	index := b.states(d.States)
	states := make([]monitor.AutomatonState, len(d.States))
	for i, s := range d.States {
		states[i] = monitor.AutomatonState{Name: s.Name.Text, Bad: s.Bad, Final: s.Final}
		for _, e := range s.Edges {
			cube := b.cube(e.Letter)
			if to, ok := b.target(index, e.To); ok {
				states[i].Edges = append(states[i].Edges, monitor.Edge{Guard: cube, To: to})
			}
		}
		if s.Bad && len(s.Edges) > 0 {
			b.warn(syntax.Doubtful, s.Name.Span, "%q is bad and never left: its transitions are not used", s.Name.Text)
		}
	}
	if b.problems[b.earlier:].HasErrors() {
		return
	}
	a, err := monitor.NewAutomaton(states)
	if err != nil {
		b.problem(syntax.TooLarge, d.Span, "property %q: %v", d.Name.Text, err)
		return
	}
	for _, i := range a.Unreachable() {
		b.warn(syntax.Unreachable, d.States[i].Name.Span, "no word leads to state %q", d.States[i].Name.Text)
	}
	b.p.Automaton = a
}

// states returns the index of each state by its name.
func (r *resolver) states(states []syntax.State) map[string]int {
	index := map[string]int{}
	for i, s := range states {
		if before, ok := index[s.Name.Text]; ok {
			r.twice(s.Name, states[before].Name.Span)
			continue
		}
		index[s.Name.Text] = i
	}
	return index
}

// target returns the index of the state that a transition leads to; false after an error.
func (r *resolver) target(index map[string]int, to syntax.Name) (int, bool) {
	i, ok := index[to.Text]
	if !ok {
		r.problem(syntax.UnknownName, to.Span, "there is no state %q%s", to.Text, didYouMean(to.Text, maps.Keys(index)))
	}
	return i, ok
}

// didYouMean returns the end of a message about an unknown name: the most similar one of the
// names, or "" if none is similar.
func didYouMean(name string, names iter.Seq[string]) string {
	if near := syntax.Nearest(name, slices.Collect(names)); near != "" {
		return "; did you mean \"" + near + "\"?"
	}
	return ""
}
