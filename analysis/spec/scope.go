package spec

import (
	"github.com/tracepredict/tracepredict/analysis/spec/ir"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

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
			newCompiler(&counts{r, locals}).truth(x)
		}
	}
	for i := range d.Checks {
		c := &d.Checks[i]
		if x, ok := r.arrange(c.Formula); ok {
			c.Formula = x
			newCompiler(&declared{r, "atom", atoms}).truth(x)
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
		newCompiler(&declared{r, "event", events}).truth(x)
	}
}

// declared resolves the names in a formula of a scope: those that the scope declares itself, which
// are true or false. The formula is checked and not run.
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

func (d *declared) missing(n syntax.Name) { d.unknownAmong(n, d.what, d.names) }

func (d *declared) other(c *compiler, x syntax.Expr) (node, bool) { return c.temporal(x) }

// counts resolves the expression of an atom, which compares numbers of threads. No name has a value
// in it. The expression is checked and not run.
type counts struct {
	*resolver
	locals map[string]int // the local properties of the scope
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
		k.find(n.Of, kindThread)
	} else if _, ok := k.locals[n.Of.Text]; !ok {
		k.unknownAmong(n.Of, "local property", k.locals)
	}
	if n.Func.Text == "any" || n.Func.Text == "all" {
		return node{class: Bool, x: ir.Truth(true)}, true
	}
	return constant(Int, 0), true
}
