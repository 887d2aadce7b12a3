package spec

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// Condition is an expression over what an event binds, the event's thread, and that
// thread's locals. Any number of goroutines may share it.
type Condition struct {
	run   eval
	bound int
}

// Value computes the condition. In has the bound values in the order of Event.Bound, then
// tid, then the thread's locals in the order of Spec.Locals. It returns false at a
// division by zero. It allocates nothing.
func (c *Condition) Value(in []uint64) (uint64, bool) { return c.run(in) }

// Holds reports whether the condition is true. It is not if it divides by zero.
func (c *Condition) Holds(in []uint64) bool {
	v, ok := c.run(in)
	return ok && v != 0
}

// Inputs returns the number of values that Value needs before the locals: those bound, and
// tid.
func (c *Condition) Inputs() int { return c.bound + 1 }

// eventScope resolves names at an event. Bound is empty where there is no event, as for the
// initial value of a local.
type eventScope struct {
	*resolver
	bound   []string
	result  Class // of the last of bound, where it is the value of a write
	literal bool  // nothing but literals
}

func (m *eventScope) lookup(n syntax.Name) (int, value, bool) {
	if m.literal {
		return 0, value{}, false
	}
	for i, b := range m.bound {
		if b == n.Text {
			class := Unknown
			if i == len(m.bound)-1 {
				class = m.result
			}
			return i, value{class: class, bits: 64, sign: true}, true
		}
	}
	if n.Text == "tid" {
		return len(m.bound), value{class: Int, bits: 64}, true
	}
	e, ok := m.names.entries[n.Text]
	if !ok || e.sort != localSort {
		return 0, value{}, false
	}
	return len(m.bound) + 1 + e.index, valueOf(m.Locals[e.index].Type, nil), true
}

func (m *eventScope) proposition(syntax.Name) (syntax.Expr, bool) { return nil, false }

func (m *eventScope) constant(syntax.Name, syntax.Expr) (uint64, bool) { return 0, false }

func (m *eventScope) missing(n syntax.Name) {
	e, ok := m.names.entries[n.Text]
	switch {
	case m.literal:
		m.problem(syntax.TypeMismatch, n.Span, "a local variable begins with a constant, not with %q", n.Text)
	case !ok:
		text := fmt.Sprintf("unknown name %q", n.Text)
		if near := syntax.Nearest(n.Text, m.bound); near != "" {
			text += "; did you mean \"" + near + "\"?"
		} else if near := m.names.near(n.Text, localSort); near != "" {
			text += "; did you mean " + near + "?"
		}
		m.problem(syntax.UnknownName, n.Span, "%s", text)
	case e.sort == varSort || e.sort == propSort:
		m.problem(syntax.TypeMismatch, n.Span, "%q is shared, and its value here depends on the run: use what the pattern binds, tid, or a local", n.Text)
	default:
		m.problem(syntax.TypeMismatch, n.Span, "%q is %s, which has no value here", n.Text, sortNames[e.sort])
	}
}

func (m *eventScope) mismatch(at syntax.Span, format string, args ...any) {
	m.problem(syntax.TypeMismatch, at, format, args...)
}

// isNumber reports whether a name is a number: everything that a pattern binds is one.
func (m *eventScope) isNumber(n syntax.Name) bool {
	for _, b := range m.bound {
		if b == n.Text {
			return true
		}
	}
	return m.resolver.isNumber(n)
}

// condition compiles an expression about an event; as a truth value if truth is set.
func (m *eventScope) condition(x syntax.Expr, truth bool) *Condition {
	tree, problems := syntax.Arrange(x, m.isNumber)
	m.problems = append(m.problems, problems...)
	if problems.HasErrors() {
		return nil
	}
	c := compiler{environment: m}
	compile := c.compile
	if truth {
		compile = c.truth
	}
	return &Condition{compile(tree).run, len(m.bound)}
}

// event resolves a declared event.
func (r *resolver) event(i int, d *syntax.Event) {
	e := &r.Events[i]
	e.Var, e.Sync, e.Thread, e.By, e.Result = -1, -1, -1, -1, -1
	e.At = d.Pattern.Object.Span
	if d.Pattern.Func.Text != "" {
		e.At = d.Pattern.Func.Span
	}
	e.Text = eventText(d)
	r.bind(e, &d.Pattern)
	r.object(e, &d.Pattern)
	if d.By != nil {
		e.By = r.find(*d.By, threadSort)
	}
	if d.When != nil {
		before := len(r.problems)
		m := &eventScope{resolver: r, bound: e.Bound, result: r.written(e)}
		if e.When = m.condition(d.When, true); r.problems[before:].HasErrors() {
			e.When = nil
			return
		}
	}
}

// eventText returns the declaration of an event as written.
func eventText(d *syntax.Event) string {
	at := d.Pattern.Span
	if d.By != nil {
		at.End = max(at.End, d.By.Span.End)
	}
	if d.When != nil {
		at.End = max(at.End, d.When.Where().End)
	}
	return at.Text()
}

// written returns the declared type of the value that an event binds.
func (r *resolver) written(e *Event) Class {
	if e.Result < 0 || e.Var < 0 {
		return Unknown
	}
	return r.Vars[e.Var].Type
}

// bind returns the names that a pattern binds, and the pattern as --on takes it.
func (r *resolver) bind(e *Event, p *syntax.Pattern) {
	methods := 0
	for i, n := range p.Params {
		if n.Text == "this" {
			methods = 1
		}
		if n.Text != "_" {
			e.Bound = append(e.Bound, n.Text)
			e.params = append(e.params, i-methods)
		}
	}
	if p.Result != nil {
		e.Result = len(e.Bound)
		e.Bound = append(e.Bound, p.Result.Text)
	}
	if p.Op == syntax.OpCall || p.Op == syntax.OpReturn {
		e.On = onText(p)
	}
}

// onText writes the pattern of a function as --on takes it.
func onText(p *syntax.Pattern) string {
	var b strings.Builder
	b.WriteString(p.Op.String())
	name := p.Func.Text
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:[]*?~$") != "" {
		name = "`" + name + "`"
	}
	b.WriteString(" " + name)
	if len(p.Params) > 0 {
		var names []string
		for _, n := range p.Params {
			names = append(names, n.Text)
		}
		b.WriteString("(" + strings.Join(names, ", ") + ")")
	}
	if p.Result != nil {
		b.WriteString(" -> " + p.Result.Text)
	}
	return b.String()
}

// object looks up the object of a pattern's operation.
func (r *resolver) object(e *Event, p *syntax.Pattern) {
	switch p.Op {
	case syntax.OpRead, syntax.OpWrite:
		e.Var = r.find(p.Object, varSort)
	case syntax.OpAcquire, syntax.OpRelease:
		if !p.Any {
			e.Sync = r.findSync(p.Object, syntax.Lock)
		}
	case syntax.OpWait, syntax.OpSignal, syntax.OpBroadcast:
		e.Sync = r.findSync(p.Object, syntax.Cond)
	case syntax.OpPost:
		e.Sync = r.findSync(p.Object, syntax.Sem)
	case syntax.OpArrive:
		e.Sync = r.findSync(p.Object, syntax.Barrier)
	case syntax.OpStart, syntax.OpEnd, syntax.OpFork, syntax.OpJoin:
		e.Thread = r.find(p.Object, threadSort)
	}
}

func (r *resolver) findSync(n syntax.Name, kind syntax.SyncKind) int {
	e, ok := r.names.entries[n.Text]
	if !ok && !r.damaged && r.names.near(n.Text, syncSort) == "" {
		r.warn(syntax.Doubtful, n.Span, "%s %q is not declared: taken for the one in the variable of that name", kind, n.Text)
		r.sync(&syntax.Sync{Kind: kind, Name: n, Path: syntax.Path(n)})
		return r.names.entries[n.Text].index
	}
	if !ok || e.sort != syncSort {
		return r.find(n, syncSort)
	}
	if got := r.Syncs[e.index].Kind; got != kind {
		r.problem(syntax.TypeMismatch, n.Span, "%q is a %s, not a %s", n.Text, got, kind)
	}
	return e.index
}

// useEvent marks an event as used, and everything that it mentions.
func (r *resolver) useEvent(i int) {
	e := &r.Events[i]
	if e.Used {
		return
	}
	e.Used = true
	if e.Var >= 0 {
		r.Vars[e.Var].Used = true
	}
	if e.Sync >= 0 {
		r.Syncs[e.Sync].Used = true
	}
	for _, t := range []int{e.Thread, e.By} {
		r.useThread(t)
	}
	if e.When != nil { // Its locals depend on other events.
		for j := range r.Locals {
			for _, c := range r.Locals[j].On {
				r.useEvent(c.Event)
			}
		}
	}
}

func (r *resolver) useThread(i int) {
	if i < 0 {
		return
	}
	r.Threads[i].Used = true
	if of := r.Threads[i].Of; of >= 0 {
		r.Threads[of].Used = true
	}
}

// local resolves a local variable of threads.
func (r *resolver) local(i int, d *syntax.Local) {
	l := &r.Locals[i]
	m := &eventScope{resolver: r, literal: true}
	if c := m.condition(d.Value, false); c != nil {
		l.Value, _ = c.run(nil)
	}
	for _, on := range d.On {
		e := r.find(on.Event, eventSort)
		if e < 0 {
			continue
		}
		clause := Clause{Event: e}
		at := &eventScope{resolver: r, bound: boundBy(r.events[e]), result: r.written(&r.Events[e])}
		for _, a := range on.Sets {
			to := r.find(a.Name, localSort)
			if c := at.condition(a.Value, false); c != nil && to >= 0 {
				clause.Sets = append(clause.Sets, Assign{to, c})
			}
		}
		l.On = append(l.On, clause)
	}
}

func boundBy(d *syntax.Event) []string {
	var e Event
	(&resolver{}).bind(&e, &d.Pattern)
	return e.Bound
}
