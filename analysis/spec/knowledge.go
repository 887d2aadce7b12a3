package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/knowledge"
	"github.com/tracepredict/tracepredict/analysis/spec/ir"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Formula is a formula of MtTL, on what threads know of one another.
type Formula struct {
	Name    string
	Message string
	Text    string      // as written
	Span    syntax.Span // of Name
	Vars    []int       // the indices in Spec.Vars of knowledge.Formula.Variables
	Events  []int       // the indices in Spec.Events that it mentions, or whose assignments its locals depend on
	// Declared and Types have the indices in Spec.Threads of knowledge.Formula's declared
	// threads, and of its types of threads.
	Declared, Types []int
	// Ready: it is that of a check, whose parts are declared in no file of the user.
	Ready bool
	// EachEvent: a thread has a new state after each of its events, whatever the formula mentions.
	EachEvent bool
	// Beyond has, in words, what the verdict depends on besides causality: runs of the same causal order may differ in it.
	Beyond []string
	// Block has the indices in Spec.Events of entering and leaving the block that the formula of `check atomicity` is about;
	// nil: it is another formula.
	Block *[2]int

	x syntax.Expr // arranged
}

// maxThreads is the largest number of threads that a formula names.
const maxThreads = 48

// knower makes the bodies of a formula.
type knower struct {
	state
	f        *Formula
	out      *knowledge.Formula
	codes    []knowledge.Code
	declared map[string]int // by name: the number of a thread
	bound    map[string]int // likewise, of those bound here
	body     *knowledge.Body
	ofBody   []syntax.Name // the threads that @ has led to, innermost last
}

// formula checks the formula of an mttl block, and marks what it uses.
func (r *resolver) formula(d *syntax.MTTL) {
	x, ok := r.arrange(d.Formula)
	if !ok {
		return
	}
	f := &Formula{Name: d.Name.Text, Text: d.Formula.Where().Text(), Span: d.Name.Span, EachEvent: d.EachEvent, x: x}
	if d.Message != nil {
		f.Message = d.Message.Text
	}
	if source := d.Formula.Where().Src; source != d.Name.Span.Src {
		f.Ready, f.Text = true, source.Name
	}
	before := len(r.problems)
	k := r.knower(f, nil)
	k.formula()
	if r.problems[before:].HasErrors() {
		return
	}
	f.Vars = k.f.Vars
	r.mentions(f)
	f.Block = r.blockOf(f)
	f.Beyond = r.beyond(f)
	for i := range r.Vars { // What the threads know passes through all of them.
		r.Vars[i].Used = true
	}
	for _, i := range append(slices.Clone(f.Declared), f.Types...) {
		r.useThread(i)
	}
	r.Formulas = append(r.Formulas, f)
}

// beyond returns what a formula depends on besides causality: the order in which threads begin that nothing orders. The ready
// formulas have the same verdicts all the same, since a thread that has not begun knows of no block.
func (r *resolver) beyond(f *Formula) (out []string) {
	if f.Ready {
		return nil
	}
	for _, i := range f.Declared {
		if t := &r.Threads[i]; t.Kind == syntax.NthOf {
			out = append(out, fmt.Sprintf("which thread %s is, by the order in which threads begin", t.Name))
		}
	}
	numbered, bound := false, 0
	walk(f.x, func(n syntax.Name) {
		_, declared := r.names.entries[n.Text]
		numbered = numbered || n.Text == "tid" && !declared
	})
	var count func(x syntax.Expr)
	count = func(x syntax.Expr) {
		if q, ok := x.(*syntax.Quantified); ok {
			bound += len(q.Vars)
		}
		parts(x, count)
	}
	if count(f.x); numbered {
		out = append(out, "tid, by which threads are numbered in the order in which they begin")
	}
	if bound > 1 {
		out = append(out, "whether both of two bound threads have begun, as earlier states are not looked at")
	}
	return out
}

// Knowledge returns a formula with its codes. Forms has, for each of s.Vars, the form of its
// values in the program, as far as it is known. With nil, constants of enumerations have no value yet. The
// formula does not depend on the forms. The problems are types and constants of enumerations that do not fit.
func (s *Spec) Knowledge(f *Formula, forms []*event.Form) (*knowledge.Formula, []knowledge.Code, syntax.List) {
	r := &resolver{Spec: s}
	own := *f
	own.Vars, own.Declared, own.Types = nil, nil, nil
	k := r.knower(&own, forms)
	if k.formsKnown {
		k.checkTypes(f.Vars)
	}
	k.formula()
	return k.out, k.codes, r.problems
}

func (r *resolver) knower(f *Formula, forms []*event.Form) *knower {
	return &knower{
		state: state{resolver: r, forms: forms, formsKnown: forms != nil}, f: f,
		out:      &knowledge.Formula{Name: f.Name, Message: f.Message, Beyond: f.Beyond, Locals: len(r.Locals)},
		declared: map[string]int{}, bound: map[string]int{},
	}
}

// mentions collects the events that a formula mentions, and those that set the local variables
// that it reads, directly or by the assignments to these.
func (r *resolver) mentions(f *Formula) {
	events, locals := map[int]bool{}, map[int]bool{}
	var read func(n syntax.Name)
	read = func(n syntax.Name) {
		switch e := r.names.entries[n.Text]; e.kind {
		case kindEvent:
			events[e.index] = true
		case kindLocal:
			if !locals[e.index] {
				locals[e.index] = true
				r.settersOf(e.index, events, read)
			}
		}
	}
	walk(f.x, read)
	f.Events = slices.Sorted(maps.Keys(events))
	for _, i := range f.Events {
		r.useEvent(i)
	}
}

// settersOf adds the events on which a local variable is set, or that its block names, and calls
// read for what they read.
func (r *resolver) settersOf(local int, events map[int]bool, read func(syntax.Name)) {
	for i, d := range r.locals {
		for j, on := range d.On {
			if j >= len(r.Locals[i].On) {
				break // After an error.
			}
			sets := slices.ContainsFunc(r.Locals[i].On[j].Sets, func(a Assign) bool { return a.Local == local })
			if i != local && !sets {
				continue
			}
			events[r.Locals[i].On[j].Event] = true
			for _, a := range on.Sets {
				if tree, problems := syntax.Arrange(a.Value, r.isNumber); !problems.HasErrors() {
					walk(tree, read)
				}
			}
		}
	}
}

// formula makes the formula: one or several, joined by &&, of the form @t F, for all threads that
// a forall before them binds.
func (k *knower) formula() {
	k.declare(k.f.x)
	k.out.Declared = len(k.f.Declared)
	k.top(k.f.x, nil, nil)
	for _, v := range k.f.Vars {
		k.out.Variables = append(k.out.Variables, k.Vars[v].Name)
	}
	k.out.Types = len(k.f.Types)
	if n := len(k.out.Bound); n > knowledge.MaxBound {
		k.tooLarge(k.f.Span, "forall and exists bind %d threads: at most %d", n, knowledge.MaxBound)
	}
	if n := len(k.f.Declared); n > maxThreads {
		k.tooLarge(k.f.Span, "the formula names %d threads: at most %d", n, maxThreads)
	}
}

// declare numbers the declared threads of a formula.
func (k *knower) declare(x syntax.Expr) {
	walkThreads(x, func(n syntax.Name) {
		e, ok := k.names.entries[n.Text]
		if _, known := k.declared[n.Text]; known || !ok || e.kind != kindThread {
			return
		}
		k.declared[n.Text] = len(k.f.Declared)
		k.f.Declared = append(k.f.Declared, e.index)
	})
}

// walkThreads calls see for each thread that an arranged expression names.
func walkThreads(x syntax.Expr, see func(syntax.Name)) {
	switch x := x.(type) {
	case *syntax.At:
		see(x.Thread)
	case *syntax.Quantified:
		for _, pair := range x.Differ {
			see(pair[0])
			see(pair[1])
		}
	}
	parts(x, func(y syntax.Expr) { walkThreads(y, see) })
}

// top adds the formulas @t F that an expression consists of.
func (k *knower) top(x syntax.Expr, bound []int, differ [][2]int) {
	switch x := x.(type) {
	case *syntax.Paren:
		k.top(x.X, bound, differ)
		return
	case *syntax.Binary:
		if x.Op == syntax.LogicalAnd {
			k.top(x.X, bound, differ)
			k.top(x.Y, bound, differ)
			return
		}
	case *syntax.Quantified:
		if x.Exists {
			break
		}
		defer k.unbind(x)
		for _, v := range x.Vars {
			if n, ok := k.bind(v); ok {
				bound = append(slices.Clip(bound), n)
			}
		}
		k.top(x.X, bound, append(slices.Clip(differ), k.pairs(x)...))
		return
	case *syntax.At:
		n, ok := k.thread(x.Thread)
		if b, _ := k.bodyOf(x.Thread, n, x.X, true); ok {
			k.out.Tops = append(k.out.Tops, knowledge.Top{Bound: bound, Differ: differ, Body: b})
		}
		return
	}
	before := len(k.problems)
	k.bodyOf(syntax.Name{}, 0, x, true)
	if !k.problems[before:].HasErrors() {
		k.mismatch(x.Where(), "%q is a formula of no thread: write @t(...) around it, with forall before that", syntax.SourceText(x))
	}
}

// bodyOf makes the body of an expression in the states of a thread.
func (k *knower) bodyOf(thread syntax.Name, number int, x syntax.Expr, truth bool) (*knowledge.Body, node) {
	outer := k.body
	b := &knowledge.Body{ID: len(k.codes), Thread: number}
	k.body, k.codes = b, append(k.codes, nil)
	k.out.Bodies++
	k.ofBody = append(k.ofBody, thread)
	c := newCompiler(k)
	var n node
	if truth {
		n = c.truth(x)
	} else {
		n = c.compile(x)
	}
	code, err := ir.Compile(n.as(n.class.computed()))
	if err != nil {
		k.tooLarge(x.Where(), "%q: %v, with the propositions that it names", syntax.SourceText(x), err)
	} else {
		k.codes[b.ID] = code
	}
	k.ofBody = k.ofBody[:len(k.ofBody)-1]
	k.body = outer
	return b, n
}

// input returns the index of an input of the present body, which it adds if there is none. Two
// operators are never the same input.
func (k *knower) input(in knowledge.Input) int {
	same := func(x knowledge.Input) bool {
		return in.Kind < knowledge.Remote && x.Kind == in.Kind && x.Index == in.Index
	}
	if i := slices.IndexFunc(k.body.Inputs, same); i >= 0 {
		return i
	}
	k.body.Inputs = append(k.body.Inputs, in)
	return len(k.body.Inputs) - 1
}

// lookup implements environment.
func (k *knower) lookup(n syntax.Name) (int, value, bool) {
	e, ok := k.names.entries[n.Text]
	switch {
	case !ok && n.Text == "tid":
		return k.input(knowledge.Input{Kind: knowledge.Thread}), value{class: Int, bits: 64}, true
	case !ok:
		return 0, value{}, false
	case e.kind == kindLocal:
		return k.input(knowledge.Input{Kind: knowledge.Local, Index: e.index}), valueOf(k.Locals[e.index].Type, nil), true
	case e.kind == kindEvent:
		return k.input(knowledge.Input{Kind: knowledge.Happened, Index: e.index}), value{class: Bool, bits: 1}, true
	}
	at, v, ok := k.state.lookup(n)
	if !ok {
		return 0, value{}, false
	}
	i := slices.Index(k.f.Vars, at)
	if i < 0 {
		i = len(k.f.Vars)
		k.f.Vars = append(k.f.Vars, at)
	}
	return k.input(knowledge.Input{Kind: knowledge.Variable, Index: i}), v, true
}

// constant lets a constant of an enumeration be compared with a variable of another thread too.
func (k *knower) constant(n syntax.Name, with syntax.Expr) (uint64, bool) {
	for {
		at, ok := with.(*syntax.At)
		if !ok {
			return k.state.constant(n, with)
		}
		with = unparen(at.X)
	}
}

// missing implements environment.
func (k *knower) missing(n syntax.Name) {
	e, ok := k.names.entries[n.Text]
	if !ok {
		k.unknown(n, kindVar, kindProp, kindEvent, kindLocal)
		return
	}
	k.mismatch(n.Span, "%q is %s, which has no value", n.Text, kindNames[e.kind])
}

// other implements elsewhere: it compiles what looks at other threads, and at other states of
// the past.
func (k *knower) other(c *compiler, x syntax.Expr) (node, bool) {
	switch x := x.(type) {
	case *syntax.At:
		return k.at(x), true
	case *syntax.Quantified:
		return k.quantified(x), true
	case *syntax.Interval:
		kind := knowledge.Interval
		if x.Weak {
			kind = knowledge.WeakInterval
		}
		return k.remembered(knowledge.Input{Kind: kind, X: k.here(x.F), Y: k.here(x.G)}), true
	case *syntax.Unary:
		return k.before(c, x)
	case *syntax.Binary:
		return k.since(c, x)
	}
	return node{}, false
}

// pastOps has the operators that look at earlier states of the thread.
var pastOps = map[syntax.Operator]knowledge.InputKind{
	syntax.Prev: knowledge.Prev, syntax.StrongPrev: knowledge.StrongPrev, syntax.WeakPrev: knowledge.WeakPrev, syntax.Once: knowledge.Once,
	syntax.Historically: knowledge.Historically, syntax.Since: knowledge.Since, syntax.WeakSince: knowledge.WeakSince,
	syntax.Start: knowledge.Began, syntax.End: knowledge.Ended,
}

// before compiles an operator before a formula.
func (k *knower) before(c *compiler, x *syntax.Unary) (node, bool) {
	kind, ok := pastOps[x.Op]
	if !ok {
		k.future(x.Op, x.Span)
		return c.temporal(x)
	}
	return k.remembered(knowledge.Input{Kind: kind, X: k.here(x.X)}), true
}

// since compiles an operator between two formulas.
func (k *knower) since(c *compiler, x *syntax.Binary) (node, bool) {
	kind, ok := pastOps[x.Op]
	if !ok {
		k.future(x.Op, x.Span)
		return c.temporal(x)
	}
	return k.remembered(knowledge.Input{Kind: kind, X: k.here(x.X), Y: k.here(x.Y)}), true
}

// here makes the body of a formula in the states of the present thread.
func (k *knower) here(x syntax.Expr) *knowledge.Body {
	b, _ := k.bodyOf(k.ofBody[len(k.ofBody)-1], k.body.Thread, x, true)
	return b
}

// remembered adds an input that is true or false.
func (k *knower) remembered(in knowledge.Input) node {
	return node{class: Bool, x: ir.Input(k.input(in), value{class: Bool, bits: 1}.form())}
}

// future reports an error for an operator that looks at the future.
func (k *knower) future(op syntax.Operator, at syntax.Span) {
	if op.IsFuture() {
		k.problem(syntax.FutureUnderPast, at, "%s looks at the future: what threads know is of the past", op)
	}
}

// at compiles @t x.
func (k *knower) at(x *syntax.At) node {
	number, ok := k.thread(x.Thread)
	if last := k.ofBody[len(k.ofBody)-1]; ok && last.Text == x.Thread.Text && !k.formsKnown {
		k.warn(syntax.Doubtful, x.Thread.Span, "@%s within @%s is the state itself: leave it out", x.Thread.Text, last.Text)
	}
	b, n := k.bodyOf(x.Thread, number, x.X, false)
	if !ok {
		return n
	}
	i := k.input(knowledge.Input{Kind: knowledge.Remote, X: b})
	bits := uint8(64)
	if n.class == Bool {
		bits = 1
	}
	return node{class: n.class, x: ir.Input(i, value{class: n.class, bits: bits, sign: n.class.signed()}.form())}
}

// thread returns the number of a name that is bound to a thread, or is a declared type that has
// one thread.
func (k *knower) thread(n syntax.Name) (int, bool) {
	if number, ok := k.bound[n.Text]; ok {
		return number, true
	}
	i := k.find(n, kindThread)
	if i < 0 {
		return 0, false
	}
	if t := k.Threads[i]; t.Kind != syntax.NthOf && t.Kind != syntax.MainThread {
		k.problem(syntax.TypeMismatch, n.Span, "%q is a type of threads: @ wants one thread, bound by forall or exists, or declared as NTH of a type", n.Text)
		return 0, false
	}
	return k.declared[n.Text], true
}

// bind returns the number of a thread that forall or exists binds; ok is false, with an error reported, if it cannot be bound.
func (k *knower) bind(v syntax.ThreadVar) (int, bool) {
	of := k.find(v.Type, kindThread)
	if _, ok := k.bound[v.Name.Text]; ok {
		k.problem(syntax.DeclaredTwice, v.Name.Span, "%q is bound already", v.Name.Text)
		return 0, false
	}
	typ := slices.Index(k.f.Types, of)
	if typ < 0 {
		typ = len(k.f.Types)
		k.f.Types = append(k.f.Types, of)
	}
	number := k.out.Declared + len(k.out.Bound)
	k.out.Bound = append(k.out.Bound, typ)
	k.bound[v.Name.Text] = number
	return number, of >= 0
}

// unbind ends the scope of the names that forall or exists binds.
func (k *knower) unbind(q *syntax.Quantified) {
	for _, v := range q.Vars {
		delete(k.bound, v.Name.Text)
	}
}

// pairs returns the pairs of threads that must not be the same.
func (k *knower) pairs(q *syntax.Quantified) (pairs [][2]int) {
	for _, p := range q.Differ {
		a, ok := k.thread(p[0])
		b, also := k.thread(p[1])
		if ok && also {
			pairs = append(pairs, [2]int{a, b})
		}
	}
	return pairs
}

// quantified compiles forall or exists inside of a formula: a quantifier for each thread that it binds.
func (k *knower) quantified(q *syntax.Quantified) node {
	defer k.unbind(q)
	return k.quantify(q, q.Vars)
}

func (k *knower) quantify(q *syntax.Quantified, vars []syntax.ThreadVar) node {
	number, ok := k.bind(vars[0])
	outer := k.body
	b := &knowledge.Body{ID: len(k.codes), Thread: outer.Thread}
	k.body, k.codes = b, append(k.codes, nil)
	k.out.Bodies++
	var n node
	var differ [][2]int
	if len(vars) > 1 {
		n = k.quantify(q, vars[1:])
	} else {
		n = newCompiler(k).truth(q.X)
		differ = k.pairs(q)
	}
	code, err := ir.Compile(n.as(ir.Bool))
	if err != nil {
		k.tooLarge(q.Where(), "%q: %v, with the propositions that it names", syntax.SourceText(q.X), err)
	} else {
		k.codes[b.ID] = code
	}
	k.body = outer
	if !ok {
		return node{class: Bool, x: ir.Truth(true)}
	}
	kind := knowledge.ForAll
	if q.Exists {
		kind = knowledge.Exists
	}
	return k.remembered(knowledge.Input{Kind: kind, Index: number, Differ: differ, X: b})
}

// DescribedFormula is the description of a formula.
type DescribedFormula struct {
	Name    string   `json:"name"`
	Message string   `json:"message"`
	Text    string   `json:"text"`
	States  string   `json:"states"`  // which events make states
	Threads []string `json:"threads"` // that it names, as declared
	Known   []string `json:"known"`   // what the vectors have entries for
	Beyond  []string `json:"beyond_causality"`
}

// describeFormula returns the description of a formula.
func (s *Spec) describeFormula(f *Formula) DescribedFormula {
	d := DescribedFormula{Name: f.Name, Message: f.Message, Text: f.Text, Threads: []string{}, Known: []string{}, Beyond: append([]string{}, f.Beyond...)}
	var parts, names []string
	for _, v := range f.Vars {
		names = append(names, s.Vars[v].Name)
		d.Known = append(d.Known, "the variable "+s.Vars[v].Name)
	}
	if len(names) > 0 {
		parts = append(parts, "each access of "+strings.Join(names, ", "))
	}
	if names = nil; len(f.Events) > 0 {
		for _, e := range f.Events {
			names = append(names, s.Events[e].Name)
		}
		parts = append(parts, "each event "+strings.Join(names, ", "))
	}
	d.States = strings.Join(append(parts, "what brings news"), "; ")
	if f.EachEvent {
		d.States = "each event of the thread"
	}
	for _, i := range append(slices.Clone(f.Declared), f.Types...) {
		t := &s.Threads[i]
		text := fmt.Sprintf("%s = %s", t.Name, t)
		if t.Kind == syntax.NthOf && t.Of >= 0 {
			text = fmt.Sprintf("%s = %d of %s", t.Name, t.Nth, s.Threads[t.Of].Name)
		}
		if !slices.Contains(d.Threads, text) {
			d.Threads = append(d.Threads, text)
		}
	}
	walkAts(f.x, func(x *syntax.At, inside bool) {
		if text := syntax.SourceText(x); inside && !slices.Contains(d.Known, text) {
			d.Known = append(d.Known, text)
		}
	}, false)
	return d
}

// walkAts calls see for each @t x, and whether it is inside of another one.
func walkAts(x syntax.Expr, see func(x *syntax.At, inside bool), inside bool) {
	switch x := x.(type) {
	case *syntax.Paren:
		walkAts(x.X, see, inside)
	case *syntax.Unary:
		walkAts(x.X, see, inside)
	case *syntax.Binary:
		walkAts(x.X, see, inside)
		walkAts(x.Y, see, inside)
	case *syntax.Interval:
		walkAts(x.F, see, inside)
		walkAts(x.G, see, inside)
	case *syntax.At:
		see(x, inside)
		walkAts(x.X, see, true)
	case *syntax.Quantified:
		walkAts(x.X, see, inside)
	}
}
