package spec

import (
	"github.com/tracepredict/tracepredict/analysis/spec/ir"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// knowledge resolves the names in an mttl formula: what has a value in a state of a thread, and
// the threads. The formula is checked and not run: the indices of its values mean nothing.
type knowledge struct {
	state
	threads map[string]bool // names bound by forall and exists
}

// formula checks the formula of an mttl block.
func (r *resolver) formula(d *syntax.MTTL) {
	x, ok := r.arrange(d.Formula)
	if !ok {
		return
	}
	d.Formula = x
	newCompiler(&knowledge{state{resolver: r}, map[string]bool{}}).truth(x)
}

func (k *knowledge) lookup(n syntax.Name) (int, value, bool) {
	e, ok := k.names.entries[n.Text]
	switch {
	case !ok && n.Text == "tid":
		return 0, value{class: Int, bits: 64}, true
	case e.kind == kindLocal:
		return 0, valueOf(k.Locals[e.index].Type, nil), true
	case e.kind == kindEvent:
		return 0, value{class: Bool, bits: 1}, true
	}
	return k.state.lookup(n)
}

// constant lets a constant of an enumeration be compared with a variable of another thread too.
func (k *knowledge) constant(n syntax.Name, with syntax.Expr) (uint64, bool) {
	for {
		at, ok := with.(*syntax.At)
		if !ok {
			return k.state.constant(n, with)
		}
		with = unparen(at.X)
	}
}

func (k *knowledge) missing(n syntax.Name) {
	e, ok := k.names.entries[n.Text]
	if !ok {
		k.unknown(n, kindVar, kindProp, kindEvent, kindLocal)
		return
	}
	k.mismatch(n.Span, "%q is %s, which has no value", n.Text, kindNames[e.kind])
}

// other compiles what looks at other threads, and at other states of the past.
func (k *knowledge) other(c *compiler, x syntax.Expr) (node, bool) {
	switch x := x.(type) {
	case *syntax.At:
		k.thread(x.Thread)
		return c.compile(x.X), true
	case *syntax.Quantified:
		k.quantified(c, x)
		return node{class: Bool, x: ir.Truth(true)}, true
	case *syntax.Unary:
		k.past(x.Op, x.Span)
	case *syntax.Binary:
		k.past(x.Op, x.Span)
	}
	return c.temporal(x)
}

// past reports an error for an operator that looks at the future.
func (k *knowledge) past(op syntax.Operator, at syntax.Span) {
	if op.IsFuture() {
		k.problem(syntax.FutureUnderPast, at, "%s looks at the future: what threads know is of the past", op)
	}
}

// thread checks that a name is bound to a thread, or is a declared type that has one thread.
func (k *knowledge) thread(n syntax.Name) {
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
func (k *knowledge) quantified(c *compiler, q *syntax.Quantified) {
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
	c.truth(q.X)
	for _, n := range bound {
		delete(k.threads, n)
	}
}
