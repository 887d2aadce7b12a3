package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// resolver makes a Spec of declarations. A resolver with a finished Spec collects further
// problems.
type resolver struct {
	*Spec
	problems   syntax.List
	damaged    bool            // some declarations could not be read, and may declare unknown names
	events     []*syntax.Event // by Spec.Events, until orderEvents
	locals     []*syntax.Local // by Spec.Locals
	checks     []*syntax.Check
	bodies     []*syntax.Property
	typestates []*syntax.Typestate // by Spec.Typestates
	of         *syntax.Parameter   // of the property that is being resolved; nil: none
	formulas   []*syntax.MTTL
	scopes     []*syntax.Scope
	allEvents  bool                   // Options.AllEvents
	paperRaces bool                   // Options.PaperRaces
	blockNames map[string]syntax.Span // of properties and of blocks for which there is no analysis yet
}

// problem adds an error and returns it.
func (r *resolver) problem(kind syntax.Kind, at syntax.Span, format string, args ...any) *syntax.Diagnostic {
	d := &syntax.Diagnostic{Kind: kind, Span: at, Message: fmt.Sprintf(format, args...)}
	r.problems = append(r.problems, d)
	return d
}

func (r *resolver) warn(kind syntax.Kind, at syntax.Span, format string, args ...any) {
	r.problem(kind, at, format, args...).Warning = true
}

// mismatch reports a type error.
func (r *resolver) mismatch(at syntax.Span, format string, args ...any) {
	r.problem(syntax.TypeMismatch, at, format, args...)
}

// tooLarge reports that a bound is exceeded.
func (r *resolver) tooLarge(at syntax.Span, format string, args ...any) {
	r.problem(syntax.TooLarge, at, format, args...)
}

// resolve declares all names before it resolves what mentions them, so that a name may be used
// before its declaration.
func (r *resolver) resolve(decls []syntax.Decl) {
	r.blockNames = map[string]syntax.Span{}
	decls = append(slices.Clip(decls), atomicBlocks(decls)...)
	if r.paperRaces {
		decls = append(decls, paperRaces(decls)...)
	}
	for _, d := range decls {
		r.declare(d)
	}
	for i := range r.Threads {
		r.nthOf(i, decls)
	}
	for i, d := range r.events {
		r.event(i, d)
	}
	for i, d := range r.locals {
		r.local(i, d)
	}
	r.props()
	for _, d := range r.bodies {
		r.property(d)
	}
	for _, d := range r.checks {
		r.check(d)
	}
	for i, d := range r.typestates {
		r.typestate(r.Typestates[i], d)
	}
	for _, d := range r.formulas {
		r.formula(d)
	}
	for _, d := range r.scopes {
		r.scope(d, nil)
	}
	if r.allEvents {
		for i := range r.Events {
			r.useEvent(i)
		}
	}
	r.unused()
	r.orderEvents()
}

// name declares a name of a kind. Its path in the program is for suggestions.
func (r *resolver) name(n syntax.Name, kind nameKind, index int, path string) {
	if n.Text == "tid" || n.Text == "true" || n.Text == "false" || n.Text == "null" || n.Text == "_" {
		r.problem(syntax.DeclaredTwice, n.Span, "%q has a meaning of its own and cannot be declared", n.Text)
		return
	}
	before, ok := r.names.add(n.Text, entry{kind, index, n.Span, path})
	if !ok {
		r.twice(n, before.span)
	}
}

// twice reports that a name is declared already.
func (r *resolver) twice(n syntax.Name, before syntax.Span) {
	r.problem(syntax.DeclaredTwice, n.Span, "%q is declared already, at %s", strings.TrimPrefix(n.Text, "%"), before.Pos)
}

// block declares the name of a property or a block.
func (r *resolver) block(n syntax.Name) {
	if before, ok := r.blockNames[n.Text]; ok {
		r.twice(n, before)
		return
	}
	r.blockNames[n.Text] = n.Span
}

// declare adds a declaration to the Spec, with its name.
func (r *resolver) declare(d syntax.Decl) {
	switch d := d.(type) {
	case *syntax.Var:
		r.name(d.Name, kindVar, len(r.Vars), d.Path.Text)
		r.checkVariable(d)
		r.Vars = append(r.Vars, Var{Name: d.Name.Text, Path: d.Path.Text, Type: r.class(d.Type), Span: d.Name.Span, At: d.Path.Span})
	case *syntax.Sync:
		r.sync(d)
	case *syntax.Thread:
		r.name(d.Name, kindThread, len(r.Threads), d.Path.Text)
		r.Threads = append(r.Threads, Thread{Kind: d.Kind, Name: d.Name.Text, Text: d.Path.Text + d.Glob.Text, Nth: d.Nth, Of: -1, Span: d.Name.Span})
	case *syntax.Event:
		r.name(d.Name, kindEvent, len(r.Events), d.Pattern.Func.Text)
		r.Events = append(r.Events, Event{Name: d.Name.Text, Op: d.Pattern.Op, Span: d.Name.Span})
		r.events = append(r.events, d)
	case *syntax.Prop:
		r.name(d.Name, kindProp, len(r.Props), "")
		r.Props = append(r.Props, Prop{Name: d.Name.Text, Expr: d.Expr, Span: d.Name.Span})
	case *syntax.Local:
		r.name(d.Name, kindLocal, len(r.Locals), "")
		r.Locals = append(r.Locals, Local{Name: d.Name.Text, Type: r.class(d.Type), Span: d.Name.Span})
		r.locals = append(r.locals, d)
	case *syntax.Property:
		r.block(d.Name)
		r.bodies = append(r.bodies, d)
	case *syntax.Check:
		r.checks = append(r.checks, d)
	case *syntax.Typestate:
		r.block(d.Name)
		r.declareTypestate(d)
	case *syntax.MTTL:
		r.block(d.Name)
		r.formulas = append(r.formulas, d)
	case *syntax.Scope:
		r.block(d.Name)
		for _, in := range d.Inner {
			r.block(in.Name)
		}
		r.scopes = append(r.scopes, d)
	}
}

// checkVariable checks that a path names one variable, which no earlier declaration names.
func (r *resolver) checkVariable(d *syntax.Var) {
	if strings.Contains(strings.Join(strings.Fields(d.Path.Text), " "), " of ") {
		r.problem(syntax.TypeMismatch, d.Path.Span, "%q is a field of every object of a type: a property reads one variable", d.Path.Text)
	}
	for _, v := range r.Vars {
		if v.Path == d.Path.Text {
			r.problem(syntax.DeclaredTwice, d.Path.Span, "the variable %q is declared already, as %q, at %s", v.Path, v.Name, v.Span.Pos)
			return
		}
	}
}

// sync declares a lock, condition, semaphore or barrier. A path in quotes declares a lock, and
// may occur more than once.
func (r *resolver) sync(d *syntax.Sync) {
	if before, ok := r.names.entries[d.Name.Text]; ok && strings.HasPrefix(d.Name.Text, "%") && before.kind == kindSync {
		return
	}
	r.name(d.Name, kindSync, len(r.Syncs), d.Path.Text)
	s := Sync{Kind: d.Kind, Name: d.Name.Text, Path: d.Path.Text, Span: d.Name.Span, At: d.Path.Span}
	if d.Class != nil {
		s.Class = d.Class.Text
	}
	r.Syncs = append(r.Syncs, s)
}

// class returns the type with a name.
func (r *resolver) class(n *syntax.Name) Class {
	if n == nil {
		return Unknown
	}
	for c := Int; c <= Ptr; c++ {
		if c.String() == n.Text {
			return c
		}
	}
	r.problem(syntax.TypeMismatch, n.Span, "%q is no type: these are: int, uint, bool, float, enum, ptr", n.Text)
	return Unknown
}

// find returns the index of a name that must be of a kind; -1 after an error.
func (r *resolver) find(n syntax.Name, kind nameKind) int {
	e, ok := r.names.entries[n.Text]
	switch {
	case ok && e.kind == kind:
		return e.index
	case ok:
		r.problem(syntax.TypeMismatch, n.Span, "%q is %s, not %s", n.Text, kindNames[e.kind], kindNames[kind])
	default:
		r.unknown(n, kind)
	}
	return -1
}

// unknown reports that a name is not declared. If some declarations could not be read, it does
// so only with a suggestion, since the name may be declared there.
func (r *resolver) unknown(n syntax.Name, kinds ...nameKind) {
	text := fmt.Sprintf("unknown name %q", n.Text)
	if object, field, dotted := strings.Cut(n.Text, "."); dotted {
		r.problem(syntax.UnknownName, n.Span, "%s: %s", text, r.fieldHint(object, field))
		return
	}
	if near := r.names.near(n.Text, kinds...); near != "" {
		text += "; did you mean " + near + "?"
	} else if r.damaged {
		return
	}
	r.problem(syntax.UnknownName, n.Span, "%s", text)
}

// unknownAmong reports that a name is none of those that a block declares.
func (r *resolver) unknownAmong(n syntax.Name, what string, among map[string]int) {
	r.problem(syntax.UnknownName, n.Span, "there is no %s %q here%s", what, n.Text, didYouMean(n.Text, maps.Keys(among)))
}

// nthOf resolves the type of which a declared thread is the Nth one.
func (r *resolver) nthOf(i int, decls []syntax.Decl) {
	t := &r.Threads[i]
	if t.Kind != syntax.NthOf {
		return
	}
	for _, d := range decls {
		th, ok := d.(*syntax.Thread)
		if !ok || th.Name.Span != t.Span {
			continue
		}
		if t.Of = r.find(th.Of, kindThread); t.Of >= 0 && r.Threads[t.Of].Kind == syntax.NthOf {
			r.problem(syntax.TypeMismatch, th.Of.Span, "%q is one thread already", th.Of.Text)
		}
	}
}

// check resolves the request of an analysis.
func (r *resolver) check(d *syntax.Check) {
	c := Check{Analysis: d.Analysis.Text, Span: d.Analysis.Span}
	for _, n := range d.Vars {
		if i := r.find(n, kindVar); i >= 0 {
			c.Vars = append(c.Vars, i)
		}
	}
	if d.Analysis.Text == races && len(d.Vars) == 0 {
		for i := range r.Vars {
			c.Vars = append(c.Vars, i)
		}
	}
	for _, i := range c.Vars {
		r.Vars[i].Used = true
	}
	if d.Func != nil {
		c.Func = d.Func.Text
	}
	if r.paperRaces && c.Analysis == races {
		return // The formulas are in its place.
	}
	r.Checks = append(r.Checks, c)
}

// unused adds warnings about variables of the main file that nothing uses.
func (r *resolver) unused() {
	if r.damaged || r.problems.HasErrors() {
		return
	}
	for _, v := range r.Vars {
		if !v.Used && v.Span.Src == r.sources[0] {
			r.warn(syntax.Doubtful, v.Span, "%q is used by no property and no check: it is not watched", v.Name)
		}
	}
}

// orderEvents moves the events that properties and scopes mention to the front, so that each has a bit in
// a mask of events.
func (r *resolver) orderEvents() {
	mentioned := make([]bool, len(r.Events))
	for _, p := range r.Properties {
		for _, i := range p.Events {
			mentioned[i] = true
		}
	}
	for _, s := range r.Scopes {
		for i := range s.events() {
			mentioned[*i] = true
		}
	}
	var order []int
	for _, first := range []bool{true, false} {
		for i := range r.Events {
			if mentioned[i] == first {
				order = append(order, i)
			}
		}
		if first && len(order) > MaxEvents {
			r.problem(syntax.TooLarge, r.Events[order[MaxEvents]].Span, "properties and scopes mention %d events: at most %d", len(order), MaxEvents)
			return
		}
	}
	newIndex := make([]int, len(order))
	events := make([]Event, len(order))
	for to, from := range order {
		newIndex[from], events[to] = to, r.Events[from]
	}
	r.Events = events
	r.renumber(newIndex)
}

// renumber replaces the indices of events by newIndex.
func (r *resolver) renumber(newIndex []int) {
	for name, e := range r.names.entries {
		if e.kind == kindEvent {
			e.index = newIndex[e.index]
			r.names.entries[name] = e
		}
	}
	for _, p := range r.Properties {
		for i := range p.Events {
			p.Events[i] = newIndex[p.Events[i]]
		}
		slices.Sort(p.Events)
		for i := range p.own() {
			p.Of.Events[i].Event = newIndex[p.Of.Events[i].Event]
		}
		for i := range p.Propositions {
			if at := &p.Propositions[i].Event; *at >= 0 {
				*at = newIndex[*at]
			}
		}
	}
	for i := range r.Locals {
		for j := range r.Locals[i].On {
			r.Locals[i].On[j].Event = newIndex[r.Locals[i].On[j].Event]
		}
	}
	for _, f := range r.Formulas {
		for i := range f.Events {
			f.Events[i] = newIndex[f.Events[i]]
		}
		slices.Sort(f.Events)
	}
	for _, s := range r.Scopes {
		for i := range s.events() {
			*i = newIndex[*i]
		}
	}
	for _, t := range r.Typestates {
		for i := range t.Calls {
			t.Calls[i].Event = newIndex[t.Calls[i].Event]
		}
	}
}
