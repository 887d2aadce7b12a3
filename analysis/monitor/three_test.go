package monitor

import (
	"math/rand/v2"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
)

// TestThreeValuesMatchTheOracle compares verdicts with the oracle on all words up to a length: false where the oracle finds
// the word bad, true where it finds it bad for the negation.
func TestThreeValuesMatchTheOracle(t *testing.T) {
	const formulas, propositions, length = 600, 2, 4
	words := allWords(propositions, length)
	r := rand.New(rand.NewPCG(44, 3))
	seen := map[Verdict]int{}
	for range formulas {
		f := randomFormula(r, 2+r.IntN(8), propositions, false)
		if count, _ := temporalParts(f); count > 4 {
			continue
		}
		m, err := FromLTL3(f, Options{})
		if err != nil {
			t.Fatalf("%v: %v", f, err)
		}
		o, not := newOracle(f, propositions), newOracle(ltl.Unary(ltl.Not, f), propositions)
		for _, w := range words {
			want := Unknown
			switch {
			case o.bad(w):
				want = False
			case not.bad(w):
				want = True
			}
			at := m.Start()
			for _, l := range w {
				at = m.Next(at, l)
			}
			if got := m.Verdict(at); got != want {
				t.Fatalf("%v is %v after %b, want %v", f, got, w, want)
			}
			seen[want]++
		}
	}
	for _, v := range []Verdict{Unknown, True, False} {
		if seen[v] < 1000 {
			t.Errorf("%d words are %v: too few to tell", seen[v], v)
		}
	}
}

// TestThreeValuedErrors: a future operator under a past one has no monitor, and liveness has one.
func TestThreeValuedErrors(t *testing.T) {
	p := ltl.Proposition(0)
	if _, err := FromLTL3(ltl.Unary(ltl.Once, ltl.Unary(ltl.Next, p)), Options{}); err == nil {
		t.Error("a future operator under a past one has a monitor")
	}
	m, err := FromLTL3(ltl.Unary(ltl.Always, ltl.Unary(ltl.Eventually, p)), Options{})
	if err != nil || m.Verdict(m.Next(m.Start(), 0)) != Unknown {
		t.Errorf("infinitely often: %v", err)
	}
}
