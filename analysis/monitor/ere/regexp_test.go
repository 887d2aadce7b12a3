package ere

import "testing"

func TestText(t *testing.T) {
	p, notQ, any := One(Cube{True: 1}), One(Cube{False: 2}), One(Cube{})
	for _, c := range []struct {
		expression *Regexp
		want       string
	}{
		{Sequence(Times(any, 0, Unbounded), One(Cube{True: 1, False: 2}), Times(p, 1, Unbounded)), "{ }* { p0, !p1 } { p0 }+"},
		{Either(Sequence(p, notQ), Both(p, Either(notQ, EmptyWord()))), "{ p0 } { !p1 } | { p0 } & ({ !p1 } | epsilon)"},
		{Not(Not(p)), "!(!{ p0 })"},
		{Times(Not(p), 0, Unbounded), "(!{ p0 })*"},
		{Not(Times(p, 0, Unbounded)), "!({ p0 }*)"},
		{Times(Sequence(p, p), 2, 5), "({ p0 } { p0 }){2,5}"},
		{Times(Times(p, 0, 1), 2, Unbounded), "({ p0 }?){2,}"},
		{None(), "empty"},
	} {
		if got := c.expression.String(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	p := One(Cube{True: 1})
	if err := Times(Sequence(p, Not(p)), 2, Unbounded).Check(); err != nil {
		t.Error(err)
	}
	for name, r := range map[string]*Regexp{
		"nothing":           nil,
		"empty union":       Either(),
		"operand missing":   Not(nil),
		"bounds disordered": Times(p, 3, 2),
		"negative bound":    Times(p, -1, 2),
		"other negative":    Times(p, 0, -2),
		"large bound":       Times(p, 0, MaxRepeat+1),
		"unknown operator":  {Op: 99},
		"letter's operand":  {Op: Letter, Operands: []*Regexp{p}},
	} {
		if r.Check() == nil {
			t.Errorf("%s: taken for an expression", name)
		}
	}
}

func TestCubeMatches(t *testing.T) {
	c := Cube{True: 0b001, False: 0b010}
	for letter, want := range []bool{false, true, false, false, false, true, false, false} {
		if c.Matches(uint64(letter)) != want {
			t.Errorf("%03b: matches %v", letter, !want)
		}
	}
	if (Cube{True: 1, False: 1}).Matches(1) {
		t.Error("a contradiction matches")
	}
}
