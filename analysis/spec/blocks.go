package spec

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// This file checks the names and types of blocks for which there is no analysis yet, so that
// their errors are found all the same.

func (r *resolver) blocks() {
	for _, d := range r.Typestates {
		r.typestate(d)
	}
	for _, d := range r.Formulas {
		r.formula(d)
	}
	for _, d := range r.Scopes {
		r.scope(d)
	}
}

// typestate checks that each event binds the object, and that the events and states that are
// mentioned are declared. It adds warnings about states that cannot be reached.
func (r *resolver) typestate(d *syntax.Typestate) {
	events := map[string]int{}
	for i := range d.Events {
		e := &d.Events[i]
		if before, ok := events[e.Name.Text]; ok {
			r.twice(e.Name, d.Events[before].Name.Span)
		}
		events[e.Name.Text] = i
		r.typestateEvent(d, e)
	}
	known := func(n syntax.Name) {
		if _, ok := events[n.Text]; !ok {
			r.unknownAmong(n, "event", events)
		}
	}
	if d.Good != nil {
		walkRegex(d.Good, known)
	}
	index := r.states(d.States)
	for _, s := range d.States {
		for _, e := range s.Edges {
			known(e.Event)
			r.target(index, e.To)
		}
	}
	reached := reachable(d.States, index)
	for i, s := range d.States {
		if !reached[i] {
			r.warn(syntax.Unreachable, s.Name.Span, "no sequence of events leads to state %q", s.Name.Text)
		}
	}
}

// typestateEvent checks that the pattern of an event binds the object.
func (r *resolver) typestateEvent(d *syntax.Typestate, e *syntax.Event) {
	if !slices.Contains(boundBy(e), d.Object.Text) {
		r.problem(syntax.TypeMismatch, e.Name.Span, "the pattern of %q does not bind %q, which tells objects apart", e.Name.Text, d.Object.Text)
	}
}

// reachable returns, for each state, whether transitions lead to it from the first one.
func reachable(states []syntax.State, index map[string]int) []bool {
	reached := make([]bool, len(states))
	if len(states) == 0 {
		return reached
	}
	reached[0] = true
	for todo := []int{0}; len(todo) > 0; todo = todo[1:] {
		for _, e := range states[todo[0]].Edges {
			if to, ok := index[e.To.Text]; ok && !reached[to] {
				reached[to] = true
				todo = append(todo, to)
			}
		}
	}
	return reached
}

// unknownAmong reports that a name is none of those that a block declares.
func (r *resolver) unknownAmong(n syntax.Name, what string, among map[string]int) {
	r.problem(syntax.UnknownName, n.Span, "there is no %s %q here%s", what, n.Text, didYouMean(n.Text, maps.Keys(among)))
}

// walkRegex calls see for each name in a regular expression.
func walkRegex(x syntax.Regex, see func(syntax.Name)) {
	all := func(parts []syntax.Regex) {
		for _, p := range parts {
			walkRegex(p, see)
		}
	}
	switch x := x.(type) {
	case *syntax.Letter:
		for _, l := range x.Literals {
			see(l.Name)
		}
	case *syntax.Cat:
		all(x.Parts)
	case *syntax.Alt:
		all(x.Parts)
	case *syntax.And:
		all(x.Parts)
	case *syntax.Not:
		walkRegex(x.X, see)
	case *syntax.Repeat:
		walkRegex(x.X, see)
	}
}

// mttlChecker checks an mttl formula.
type mttlChecker struct {
	*resolver
	threads map[string]bool // names bound by forall and exists
}

// formula checks the formula of an mttl block.
func (r *resolver) formula(d *syntax.MTTL) {
	x, ok := r.arrange(d.Formula)
	if !ok {
		return
	}
	d.Formula = x
	k := &mttlChecker{r, map[string]bool{}}
	k.truth(x)
}

// thread checks that a name is bound to a thread, or is a declared type that has one thread.
func (k *mttlChecker) thread(n syntax.Name) {
	if k.threads[n.Text] {
		return
	}
	if i := k.find(n, kindThread); i >= 0 {
		if t := k.Threads[i]; t.Kind != syntax.NthOf && t.Kind != syntax.MainThread {
			k.problem(syntax.TypeMismatch, n.Span, "%q is a type of threads: @ wants one thread, bound by forall or exists, or declared as NTH of a type", n.Text)
		}
	}
}

// quantified checks forall or exists, and binds its threads while it checks the formula.
func (k *mttlChecker) quantified(q *syntax.Quantified) {
	var bound []string
	for _, v := range q.Vars {
		k.find(v.Type, kindThread)
		if k.threads[v.Name.Text] {
			k.problem(syntax.DeclaredTwice, v.Name.Span, "%q is bound already", v.Name.Text)
			continue
		}
		k.threads[v.Name.Text] = true
		bound = append(bound, v.Name.Text)
	}
	for _, pair := range q.Differ {
		k.thread(pair[0])
		k.thread(pair[1])
	}
	k.truth(q.X)
	for _, n := range bound {
		delete(k.threads, n)
	}
}

// truth checks an expression that must be true or false.
func (k *mttlChecker) truth(x syntax.Expr) {
	if class, known := k.class(x); known && class != Bool {
		k.problem(syntax.TypeMismatch, x.Where(), "%q is %s, where something true or false is wanted: compare it", syntax.SourceText(x), aClass(class))
	}
}

// class checks an expression and returns its type; false if that is not known.
func (k *mttlChecker) class(x syntax.Expr) (Class, bool) {
	switch x := x.(type) {
	case *syntax.Paren:
		return k.class(x.X)
	case *syntax.Quantified:
		k.quantified(x)
		return Bool, true
	case *syntax.At:
		k.thread(x.Thread)
		return k.class(x.X)
	case *syntax.Bool:
		return Bool, true
	case *syntax.Number:
		return Int, true
	case *syntax.Null:
		return Ptr, true
	case *syntax.Interval:
		k.truth(x.F)
		k.truth(x.G)
		return Bool, true
	case *syntax.Ident:
		return k.name(x.Name)
	case *syntax.Unary:
		return k.unary(x)
	case *syntax.Binary:
		return k.binary(x)
	}
	return Unknown, false
}

func (k *mttlChecker) name(n syntax.Name) (Class, bool) {
	e, ok := k.names.entries[n.Text]
	switch {
	case !ok && n.Text == "tid":
		return Int, true
	case !ok:
		k.unknown(n, kindVar, kindProp, kindEvent, kindLocal)
		return Unknown, false
	}
	switch e.kind {
	case kindVar:
		k.Vars[e.index].Used = true
		return k.Vars[e.index].Type, k.Vars[e.index].Type != Unknown
	case kindLocal:
		return k.Locals[e.index].Type, k.Locals[e.index].Type != Unknown
	case kindProp, kindEvent:
		return Bool, true
	}
	k.problem(syntax.TypeMismatch, n.Span, "%q is %s, which has no value", n.Text, kindNames[e.kind])
	return Unknown, false
}

func (k *mttlChecker) unary(x *syntax.Unary) (Class, bool) {
	if x.Op.IsArithmetic() {
		k.value(x.X)
		return Int, true
	}
	if x.Op.IsFuture() {
		k.problem(syntax.FutureUnderPast, x.Span, "%s looks at the future: what threads know is of the past", x.Op)
	}
	k.truth(x.X)
	return Bool, true
}

func (k *mttlChecker) binary(x *syntax.Binary) (Class, bool) {
	switch {
	case x.Op.IsArithmetic():
		k.value(x.X)
		k.value(x.Y)
		return Int, true
	case x.Op.IsComparison():
		k.class(x.X)
		k.class(x.Y)
		return Bool, true
	case x.Op.IsFuture():
		k.problem(syntax.FutureUnderPast, x.Span, "%s looks at the future: what threads know is of the past", x.Op)
	}
	k.truth(x.X)
	k.truth(x.Y)
	return Bool, true
}

// value checks an expression that must be a number.
func (k *mttlChecker) value(x syntax.Expr) {
	if class, known := k.class(x); known && class == Bool {
		k.problem(syntax.TypeMismatch, x.Where(), "%q is true or false, where a number is wanted", syntax.SourceText(x))
	}
}

// scope checks the names of a scope, which declares its own local properties and atoms.
func (r *resolver) scope(d *syntax.Scope) {
	r.find(d.Sync, kindEvent)
	locals, atoms := map[string]int{}, map[string]int{}
	for i := range d.Locals {
		l := &d.Locals[i]
		if before, ok := locals[l.Name.Text]; ok {
			r.twice(l.Name, d.Locals[before].Name.Span)
		}
		locals[l.Name.Text] = i
		r.localProperty(l)
	}
	for i := range d.Atoms {
		a := &d.Atoms[i]
		if before, ok := atoms[a.Name.Text]; ok {
			r.twice(a.Name, d.Atoms[before].Name.Span)
		}
		atoms[a.Name.Text] = i
		if x, ok := r.arrange(a.Expr); ok {
			a.Expr = x
			r.checkAtom(x, locals)
		}
	}
	for i := range d.Checks {
		c := &d.Checks[i]
		if x, ok := r.arrange(c.Formula); ok {
			c.Formula = x
			r.checkNames(x, "atom", atoms)
		}
	}
}

// localProperty checks that the formula of a local property mentions only the property's own
// events and, if it continues across scopes, sync.
func (r *resolver) localProperty(l *syntax.LocalProperty) {
	r.find(l.Type, kindThread)
	events := map[string]int{}
	for i, n := range l.Events {
		events[n.Text] = i
		r.find(n, kindEvent)
	}
	if l.Across {
		events["sync"] = len(events)
	}
	if x, ok := r.arrange(l.Formula); ok {
		l.Formula = x
		r.checkNames(x, "event", events)
	}
}

// checkNames checks that a formula mentions only names that its block declares.
func (r *resolver) checkNames(x syntax.Expr, what string, among map[string]int) {
	walk(x, func(n syntax.Name) {
		if _, ok := among[n.Text]; !ok {
			r.unknownAmong(n, what, among)
		}
	})
}

// checkAtom checks the expression of an atom of a scope.
func (r *resolver) checkAtom(x syntax.Expr, locals map[string]int) {
	switch x := x.(type) {
	case *syntax.Paren:
		r.checkAtom(x.X, locals)
	case *syntax.Unary:
		r.checkAtom(x.X, locals)
	case *syntax.Binary:
		r.checkAtom(x.X, locals)
		r.checkAtom(x.Y, locals)
	case *syntax.Ident:
		r.unknownAmong(x.Name, "value", map[string]int{"count": 0, "size": 0, "any": 0, "all": 0})
	case *syntax.Count:
		if x.Func.Text == "size" {
			r.find(x.Of, kindThread)
		} else if _, ok := locals[x.Of.Text]; !ok {
			r.unknownAmong(x.Of, "local property", locals)
		}
	}
}
