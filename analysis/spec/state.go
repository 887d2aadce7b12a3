package spec

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/observer/event"
)

// state resolves the names in an expression over the state: declared variables and
// propositions.
type state struct {
	*resolver
	forms      []*event.Form // by Spec.Vars, as far as they are known
	formsKnown bool          // the program is known: constants of enumerations must be those of forms
}

// form returns the form of a variable, nil if it is not known.
func (s *state) form(i int) *event.Form {
	if i < len(s.forms) {
		return s.forms[i]
	}
	return nil
}

func (s *state) lookup(n syntax.Name) (int, value, bool) {
	e, ok := s.names.entries[n.Text]
	if !ok || e.kind != kindVar {
		return 0, value{}, false
	}
	s.use(e.index)
	return e.index, valueOf(s.Vars[e.index].Type, s.form(e.index)), true
}

// use marks a variable as used, while the specification is being resolved.
func (s *state) use(i int) {
	if !s.formsKnown {
		s.Vars[i].Used = true
	}
}

func (s *state) proposition(n syntax.Name) (syntax.Expr, bool) {
	e, ok := s.names.entries[n.Text]
	if !ok || e.kind != kindProp {
		return nil, false
	}
	return s.Props[e.index].Expr, true
}

// constant returns the value of an undeclared name that is compared with a variable, as a
// constant of the variable's enumeration; 0 as long as the program is not known. It returns
// false if the name cannot be such a constant.
func (s *state) constant(n syntax.Name, with syntax.Expr) (uint64, bool) {
	id, ok := with.(*syntax.Ident)
	if !ok {
		return 0, false
	}
	at, v, ok := s.lookup(id.Name)
	if _, declared := s.names.entries[n.Text]; !ok || declared || !s.formsKnown && v.class != Enum && v.class != Unknown {
		return 0, false
	}
	if s.formsKnown {
		return s.programConstant(n, at)
	}
	if near := s.names.near(n.Text, kindVar, kindProp); near != "" && v.class == Unknown {
		s.warn(syntax.Doubtful, n.Span, "%q is taken for a constant of an enumeration; did you mean %s?", n.Text, near)
	}
	return 0, true
}

// programConstant returns the value of a constant of a variable's enumeration, from the form of
// the variable. After an error the value is 0.
func (s *state) programConstant(n syntax.Name, at int) (uint64, bool) {
	f, name := s.form(at), s.Vars[at].Name
	if f == nil || len(f.Names) == 0 {
		s.problem(syntax.UnknownName, n.Span, "unknown name %q: no constants of an enumeration are known for %q", n.Text, name)
		return 0, true
	}
	v, ok := enumConstant(f, n.Text)
	if !ok {
		text := "the type of %q has no constant %q"
		if near := syntax.Nearest(n.Text, enumNames(f)); near != "" {
			text += "; did you mean " + near + "?"
		}
		s.problem(syntax.UnknownName, n.Span, text, name, n.Text)
	}
	return v, true
}

// missing reports why a name has no value in a state.
func (s *state) missing(n syntax.Name) {
	e, ok := s.names.entries[n.Text]
	switch {
	case !ok && n.Text == "tid":
		s.problem(syntax.TypeMismatch, n.Span, "tid is of an event, not of the state")
	case !ok:
		s.unknown(n, kindVar, kindProp)
	case e.kind == kindEvent:
		s.problem(syntax.TypeMismatch, n.Span, "%q is an event, which is no part of the state: name it in the property itself", n.Text)
	case e.kind == kindLocal:
		s.problem(syntax.TypeMismatch, n.Span, "%q is a local variable: those are for when and mttl alone", n.Text)
	default:
		s.problem(syntax.TypeMismatch, n.Span, "%q is %s, which has no value", n.Text, kindNames[e.kind])
	}
}

// isNumber reports whether a name is a number, which decides the meaning of & and |.
func (r *resolver) isNumber(n syntax.Name) bool {
	e, ok := r.names.entries[n.Text]
	if !ok {
		_, field := r.fieldName(n)
		return n.Text == "tid" || field
	}
	switch e.kind {
	case kindVar:
		return r.Vars[e.index].Type != Bool
	case kindLocal:
		return r.Locals[e.index].Type != Bool
	}
	return false
}

// arrange makes a tree of an expression; it returns false after an error.
func (r *resolver) arrange(x syntax.Expr) (syntax.Expr, bool) {
	out, problems := syntax.Arrange(x, r.isNumber)
	r.problems = append(r.problems, problems...)
	return out, !problems.HasErrors()
}

// props resolves the declared propositions. One that cannot be arranged, is circular, or is too
// large becomes false.
func (r *resolver) props() {
	for i := range r.Props {
		p := &r.Props[i]
		x, ok := r.arrange(p.Expr)
		if p.Expr = x; !ok {
			p.Expr = &syntax.Bool{Span: p.Span}
		}
	}
	sound := map[int]bool{}
	for i := range r.Props {
		if r.circular(i, map[int]bool{}, sound) {
			r.problem(syntax.TypeMismatch, r.Props[i].Span, "proposition %q is defined by itself", r.Props[i].Name)
			r.Props[i].Expr = &syntax.Bool{Span: r.Props[i].Span}
		}
	}
	for i := range r.Props {
		used := make([]bool, len(r.Vars))
		for j := range r.Vars {
			used[j] = r.Vars[j].Used
		}
		if newCompiler(&state{resolver: r}).code(r.Props[i].Expr, true) == nil {
			r.Props[i].Expr = &syntax.Bool{Span: r.Props[i].Span}
		}
		for j := range r.Vars { // The variables are used only if a property mentions the proposition.
			r.Vars[j].Used = used[j]
		}
	}
}

// circular reports whether the definition of the i-th proposition leads to a proposition that is
// defined by itself. Above has the propositions whose definitions led to it, and sound those whose
// definitions lead to no such proposition.
func (r *resolver) circular(i int, above, sound map[int]bool) bool {
	if above[i] || sound[i] {
		return above[i]
	}
	above[i] = true
	defer delete(above, i)
	found := false
	walk(r.Props[i].Expr, func(n syntax.Name) {
		if e, ok := r.names.entries[n.Text]; ok && e.kind == kindProp && !found {
			found = r.circular(e.index, above, sound)
		}
	})
	sound[i] = !found
	return found
}

// walk calls see for each name in an arranged expression.
func walk(x syntax.Expr, see func(syntax.Name)) {
	if x, ok := x.(*syntax.Ident); ok {
		see(x.Name)
	}
	parts(x, func(y syntax.Expr) { walk(y, see) })
}

// parts calls see for each expression of which an arranged expression consists.
func parts(x syntax.Expr, see func(syntax.Expr)) {
	switch x := x.(type) {
	case *syntax.Paren:
		see(x.X)
	case *syntax.Unary:
		see(x.X)
	case *syntax.Binary:
		see(x.X)
		see(x.Y)
	case *syntax.Interval:
		see(x.F)
		see(x.G)
	case *syntax.At:
		see(x.X)
	case *syntax.Quantified:
		see(x.X)
	}
}

// reads returns the indices of the variables that an expression reads, directly or by
// propositions, ascending.
func (r *resolver) reads(x syntax.Expr) []int {
	vars, seen := map[int]bool{}, map[int]bool{}
	var add func(n syntax.Name)
	add = func(n syntax.Name) {
		switch e := r.names.entries[n.Text]; e.kind {
		case kindVar:
			vars[e.index] = true
		case kindProp:
			if !seen[e.index] {
				seen[e.index] = true
				walk(r.Props[e.index].Expr, add)
			}
		}
	}
	walk(x, add)
	return slices.Sorted(maps.Keys(vars))
}
