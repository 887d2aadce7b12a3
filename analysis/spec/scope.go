package spec

import (
	"iter"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
	"github.com/tracepredict/tracepredict/analysis/spec/ir"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// Scope is a scope: checks of the regions of a run between synchronising actions.
type Scope struct {
	Name   string
	Sync   int // the index in Spec.Events of its synchronising actions
	Locals []LocalProperty
	// Sizes are the indices in Spec.Threads of the types of which an atom reads the number of threads.
	Sizes  []int
	Atoms  []ScopeAtom
	Checks []ScopeCheck
	Span   syntax.Span // of Name
	At     syntax.Span // where the synchronising event is named
	// Outer is the scope whose regions this one is of; nil: it is of the whole run. Inner are those of its own regions, which
	// come before it in Spec.Scopes.
	Outer *Scope
	Inner []*Scope
	// Counted: an atom of Outer reads its verdicts.
	Counted bool
}

// LocalProperty is a formula in LTL₃ over events of one thread.
type LocalProperty struct {
	Name   string
	Text   string // the formula, as written
	Type   int    // the index in Spec.Threads of its threads
	Events []int  // the indices in Spec.Events of its propositions
	// Across: the property continues after a synchronising action, which is its proposition len(Events).
	Across bool

	judged *Property
}

// ScopeAtom is a proposition over numbers of threads.
type ScopeAtom struct {
	Name string
	Text string // as written

	code *ir.Code
}

// ScopeCheck is a formula in LTL₃ over the atoms of a scope.
type ScopeCheck struct {
	Text    string // the formula, as written
	Message string // what its violation means; "" if the specification says nothing

	judged *Property
}

// Verdicts are the verdicts of local properties, as count takes them, in the order of the inputs of atoms.
var Verdicts = []string{"?", "T", "F", "na"}

// Holds computes an atom. Counts has, for each local property, the number of threads with each of Verdicts, for each inner
// scope the number of its checks with each of these, and then for each of Scope.Sizes the number of threads. An atom that divides by zero does not hold. Holds allocates nothing.
func (a *ScopeAtom) Holds(counts []uint64) bool {
	v, ok := a.code.Eval(counts)
	return ok && v != 0
}

// Inputs returns the number of counts that atoms read.
func (s *Scope) Inputs() int { return s.sizesAt() + len(s.Sizes) }

// sizesAt returns the index among the counts of the first size.
func (s *Scope) sizesAt() int { return (len(s.Locals) + len(s.Inner)) * len(Verdicts) }

// ScopeMonitors are the monitors of a scope's formulas.
type ScopeMonitors struct {
	Locals, Checks []*monitor.ThreeValued
}

// ScopeMonitors returns the monitors of a scope. If the problems have errors, they are nil.
func (s *Spec) ScopeMonitors(sc *Scope, o MonitorOptions) (*ScopeMonitors, syntax.List) {
	m := &ScopeMonitors{}
	var problems syntax.List
	three := func(p *Property) *monitor.ThreeValued {
		t, err := monitor.FromLTL3(p.Formula, monitor.Options{Limit: o.Limit})
		if err != nil {
			problems = append(problems, p.monitorError(err))
		}
		return t
	}
	for i := range sc.Locals {
		m.Locals = append(m.Locals, three(sc.Locals[i].judged))
	}
	for i := range sc.Checks {
		p := sc.Checks[i].judged
		t := three(p)
		m.Checks = append(m.Checks, t)
		if t != nil && !sc.Counted && !t.CanBeFalse() { // An outer scope may count the verdict true.
			problems = append(problems, &syntax.Diagnostic{Kind: syntax.NeverViolated, Warning: true, Span: p.body,
				Message: "this check of scope \"" + sc.Name + "\" can never be violated: no sequence of regions refutes it"})
		}
	}
	if problems.HasErrors() {
		return nil, problems
	}
	return m, problems
}

// scope resolves a scope, which declares its own local properties and atoms, after the scopes in it.
func (r *resolver) scope(d *syntax.Scope, outer *Scope) *Scope {
	s := &Scope{Name: d.Name.Text, Sync: r.find(d.Sync, kindEvent), Span: d.Name.Span, At: d.Sync.Span, Outer: outer}
	r.action(d, s)
	locals, atoms := map[string]int{}, map[string]int{}
	for i := range d.Locals {
		l := &d.Locals[i]
		if before, ok := locals[l.Name.Text]; ok {
			r.twice(l.Name, d.Locals[before].Name.Span)
		}
		locals[l.Name.Text] = i
		s.Locals = append(s.Locals, r.localProperty(d, l))
	}
	for _, in := range d.Inner {
		if at, ok := locals[in.Name.Text]; ok && at < len(d.Locals) {
			r.twice(in.Name, d.Locals[at].Name.Span)
		}
		locals[in.Name.Text] = len(d.Locals) + len(s.Inner)
		s.Inner = append(s.Inner, r.scope(in, s))
	}
	for i := range d.Atoms {
		a := &d.Atoms[i]
		if before, ok := atoms[a.Name.Text]; ok {
			r.twice(a.Name, d.Atoms[before].Name.Span)
		}
		atoms[a.Name.Text] = i
		s.Atoms = append(s.Atoms, r.scopeAtom(s, a, locals))
	}
	if len(d.Atoms) > MaxPropositions {
		r.tooLarge(d.Atoms[MaxPropositions].Name.Span, "the scope has %d atoms: at most %d", len(d.Atoms), MaxPropositions)
		return s
	}
	for i := range d.Checks {
		c := &d.Checks[i]
		judged := r.judged(d.Name.Text, &c.Formula, "atom", atoms)
		check := ScopeCheck{Text: oneLine(c.Formula), judged: judged}
		if c.Message != nil {
			check.Message = c.Message.Text
		}
		s.Checks = append(s.Checks, check)
	}
	if len(d.Checks) == 0 {
		r.warn(syntax.Doubtful, d.Name.Span, "scope %q has no check: it can never be violated", d.Name.Text)
	}
	r.Scopes = append(r.Scopes, s)
	return s
}

// action checks the synchronising action of a scope, as far as that is known before a run.
func (r *resolver) action(d *syntax.Scope, s *Scope) {
	if s.Sync < 0 {
		return
	}
	r.useEvent(s.Sync)
	if s.Outer != nil && s.Outer.Sync == s.Sync {
		r.problem(syntax.TypeMismatch, d.Sync.Span, "%q cuts the scope %q already: a scope in it has actions of its own, within one region", d.Sync.Text, s.Outer.Name)
	}
	if why := r.concurrent(&r.Events[s.Sync]); why != "" {
		r.warn(syntax.Doubtful, d.Sync.Span, "%q is %s, so that two threads can do it at once: a scope wants actions of which each comes after the one before", d.Sync.Text, why)
	}
}

// concurrent returns what lets the events of a declaration be concurrent; "" if nothing is known to.
func (r *resolver) concurrent(e *Event) string {
	switch e.Op {
	case syntax.OpAcquire, syntax.OpRelease:
		if e.Sync < 0 {
			return "of any lock"
		}
	case syntax.OpArrive:
		return "an arrival at a barrier, for which others do not wait"
	case syntax.OpStart, syntax.OpEnd:
		if e.Thread >= 0 && (r.Threads[e.Thread].Kind == syntax.ByStart || r.Threads[e.Thread].Kind == syntax.ByName) {
			return "the " + e.Op.String() + " of each thread of a type"
		}
	}
	return ""
}

// events yields the indices in Spec.Events that a scope mentions.
func (s *Scope) events() iter.Seq[*int] {
	return func(yield func(*int) bool) {
		if s.Sync >= 0 && !yield(&s.Sync) {
			return
		}
		for i := range s.Locals {
			for j := range s.Locals[i].Events {
				if s.Locals[i].Events[j] >= 0 && !yield(&s.Locals[i].Events[j]) {
					return
				}
			}
		}
	}
}

// oneLine returns the text of an expression without line breaks.
func oneLine(x syntax.Expr) string { return strings.Join(strings.Fields(syntax.SourceText(x)), " ") }

// localProperty resolves a local property, whose formula mentions only the property's own events and, if it continues across
// scopes, sync.
func (r *resolver) localProperty(d *syntax.Scope, l *syntax.LocalProperty) LocalProperty {
	out := LocalProperty{Name: l.Name.Text, Type: r.find(l.Type, kindThread), Across: l.Across}
	r.useThread(out.Type)
	events := map[string]int{}
	for i, n := range l.Events {
		events[n.Text] = i
		e := r.find(n, kindEvent)
		out.Events = append(out.Events, e)
		if e < 0 {
			continue
		}
		r.useEvent(e)
		if n.Text == d.Sync.Text {
			r.warn(syntax.Doubtful, n.Span, "%q cuts the scope: a synchronising action is in no region, so that the property never has the event", n.Text)
		}
		by := r.Events[e].By
		switch {
		case by < 0 || out.Type < 0 || by == out.Type:
		case r.disjoint(by, out.Type):
			r.problem(syntax.TypeMismatch, n.Span, "%q is of threads of type %q, and a property on %q reads what its own threads do: no thread has both types", n.Text, r.Threads[by].Name, l.Type.Text)
		default:
			r.warn(syntax.Doubtful, n.Span, "%q is of threads of type %q: those of %q have none, unless they are of both types", n.Text, r.Threads[by].Name, l.Type.Text)
		}
	}
	if l.Across {
		events["sync"] = len(l.Events)
	}
	if len(events) > MaxPropositions {
		r.tooLarge(l.Name.Span, "the property has %d events: at most %d", len(events), MaxPropositions)
		return out
	}
	out.judged = r.judged(l.Name.Text, &l.Formula, "event", events)
	out.Text = oneLine(l.Formula)
	return out
}

// disjoint reports whether no thread can have both of two types: their start routines have different names.
func (r *resolver) disjoint(a, b int) bool {
	x, y := &r.Threads[a], &r.Threads[b]
	fixed := func(t *Thread) bool { return t.Kind == syntax.ByStart && !strings.ContainsAny(t.Text, "*?[") }
	return fixed(x) && fixed(y) && x.Text != y.Text
}

// judged resolves a formula over names that the scope declares. The result has the formula alone, with its places in the
// text.
func (r *resolver) judged(name string, x *syntax.Expr, what string, names map[string]int) *Property {
	p := &Property{Name: name, Logic: syntax.LTL, Formula: ltl.Constant(true), body: (*x).Where(), parts: map[any]syntax.Span{}, Propositions: make([]Proposition, len(names))}
	for n, i := range names {
		p.Propositions[i] = Proposition{Name: n, Event: -1}
	}
	arranged, ok := r.arrange(*x)
	if !ok {
		return p
	}
	*x = arranged
	before := len(r.problems)
	newCompiler(&declared{r, what, names}).truth(arranged)
	if !r.problems[before:].HasErrors() {
		f := words{r, p, names}
		p.Formula = f.formula(arranged)
	}
	return p
}

// words makes formulas over names that stand for propositions.
type words struct {
	*resolver
	p     *Property
	names map[string]int
}

// formula makes a formula of an arranged expression that declared has accepted, and records its span.
func (w *words) formula(x syntax.Expr) *ltl.Formula {
	f := w.formulaOf(x)
	if _, ok := w.p.parts[f]; !ok {
		w.p.parts[f] = x.Where()
	}
	return f
}

func (w *words) formulaOf(x syntax.Expr) *ltl.Formula {
	if f := operation(x, w.formula); f != nil {
		return f
	}
	if x, ok := x.(*syntax.Ident); ok {
		return ltl.Proposition(w.names[x.Name.Text])
	}
	w.mismatch(x.Where(), "%q is no formula: names, joined by operators of logic and of time, are", syntax.SourceText(x))
	return ltl.Constant(true)
}

// scopeAtom resolves an atom of a scope, whose local properties are by name in locals.
func (r *resolver) scopeAtom(s *Scope, a *syntax.Prop, locals map[string]int) ScopeAtom {
	out := ScopeAtom{Name: a.Name.Text}
	if x, ok := r.arrange(a.Expr); ok {
		a.Expr = x
		out.code = newCompiler(&counts{r, s, locals}).code(x, true)
	}
	out.Text = oneLine(a.Expr)
	return out
}

// declared resolves the names in a formula of a scope: those that the scope declares itself, which
// are true or false. It only checks the formula; words makes the one that is run.
type declared struct {
	*resolver
	what  string // what the names are, for messages
	names map[string]int
}

func (d *declared) lookup(n syntax.Name) (int, value, bool) {
	at, ok := d.names[n.Text]
	return at, value{class: Bool, bits: 1}, ok
}

func (d *declared) proposition(syntax.Name) (syntax.Expr, bool) { return nil, false }

func (d *declared) constant(syntax.Name, syntax.Expr) (uint64, bool) { return 0, false }

func (d *declared) missing(n syntax.Name) {
	e, ok := d.resolver.names.entries[n.Text]
	if ok && d.what == "event" && (e.kind == kindVar || e.kind == kindProp) {
		d.problem(syntax.TypeMismatch, n.Span, "%q is not an event of one thread: other threads may change it. A local property reads what its own thread does, such as event e = write %s", n.Text, n.Text)
		return
	}
	d.unknownAmong(n, d.what, d.names)
}

func (d *declared) other(c *compiler, x syntax.Expr) (node, bool) { return c.temporal(x) }

// counts resolves the expression of an atom, which compares numbers of threads. No name has a value
// in it.
type counts struct {
	*resolver
	scope  *Scope
	locals map[string]int // its local properties, then its inner scopes
}

func (k *counts) lookup(syntax.Name) (int, value, bool) { return 0, value{}, false }

func (k *counts) proposition(syntax.Name) (syntax.Expr, bool) { return nil, false }

func (k *counts) constant(syntax.Name, syntax.Expr) (uint64, bool) { return 0, false }

func (k *counts) missing(n syntax.Name) {
	k.unknownAmong(n, "value", map[string]int{"count": 0, "size": 0, "any": 0, "all": 0})
}

// other compiles count, size, any and all.
func (k *counts) other(_ *compiler, x syntax.Expr) (node, bool) {
	n, ok := x.(*syntax.Count)
	if !ok {
		return node{}, false
	}
	if n.Func.Text == "size" {
		return node{class: Int, x: k.size(k.find(n.Of, kindThread))}, true
	}
	local, ok := k.locals[n.Of.Text]
	if !ok {
		k.unknownAmong(n.Of, "local property", k.locals)
		local = 0
	}
	in := k.inner(local)
	if in != nil {
		in.Counted = true
	}
	number := input(local*len(Verdicts) + slices.Index(Verdicts, n.Verdict))
	switch {
	case n.Func.Text == "any":
		return node{class: Bool, x: ir.Ne(number, ir.Const(ir.Int, 0))}, true
	case n.Func.Text == "all" && in != nil:
		return node{class: Bool, x: ir.Eq(number, ir.Const(ir.Int, uint64(len(in.Checks))))}, true
	case n.Func.Text == "all":
		of := -1
		if local < len(k.scope.Locals) {
			of = k.scope.Locals[local].Type
		}
		return node{class: Bool, x: ir.Eq(number, k.size(of))}, true
	}
	return node{class: Int, x: number}, true
}

// inner returns the inner scope whose verdicts are counted; nil if those of a local property are.
func (k *counts) inner(local int) *Scope {
	if i := local - len(k.scope.Locals); i >= 0 && i < len(k.scope.Inner) {
		return k.scope.Inner[i]
	}
	return nil
}

// size returns the number of threads of a type; of -1, which is an error, some number.
func (k *counts) size(typ int) *ir.Expr {
	if typ < 0 {
		return bad.x
	}
	k.useThread(typ)
	at := slices.Index(k.scope.Sizes, typ)
	if at < 0 {
		at = len(k.scope.Sizes)
		k.scope.Sizes = append(k.scope.Sizes, typ)
	}
	return input(k.scope.sizesAt() + at)
}

// input returns a count that an atom reads.
func input(at int) *ir.Expr { return ir.Input(at, ir.Form{Type: ir.Int, Bits: 64, Sign: true}) }
