package spec

import (
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Found is a watched variable that was found in the program.
type Found struct {
	Path string      // as --watch takes it: a path of the specification, or another
	Name string      // in the program, with all its scopes
	Form *event.Form // of its values
}

// Fit compares the specification with the watched variables of a program. It returns errors for
// what does not fit: types, constants of enumerations, and names by which events would not
// distinguish two variables. Variables that were not found are ignored.
func (s *Spec) Fit(found []Found) syntax.List {
	r := &resolver{Spec: s}
	of := make([]*Found, len(s.Vars)) // by Spec.Vars: the variable with its path
	forms := make([]*event.Form, len(s.Vars))
	var known []int
	for i := range s.Vars {
		at := slices.IndexFunc(found, func(f Found) bool { return f.Path == s.Vars[i].Path })
		if s.Vars[i].Used && at >= 0 {
			of[i], forms[i] = &found[at], found[at].Form
			known = append(known, i)
		}
	}
	for _, i := range known {
		r.checkDistinct(i, of)
	}
	for i := range found {
		r.checkOther(&found[i], of)
	}
	(&state{resolver: r, forms: forms, formsKnown: true}).checkTypes(known)
	for _, p := range s.Properties {
		if !slices.ContainsFunc(p.Vars, func(i int) bool { return of[i] == nil }) {
			_, problems := s.Letters(p, forms)
			r.problems = append(r.problems, problems...)
		}
	}
	for _, f := range s.Formulas {
		if !slices.ContainsFunc(f.Vars, func(i int) bool { return of[i] == nil }) {
			_, _, problems := s.Knowledge(f, forms)
			r.problems = append(r.problems, problems...)
		}
	}
	for i := range s.Events {
		r.checkBoundFloat(&s.Events[i], forms)
	}
	return s.Sorted(r.problems)
}

// checkDistinct checks that the i-th variable of the specification is the only one with its
// name in the program, and that its path denotes that name.
func (r *resolver) checkDistinct(i int, of []*Found) {
	v := &r.Vars[i]
	for j := range i {
		if of[j] != nil && of[j].Name == of[i].Name {
			r.problem(syntax.DeclaredTwice, v.At, "%q and %q are both called %s in the program, so that events do not tell them apart: declare one", r.Vars[j].Path, v.Path, of[i].Name)
			return
		}
	}
	if r.Name(of[i].Name) < 0 {
		r.problem(syntax.UnknownName, v.At, "%q stands for %s: write that, in backquotes if need be", v.Path, of[i].Name)
	}
}

// checkOther checks that no declared variable's path denotes another watched variable too.
func (r *resolver) checkOther(f *Found, of []*Found) {
	i := r.Name(f.Name)
	if i >= 0 && of[i] != nil && of[i].Name != f.Name {
		r.problem(syntax.UnknownName, r.Vars[i].At, "%q stands for %s here, and events of %s, which is watched too, would be taken for it: write more of the name, or do not watch both", r.Vars[i].Path, of[i].Name, f.Name)
	}
}

// checkBoundFloat reports an error if an event binds the value of a variable that is a float in
// the program and has no declared type. Expressions over bound values are compiled before the
// program is known, and compute with such a value as an integer.
func (r *resolver) checkBoundFloat(e *Event, forms []*event.Form) {
	if !e.Used || e.Var < 0 || e.Result < 0 || forms[e.Var] == nil {
		return
	}
	if v := &r.Vars[e.Var]; v.Type == Unknown && forms[e.Var].Class == event.FormFloat {
		r.problem(syntax.TypeMismatch, e.At, "%q is a float, and its value is computed with: declare it, var %s : float", v.Name, v.Name)
	}
}

// Sorted returns the problems in the order of the text, without duplicates, and with no more
// than syntax.MaxErrors errors.
func (s *Spec) Sorted(problems syntax.List) syntax.List {
	seen := map[string]bool{}
	problems = slices.DeleteFunc(problems, func(d *syntax.Diagnostic) bool {
		key := fmt.Sprint(d.Span.Pos, d.Message)
		defer func() { seen[key] = true }()
		return seen[key]
	})
	kept, _ := problems.Sort(func(src *syntax.Source) int { return slices.Index(s.sources, src) })
	return kept
}

// Missing returns an error for each declaration that needs something that the program does not
// have: a variable or a lock, by its path, or a function, by its pattern as --on takes it. The
// parameter why is the reason, for the user.
func (s *Spec) Missing(what, why string) syntax.List {
	var out syntax.List
	report := func(at syntax.Span, text string) {
		if slices.ContainsFunc(out, func(d *syntax.Diagnostic) bool { return d.Span == at && d.Message == text }) {
			return // several events of one request
		}
		out = append(out, &syntax.Diagnostic{Kind: syntax.UnknownName, Span: at, Message: text})
	}
	for _, v := range s.Vars {
		if v.Used && v.Path == what {
			report(v.At, fmt.Sprintf("%q cannot be watched: %s", v.Path, why))
		}
	}
	for _, l := range s.Syncs {
		if l.Used && l.Class == "" && l.Path == what {
			report(l.At, fmt.Sprintf("the %s %q cannot be found: %s", l.Kind, l.Path, why))
		}
	}
	for _, e := range s.Events {
		if e.Used && e.On != "" && e.On == what {
			report(e.At, why)
		}
	}
	return s.Sorted(out)
}
