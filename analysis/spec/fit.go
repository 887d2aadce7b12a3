package spec

import (
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Found is a variable of the program that is watched.
type Found struct {
	Path string      // as given to --watch
	Name string      // in the program, with all its scopes
	Form *event.Form // the form of its values
}

// Fit compares the specification with the variables that were found in a program, by the
// specification's paths and others. It returns what does not fit: types, constants of
// enumerations, and names that events could not distinguish. Variables that were not found
// are ignored.
func (s *Spec) Fit(found []Found) syntax.List {
	r := &resolver{Spec: s}
	of := make([]*Found, len(s.Vars))
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
		r.distinct(i, of)
	}
	for i := range found {
		r.other(&found[i], of)
	}
	(&state{resolver: r, forms: forms, bound: true}).declared(known)
	for _, p := range s.Properties {
		if !slices.ContainsFunc(p.Vars, func(i int) bool { return of[i] == nil }) {
			_, problems := s.Letters(p, forms)
			r.problems = append(r.problems, problems...)
		}
	}
	for i := range s.Events {
		r.boundFloat(&s.Events[i], forms)
	}
	return s.Sorted(r.problems)
}

// distinct checks that a variable is identified by its name, and has only one name.
func (r *resolver) distinct(i int, of []*Found) {
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

// other checks that a further watched variable cannot be mistaken for a declared one.
func (r *resolver) other(f *Found, of []*Found) {
	i := r.Name(f.Name)
	if i >= 0 && of[i] != nil && of[i].Name != f.Name {
		r.problem(syntax.UnknownName, r.Vars[i].At, "%q stands for %s here, and events of %s, which is watched too, would be taken for it: write more of the name, or do not watch both", r.Vars[i].Path, of[i].Name, f.Name)
	}
}

// boundFloat reports an error where an event binds a floating-point value: expressions over
// bound values are compiled before the program is known, for whole numbers.
func (r *resolver) boundFloat(e *Event, forms []*event.Form) {
	if !e.Used || e.Var < 0 || e.Result < 0 || forms[e.Var] == nil {
		return
	}
	if v := &r.Vars[e.Var]; v.Type == Unknown && forms[e.Var].Class == event.FormFloat {
		r.problem(syntax.TypeMismatch, e.At, "%q is a float, and its value is computed with: declare it, var %s : float", v.Name, v.Name)
	}
}

// Sorted returns the problems in the order of the text, without duplicates.
func (s *Spec) Sorted(problems syntax.List) syntax.List {
	said := map[string]bool{}
	problems = slices.DeleteFunc(problems, func(d *syntax.Diagnostic) bool {
		key := fmt.Sprint(d.Span.Pos, d.Message)
		defer func() { said[key] = true }()
		return said[key]
	})
	kept, _ := problems.Sort(func(src *syntax.Source) int { return slices.Index(s.sources, src) })
	return kept
}

// Missing returns errors, where the specification mentions it, for something that the
// program does not have: a variable or a lock by its path, or a function by its pattern as
// --on takes it. It is empty if the specification does not mention it.
func (s *Spec) Missing(asked, why string) syntax.List {
	var out syntax.List
	say := func(at syntax.Span, text string) {
		out = append(out, &syntax.Diagnostic{Kind: syntax.UnknownName, Span: at, Message: text})
	}
	for _, v := range s.Vars {
		if v.Used && v.Path == asked {
			say(v.At, fmt.Sprintf("%q cannot be watched: %s", v.Path, why))
		}
	}
	for _, l := range s.Syncs {
		if l.Used && l.Class == "" && l.Path == asked {
			say(l.At, fmt.Sprintf("the %s %q cannot be found: %s", l.Kind, l.Path, why))
		}
	}
	for _, e := range s.Events {
		if e.Used && e.On != "" && e.On == asked {
			say(e.At, why)
		}
	}
	return s.Sorted(out)
}
