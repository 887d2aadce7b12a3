package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/spec/ir"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// Condition is an expression over what an event binds, the event's thread, and that
// thread's locals. Any number of goroutines may share it.
type Condition struct {
	code  *ir.Code
	bound int
}

// value computes the condition. The parameter in has the bound values in the order of
// Event.Bound, then tid, then the thread's locals in the order of Spec.Locals. value returns
// false at a division by zero. It allocates nothing.
func (c *Condition) value(in []uint64) (uint64, bool) { return c.code.Eval(in) }

// holds reports whether the condition is true. A condition that divides by zero is not.
func (c *Condition) holds(in []uint64) bool {
	v, ok := c.code.Eval(in)
	return ok && v != 0
}

// eventScope resolves the names in an expression about an event, or in the initial value of a
// local.
type eventScope struct {
	*resolver
	bound        []string // Event.Bound; nil for the initial value of a local
	result       Class    // type of the last bound value if it is the value of a write, else Unknown
	constantOnly bool     // for the initial value of a local: names have no value
}

func (m *eventScope) lookup(n syntax.Name) (int, value, bool) {
	if m.constantOnly {
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
	if !ok || e.kind != kindLocal {
		return 0, value{}, false
	}
	return len(m.bound) + 1 + e.index, valueOf(m.Locals[e.index].Type, nil), true
}

func (m *eventScope) proposition(syntax.Name) (syntax.Expr, bool) { return nil, false }

func (m *eventScope) constant(syntax.Name, syntax.Expr) (uint64, bool) { return 0, false }

func (m *eventScope) missing(n syntax.Name) {
	e, ok := m.names.entries[n.Text]
	switch {
	case m.constantOnly:
		m.problem(syntax.TypeMismatch, n.Span, "a local variable begins with a constant, not with %q", n.Text)
	case !ok:
		suggestion := didYouMean(n.Text, slices.Values(m.bound))
		if near := m.names.near(n.Text, kindLocal); suggestion == "" && near != "" {
			suggestion = "; did you mean " + near + "?"
		}
		m.problem(syntax.UnknownName, n.Span, "unknown name %q%s", n.Text, suggestion)
	case e.kind == kindVar || e.kind == kindProp:
		m.problem(syntax.TypeMismatch, n.Span, "%q is shared, and its value here depends on the run: use what the pattern binds, tid, or a local", n.Text)
	default:
		m.problem(syntax.TypeMismatch, n.Span, "%q is %s, which has no value here", n.Text, kindNames[e.kind])
	}
}

// isNumber reports whether a name is a number. All bound values are.
func (m *eventScope) isNumber(n syntax.Name) bool {
	return slices.Contains(m.bound, n.Text) || m.resolver.isNumber(n)
}

// condition compiles an expression about an event, which must be true or false if truth is set.
// It returns nil if the expression cannot be arranged, or is too large.
func (m *eventScope) condition(x syntax.Expr, truth bool) *Condition {
	tree, problems := syntax.Arrange(x, m.isNumber)
	m.problems = append(m.problems, problems...)
	if problems.HasErrors() {
		return nil
	}
	code := newCompiler(m).code(tree, truth)
	if code == nil {
		return nil
	}
	return &Condition{code, len(m.bound)}
}

// event resolves the i-th declared event.
func (r *resolver) event(i int, d *syntax.Event) {
	e := &r.Events[i]
	e.Var, e.Sync, e.Thread, e.By, e.Result = -1, -1, -1, -1, -1
	e.At = d.Pattern.Object.Span
	if d.Pattern.Func.Text != "" {
		e.At = d.Pattern.Func.Span
	}
	e.Text = eventText(d)
	e.bind(&d.Pattern)
	r.object(e, &d.Pattern)
	if d.By != nil {
		e.By = r.find(*d.By, kindThread)
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

// eventText returns the pattern and conditions of an event, as written.
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

// written returns the declared type of the written value that an event binds; Unknown if it
// binds none.
func (r *resolver) written(e *Event) Class {
	if e.Result < 0 || e.Var < 0 {
		return Unknown
	}
	return r.Vars[e.Var].Type
}

// bind sets the names that the pattern of an event binds, and the pattern as --on takes it.
func (e *Event) bind(p *syntax.Pattern) {
	this := 0 // 1 if the first name is this, which is no parameter in the source
	for i, n := range p.Params {
		if n.Text == "this" {
			this = 1
		}
		if n.Text != "_" {
			e.Bound = append(e.Bound, n.Text)
			e.params = append(e.params, parameter{i - this, n.Stored, n.Element})
		}
	}
	if p.Result != nil {
		e.Result = len(e.Bound)
		e.Bound = append(e.Bound, p.Result.Text)
	}
	if p.Op.OfCode() {
		e.On = onText(p)
	}
}

// onText returns a pattern of calls, of returns or of lines as --on takes it.
func onText(p *syntax.Pattern) string {
	var b strings.Builder
	b.WriteString(p.Op.String())
	if name := p.Func.Text; (p.Op == syntax.OpEnter || p.Op == syntax.OpLeave) && syntax.IsPlainFile(name) {
		b.WriteString(" " + name)
	} else {
		b.WriteString(" " + Quoted(name))
	}
	if len(p.Params) > 0 {
		var names []string
		for _, n := range p.Params {
			names = append(names, paramText(n))
		}
		b.WriteString("(" + strings.Join(names, ", ") + ")")
	}
	if p.Result != nil {
		b.WriteString(" -> " + p.Result.Text)
	}
	return b.String()
}

// paramText returns what a pattern binds to a parameter as --on takes it.
func paramText(p syntax.Param) string {
	text := p.Text
	switch {
	case p.Element > 0:
		text = fmt.Sprintf("%s[%d]", text, p.Element)
	case p.Stored:
		text = "*" + text
	}
	if p.Int {
		text += " : int"
	}
	return text
}

// Quoted returns the name of a function as a pattern takes it: in backquotes unless it has only characters of plain paths.
func Quoted(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:[]*?~$") != "" {
		return "`" + name + "`"
	}
	return name
}

// object resolves the object of a pattern's operation.
func (r *resolver) object(e *Event, p *syntax.Pattern) {
	switch p.Op {
	case syntax.OpRead, syntax.OpWrite:
		e.Var = r.find(p.Object, kindVar)
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
		e.Thread = r.find(p.Object, kindThread)
	}
}

// findSync returns the index of a lock, condition, semaphore or barrier; -1 after an error. If
// nothing of the name is declared, findSync declares it, with a warning, as the object that is a
// variable of that name.
func (r *resolver) findSync(n syntax.Name, kind syntax.SyncKind) int {
	e, ok := r.names.entries[n.Text]
	if !ok && !r.damaged && r.names.near(n.Text, kindSync) == "" {
		r.warn(syntax.Doubtful, n.Span, "%s %q is not declared: taken for the one in the variable of that name", kind, n.Text)
		r.sync(&syntax.Sync{Kind: kind, Name: n, Path: syntax.Path(n)})
		return r.names.entries[n.Text].index
	}
	if !ok || e.kind != kindSync {
		return r.find(n, kindSync)
	}
	if got := r.Syncs[e.index].Kind; got != kind {
		r.problem(syntax.TypeMismatch, n.Span, "%q is a %s, not a %s", n.Text, got, kind)
	}
	return e.index
}

// useEvent marks an event as used, with everything that it mentions.
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
	if e.When != nil { // The condition may read locals, which depend on other events.
		for j := range r.Locals {
			for _, c := range r.Locals[j].On {
				r.useEvent(c.Event)
			}
		}
	}
}

// useThread marks a type of threads as used; -1 is none.
func (r *resolver) useThread(i int) {
	if i < 0 {
		return
	}
	r.Threads[i].Used = true
	if of := r.Threads[i].Of; of >= 0 {
		r.Threads[of].Used = true
	}
}

// local resolves the i-th local variable.
func (r *resolver) local(i int, d *syntax.Local) {
	l := &r.Locals[i]
	m := &eventScope{resolver: r, constantOnly: true}
	if c := m.condition(d.Value, false); c != nil {
		l.Value, _ = c.value(nil)
	}
	for _, on := range d.On {
		e := r.find(on.Event, kindEvent)
		if e < 0 {
			continue
		}
		clause := Clause{Event: e}
		at := &eventScope{resolver: r, bound: boundBy(r.events[e]), result: r.written(&r.Events[e])}
		for _, a := range on.Sets {
			to := r.find(a.Name, kindLocal)
			if c := at.condition(a.Value, false); c != nil && to >= 0 {
				clause.Sets = append(clause.Sets, Assign{to, c})
			}
		}
		l.On = append(l.On, clause)
	}
}

// boundBy returns the names that the pattern of an event binds.
func boundBy(d *syntax.Event) []string {
	var e Event
	e.bind(&d.Pattern)
	return e.Bound
}
