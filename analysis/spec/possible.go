package spec

import (
	"fmt"
	"math"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// A monitor reads propositions and no values: it does not know that w > 30 implies w > 26. If a
// property compares variables of whole numbers only with literals, the values around the
// literals (Spec.candidates) cover every case, and what holds for none of them never holds.

// impossible returns warnings about propositions that hold in no state or in all states, and
// about a property that no values or all values violate. With quiet there is no warning about
// the property, since it has one already.
func (s *Spec) impossible(p *Property, m *Monitor, quiet bool) syntax.List {
	var out syntax.List
	warn := func(kind syntax.Kind, at syntax.Span, format string, args ...any) {
		out = append(out, &syntax.Diagnostic{Kind: kind, Warning: true, Span: at, Message: fmt.Sprintf(format, args...)})
	}
	x, ok := s.newSearch(p, m)
	if !ok {
		return nil
	}
	all := true
	for i, q := range p.Propositions {
		if q.Event >= 0 {
			continue
		}
		if !s.compares(q.Expr, map[int]bool{}) {
			all = false
			continue
		}
		if never, always := x.constant(i); never {
			warn(syntax.Doubtful, q.Expr.Where(), "%q can never hold", q.Text)
		} else if always {
			warn(syntax.Doubtful, q.Expr.Where(), "%q always holds", q.Text)
		}
	}
	if !all || quiet {
		return out
	}
	switch _, found, exhaustive := x.run(p.Events); {
	case !found && exhaustive:
		warn(syntax.NeverViolated, p.body, "property %q can never be violated, whatever the variables hold", p.Name)
	case found && x.badAtOnce():
		warn(syntax.AlwaysViolated, p.body, "property %q is violated by the first state of every run, whatever the variables hold", p.Name)
	}
	return out
}

// constant reports whether a proposition holds in no valuation, or in all.
func (x *search) constant(bit int) (never, always bool) {
	never, always = true, true
	for v := range x.total {
		x.set(uint32(v))
		if x.letters.Letter(x.values, 0)>>bit&1 == 0 {
			always = false
		} else {
			never = false
		}
	}
	return never, always
}

// badAtOnce reports whether the monitor is in a bad state after every first state of a run.
func (x *search) badAtOnce() bool {
	for v := range x.total {
		x.set(uint32(v))
		bad := false
		for _, start := range x.m.Start(nil) {
			for _, to := range x.m.Step(nil, start, x.letters.Letter(x.values, 0)) {
				bad = bad || x.m.Bad(to)
			}
		}
		if !bad {
			return false
		}
	}
	return true
}

// compares reports whether an expression consists of comparisons of variables that are declared
// int or uint with literals, and of variables that are declared bool. Propositions that were seen
// already are not read again.
func (s *Spec) compares(x syntax.Expr, seen map[int]bool) bool {
	switch x := x.(type) {
	case *syntax.Bool:
		return true
	case *syntax.Paren:
		return s.compares(x.X, seen)
	case *syntax.Unary:
		return x.Op == syntax.LogicalNot && s.compares(x.X, seen)
	case *syntax.Binary:
		if x.Op.IsComparison() {
			return s.whole(x.X) && literal(x.Y) || literal(x.X) && s.whole(x.Y)
		}
		return !x.Op.IsArithmetic() && s.compares(x.X, seen) && s.compares(x.Y, seen)
	case *syntax.Ident:
		switch e := s.names.entries[x.Name.Text]; e.kind {
		case kindVar:
			return s.Vars[e.index].Type == Bool
		case kindProp:
			if seen[e.index] {
				return true
			}
			seen[e.index] = true
			return s.compares(s.Props[e.index].Expr, seen)
		}
	}
	return false
}

// whole reports whether an expression is a variable that is declared int or uint.
func (s *Spec) whole(x syntax.Expr) bool {
	id, ok := unparen(x).(*syntax.Ident)
	if !ok {
		return false
	}
	e := s.names.entries[id.Name.Text]
	return e.kind == kindVar && (s.Vars[e.index].Type == Int || s.Vars[e.index].Type == Uint)
}

// literal reports whether an expression is a whole number small enough that candidates has its
// neighbours.
func literal(x syntax.Expr) bool {
	x = unparen(x)
	if n, ok := x.(*syntax.Unary); ok && n.Op == syntax.Negate {
		x = unparen(n.X)
	}
	n, ok := x.(*syntax.Number)
	return ok && !n.Float && n.Int < math.MaxInt32
}

// exhaustive reports whether the steps of a search, a write of one variable or a single event,
// are all that a run can take: with one event at most, which is no write or read of a variable.
func exhaustive(s *Spec, events []int) bool {
	return len(events) == 0 || len(events) == 1 && s.Events[events[0]].Var < 0
}
