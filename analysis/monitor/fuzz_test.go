package monitor

import (
	"errors"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
)

// program reads formulas and expressions from bytes, in reverse Polish notation: each byte is an
// operator on a stack, and an operand that is missing there is an atom.
type program []byte

func (b program) formula() *ltl.Formula {
	var stack []*ltl.Formula
	pop := func() *ltl.Formula {
		if len(stack) == 0 {
			return ltl.Proposition(len(b) % 2)
		}
		f := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		return f
	}
	for _, c := range b {
		op := ltl.Op(c) % (ltl.WeakInterval + 3)
		switch {
		case op > ltl.WeakInterval || op == ltl.Atom:
			stack = append(stack, ltl.Proposition(int(c>>6)%2))
		case op.Arity() == 0:
			stack = append(stack, ltl.Constant(op == ltl.True))
		case op.Arity() == 1:
			stack = append(stack, ltl.Unary(op, pop()))
		default:
			r := pop()
			stack = append(stack, ltl.Binary(op, pop(), r))
		}
	}
	return pop()
}

func (b program) expression() *ere.Regexp {
	var stack []*ere.Regexp
	pop := func() *ere.Regexp {
		if len(stack) == 0 {
			return ere.One(ere.Cube{True: 1})
		}
		r := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		return r
	}
	for _, c := range b {
		switch op := ere.Op(c % 10); op {
		case ere.Empty:
			stack = append(stack, ere.None())
		case ere.Epsilon:
			stack = append(stack, ere.EmptyWord())
		case ere.Concat, ere.Union, ere.Intersection:
			r := pop()
			stack = append(stack, &ere.Regexp{Op: op, Operands: []*ere.Regexp{pop(), r}})
		case ere.Complement:
			stack = append(stack, ere.Not(pop()))
		case ere.Repeat:
			minimum := int(c>>4) % 4
			maximum := minimum + int(c>>6)
			if maximum == minimum+3 {
				maximum = ere.Unbounded
			}
			stack = append(stack, ere.Times(pop(), minimum, maximum))
		default:
			stack = append(stack, ere.One(ere.Cube{True: uint64(c>>4) & 3, False: uint64(c>>6) & 3}))
		}
	}
	return pop()
}

func (b program) temporal() int {
	n := 0
	for _, c := range b {
		if op := ltl.Op(c) % (ltl.WeakInterval + 3); op.IsFuture() || op.IsPast() {
			n++
		}
	}
	return n
}

// FuzzFormula builds monitors of any formula within a small limit, and
// compares those of few temporal operators with the oracle.
func FuzzFormula(f *testing.F) {
	f.Add([]byte{2, byte(ltl.Once), 66, byte(ltl.Implies), byte(ltl.Always)})
	f.Add([]byte{2, 66, byte(ltl.Since), byte(ltl.Next), byte(ltl.Not), 66, byte(ltl.Until)})
	f.Add([]byte{2, byte(ltl.Next), byte(ltl.Once)})
	words := allWords(2, 3)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 200 {
			return
		}
		formula := program(data).formula()
		_ = formula.String()
		m, _, err := FromLTL(formula, Options{Limit: 300, Partial: true})
		var size *SizeError
		var under *FutureUnderPastError
		switch {
		case errors.As(err, &size), errors.As(err, &under):
			return
		case err != nil:
			t.Fatalf("%v: %v", formula, err)
		}
		if word, ok := m.ShortestBad(); ok != canBeViolated(m) || ok && !readsAsBad(m, word) {
			t.Fatalf("%v: %b is not bad", formula, word)
		}
		if program(data).temporal() > 3 {
			return
		}
		o := newOracle(formula, 2)
		for _, w := range words {
			if got, want := readsAsBad(m, w), o.bad(w); got != want {
				t.Fatalf("%v is bad after %b: %v, want %v", formula, w, got, want)
			}
		}
		if _, _, err := FromLTL(formula, Options{Limit: 300}); (err == nil) != o.safety() {
			t.Fatalf("%v: %v", formula, err)
		}
	})
}

// FuzzExpression builds monitors of any expression within a small limit, and
// compares them with the definitions on short words.
func FuzzExpression(f *testing.F) {
	f.Add([]byte{7, 0x17, 3, 0xe7, 7, 3, 6, 5})
	f.Add([]byte{0x12, 0x22, 4, 0xd7, 6, 1, 5, 3})
	words := allWords(2, 2)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 200 {
			return
		}
		e := program(data).expression()
		_ = e.String()
		for _, reading := range []Reading{BadWords, GoodWords} {
			m, err := FromERE(e, reading, Options{Limit: 300})
			var size *SizeError
			if errors.As(err, &size) {
				continue
			}
			if err != nil {
				t.Fatalf("%v: %v", e, err)
			}
			if reading == GoodWords || len(data) > 12 {
				continue
			}
			for _, w := range words {
				want := matches(e, nil)
				for i := range w {
					want = want || matches(e, w[:i+1])
				}
				if got := readsAsBad(m, w); got != want {
					t.Fatalf("%v is bad after %b: %v, want %v", e, w, got, want)
				}
			}
		}
	})
}
