package spec

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// typestate checks that each event binds the object, and that the events and states that are
// mentioned are declared. It adds warnings about states that cannot be reached.
func (r *resolver) typestate(d *syntax.Typestate) {
	events := map[string]int{}
	for i := range d.Events {
		e := &d.Events[i]
		if before, ok := events[e.Name.Text]; ok {
			r.twice(e.Name, d.Events[before].Name.Span)
		}
		events[e.Name.Text] = i
		r.typestateEvent(d, e)
	}
	known := func(n syntax.Name) {
		if _, ok := events[n.Text]; !ok {
			r.unknownAmong(n, "event", events)
		}
	}
	if d.Good != nil {
		walkRegex(d.Good, known)
	}
	index := r.states(d.States)
	for _, s := range d.States {
		for _, e := range s.Edges {
			known(e.Event)
			r.target(index, e.To)
		}
	}
	reached := reachable(d.States, index)
	for i, s := range d.States {
		if !reached[i] {
			r.warn(syntax.Unreachable, s.Name.Span, "no sequence of events leads to state %q", s.Name.Text)
		}
	}
}

// typestateEvent checks that the pattern of an event binds the object.
func (r *resolver) typestateEvent(d *syntax.Typestate, e *syntax.Event) {
	if !slices.Contains(boundBy(e), d.Object.Text) {
		r.problem(syntax.TypeMismatch, e.Name.Span, "the pattern of %q does not bind %q, which tells objects apart", e.Name.Text, d.Object.Text)
	}
}

// reachable returns, for each state, whether transitions lead to it from the first one.
func reachable(states []syntax.State, index map[string]int) []bool {
	reached := make([]bool, len(states))
	if len(states) == 0 {
		return reached
	}
	reached[0] = true
	for todo := []int{0}; len(todo) > 0; todo = todo[1:] {
		for _, e := range states[todo[0]].Edges {
			if to, ok := index[e.To.Text]; ok && !reached[to] {
				reached[to] = true
				todo = append(todo, to)
			}
		}
	}
	return reached
}

// walkRegex calls see for each name in a regular expression.
func walkRegex(x syntax.Regex, see func(syntax.Name)) {
	all := func(parts []syntax.Regex) {
		for _, p := range parts {
			walkRegex(p, see)
		}
	}
	switch x := x.(type) {
	case *syntax.Letter:
		for _, l := range x.Literals {
			see(l.Name)
		}
	case *syntax.Cat:
		all(x.Parts)
	case *syntax.Alt:
		all(x.Parts)
	case *syntax.And:
		all(x.Parts)
	case *syntax.Not:
		walkRegex(x.X, see)
	case *syntax.Repeat:
		walkRegex(x.X, see)
	}
}
