package spec

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// Handle is a place where a pattern binds an object of a typestate, or of a property of objects, whose type the block
// says to be a pointer or a reference.
type Handle struct {
	On    string      // the pattern, as --on takes it
	Param int         // the position of the parameter in the source, from 0; OfResult
	Type  string      // as written
	Span  syntax.Span // of Type
}

// OfResult: a Handle is the result of its function.
const OfResult = -2

// Handles returns the places where the specification's own patterns bind objects, but those that are instances of methods
// and those that functions have stored. The types in installed specifications are those of one version of a library, and
// are left out.
func (s *Spec) Handles() (out []Handle) {
	add := func(event, bound int, typ string, at syntax.Span) {
		e := &s.Events[event]
		if !e.Used || e.On == "" || bound < 0 || s.installed[at.Src] || strings.TrimRight(typ, "*& ") == strings.TrimSpace(typ) {
			return
		}
		param := OfResult
		if bound != e.Result {
			if bound >= len(e.params) || e.params[bound].stored || e.params[bound].index < 0 {
				return
			}
			param = e.params[bound].index
		}
		out = append(out, Handle{e.On, param, typ, at})
	}
	for _, t := range s.Typestates {
		for _, u := range t.Calls {
			add(u.Event, u.Object, t.Type, t.At)
		}
	}
	for _, p := range s.Properties {
		for _, e := range p.own() {
			add(e.Event, e.Object, p.Of.Type, p.Of.At)
		}
	}
	return out
}

// Mistyped returns a warning: in the program the object of a handle, what, has another type.
func (h *Handle) Mistyped(what, typ string) *syntax.Diagnostic {
	return &syntax.Diagnostic{Kind: syntax.UnknownName, Warning: true, Span: h.Span,
		Message: fmt.Sprintf("the type is %q here, but %s is a %q: write that, or name another function", h.Type, what, typ)}
}
