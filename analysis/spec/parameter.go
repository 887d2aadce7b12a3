package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// This file resolves properties of each object of a type. Their fields become variables of the Spec, whose paths are those
// that --watch takes, "state of struct conn". A name in the text, c.state, is replaced by that path, under which the
// variable is declared: no other name has blanks.

// fieldName returns the field that a name is of the object of the property that is being resolved: "state" of c.state.
func (r *resolver) fieldName(n syntax.Name) (field string, ok bool) {
	if r.of == nil {
		return "", false
	}
	return strings.CutPrefix(n.Text, r.of.Name.Text+".")
}

// fieldHint returns where the name of a field may stand.
func (r *resolver) fieldHint(object, field string) string {
	if r.of != nil {
		return fmt.Sprintf("a field of the property's object is %s.%s", r.of.Name.Text, field)
	}
	return fmt.Sprintf("a field is of the object of a property, and written in it: property NAME (%s : TYPE) = …", object)
}

// field replaces the name of a field by that of its variable, which it declares if need be.
func (r *resolver) field(n *syntax.Name) {
	field, ok := r.fieldName(*n)
	if !ok {
		return
	}
	path := field + " of " + typeOf(r.of.Type.Text)
	if _, declared := r.names.entries[path]; !declared {
		r.names.add(path, entry{kindVar, len(r.Vars), n.Span, path})
		r.Vars = append(r.Vars, Var{Name: n.Text, Path: path, Span: n.Span, At: n.Span, Field: true})
	}
	n.Text = path
}

// fieldsIn replaces the names of fields in an arranged expression.
func (r *resolver) fieldsIn(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.Ident:
		r.field(&x.Name)
	case *syntax.Paren:
		r.fieldsIn(x.X)
	case *syntax.Unary:
		r.fieldsIn(x.X)
	case *syntax.Binary:
		r.fieldsIn(x.X)
		r.fieldsIn(x.Y)
	case *syntax.Interval:
		r.fieldsIn(x.F)
		r.fieldsIn(x.G)
	}
}

// typeOf returns the type of the objects that a pointer or a reference leads to: struct conn of const struct conn *.
func typeOf(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = strings.TrimPrefix(strings.TrimRight(text, "*& "), "const ")
	return strings.TrimSuffix(text, " const")
}

// parameter sets what of a property is of each object, once it is known what the property mentions.
func (b *body) parameter(d *syntax.Parameter) {
	if d == nil {
		return
	}
	if before, ok := b.names.entries[d.Name.Text]; ok {
		b.twice(d.Name, before.span)
	}
	of := &Parameter{Name: d.Name.Text, Type: d.Type.Text, At: d.Type.Span}
	for _, v := range b.p.Vars {
		if b.Vars[v].Field {
			of.Fields = append(of.Fields, v)
		}
	}
	for _, i := range b.p.Events {
		e := &b.Spec.Events[i]
		if at := slices.Index(e.Bound, of.Name); at >= 0 && (e.Op == syntax.OpCall || e.Op == syntax.OpReturn) {
			of.Events = append(of.Events, OwnEvent{i, at})
		}
	}
	b.p.Of = of
	if len(of.Fields)+len(of.Events) == 0 && !b.problems[b.earlier:].HasErrors() {
		b.problem(syntax.TypeMismatch, d.Name.Span, "the property mentions nothing of %q: write a field of it as %s.FIELD, or an event whose pattern binds it, as call f(%s)", d.Name.Text, d.Name.Text, d.Name.Text)
	}
}

// own returns the events of one object that a property mentions.
func (p *Property) own() []OwnEvent {
	if p.Of == nil {
		return nil
	}
	return p.Of.Events
}
