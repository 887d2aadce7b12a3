package ltl

import "testing"

func TestText(t *testing.T) {
	p, q, r := Proposition(0), Proposition(1), Proposition(2)
	name := func(i int) string { return string(rune('p' + i)) }
	for _, c := range []struct {
		formula *Formula
		want    string
	}{
		{Unary(Always, Binary(Implies, q, Binary(Since, Binary(And, r, p), Unary(Start, p)))), "always (q -> ((r && p) since start(p)))"},
		{Unary(Not, Unary(Not, p)), "!!p"},
		{Unary(Always, Unary(Prev, Unary(Not, p))), "always prev !p"},
		{Binary(And, p, Binary(And, q, r)), "p && q && r"},
		{Binary(Or, p, Binary(And, q, r)), "p || (q && r)"},
		{Binary(Implies, Binary(Implies, p, q), r), "(p -> q) -> r"},
		{Unary(Not, Binary(Interval, p, Binary(Or, q, r))), "![p, q || r)"},
		{Binary(WeakInterval, p, q), "[p, q)w"},
		{Unary(End, Binary(Xor, Constant(true), Constant(false))), "end(true xor false)"},
		{Unary(Yesterday, Unary(WeakPrev, p)), "Y Z p"},
	} {
		if got := c.formula.Text(name); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	if got := Binary(Until, p, r).String(); got != "p0 until p2" {
		t.Error(got)
	}
}

func TestCheck(t *testing.T) {
	p := Proposition(63)
	for _, f := range []*Formula{p, Binary(And, p, p), Unary(Not, Constant(false))} {
		if err := f.Check(); err != nil {
			t.Errorf("%v: %v", f, err)
		}
	}
	for name, f := range map[string]*Formula{
		"nothing":            nil,
		"proposition 64":     Proposition(64),
		"proposition -1":     Proposition(-1),
		"an operand too few": Unary(And, p),
		"too many operands":  Binary(Not, p, p),
		"unknown operator":   Unary(Op(200), p),
		"deep inside":        Unary(Not, Unary(Not, Proposition(99))),
	} {
		if f.Check() == nil {
			t.Errorf("%s: taken for a formula", name)
		}
	}
}
