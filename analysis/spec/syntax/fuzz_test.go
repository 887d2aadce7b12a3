package syntax

import (
	"testing"
)

// FuzzParse checks that any text is read to its end without panic, that each error has a
// position, and that what was read can be arranged.
func FuzzParse(f *testing.F) {
	f.Add(listing)
	f.Add(scopeText)
	f.Add("var v : int = `a b`\nprop p = v & 1 == 1 | ~v << 2 > -3\nproperty f \"m\" = always (p -> [p, !p)w since Y p)\n")
	f.Add("property g = ere bad ({ }* {p, !q}{2,5} | ~(a b?)+ & eps)\nproperty h = automaton { state a { {p} -> b }\n bad state b }\n")
	f.Add("property r (c : struct conn *) \"m\" = always (use -> c.refs > 0 && c.a.b & 4)\nproperty s (fd : int) = ere bad { c.open, !x }*\n")
	f.Add("typestate t (q : struct queue *) {\n c = return f -> q\n state s { c -> s }\n ere good c* }")
	f.Add("typestate t (p : int) born at first use reborn at next use {\n r = return pipe(*p : int)\n w = return pipe(p[1])\n}\n")
	f.Add("mttl m = forall i : t, j : t, i != j . @i (a > 0 -> !(a = @j @i (a)))\nlocal a : int = 0 { on e : a := 1; on f : ; }")
	f.Fuzz(func(t *testing.T, text string) {
		src := NewSource("f.tps", text)
		file, errs := Parse(src)
		for _, e := range errs {
			if !e.Span.IsValid() || e.Span.Off > len(text) {
				t.Fatalf("no place: %v", e)
			}
			_ = e.Detail()
		}
		for _, d := range file.Decls {
			arrangeAll(d)
		}
	})
}

func arrangeAll(d Decl) {
	var xs []Expr
	switch d := d.(type) {
	case *Event:
		xs = append(xs, d.When)
	case *Prop:
		xs = append(xs, d.Expr)
	case *Property:
		xs = append(xs, d.Formula)
	case *MTTL:
		xs = append(xs, d.Formula)
	case *Scope:
		for _, a := range d.Atoms {
			xs = append(xs, a.Expr)
		}
		for _, c := range d.Checks {
			xs = append(xs, c.Formula)
		}
	}
	for _, x := range xs {
		if x != nil {
			y, errs := Arrange(x, numbers)
			_ = dump(y)
			for _, e := range errs {
				_ = e.Detail()
			}
		}
	}
}
