package monitor

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
)

var _ Monitor = (*Deterministic)(nil)

// TestFormulasMatchTheOracle compares monitors with the oracle on all words
// up to a length, and the decision of safety, for random formulas.
func TestFormulasMatchTheOracle(t *testing.T) {
	const formulas, propositions, length = 3000, 2, 4
	words := allWords(propositions, length)
	r := rand.New(rand.NewPCG(7, 1))
	safe, unsafe := 0, 0
	for range formulas {
		f := randomFormula(r, 2+r.IntN(8), propositions, false)
		if count, _ := temporalParts(f); count > 4 {
			continue
		}
		o := newOracle(f, propositions)
		checkSafety(t, f, o, &safe, &unsafe)
		m, _, err := FromLTL(f, Options{Partial: true})
		if err != nil {
			t.Fatalf("%v: %v", f, err)
		}
		for _, w := range words {
			if got, want := readsAsBad(m, w), o.bad(w); got != want {
				t.Fatalf("%v is bad after %b: %v, want %v", f, w, got, want)
			}
		}
	}
	if safe < formulas/4 || unsafe < formulas/20 {
		t.Errorf("%d formulas were safe and %d not: too few to tell", safe, unsafe)
	}
}

func checkSafety(t *testing.T, f *ltl.Formula, o *oracle, safe, unsafe *int) {
	t.Helper()
	_, _, err := FromLTL(f, Options{})
	var not *NotSafetyError
	switch want := o.safety(); {
	case err != nil && !errors.As(err, &not):
		t.Fatalf("%v: %v", f, err)
	case want != (err == nil):
		t.Fatalf("%v: %v, is safe: %v", f, err, want)
	case want:
		*safe++
	default:
		*unsafe++
	}
}

// TestOracleAgainstLassos compares the oracle with the definitions of the operators: on a word
// that repeats, the oracle must find the formula true exactly when the definitions do, and no
// prefix of a word that satisfies it may be bad.
func TestOracleAgainstLassos(t *testing.T) {
	const formulas, propositions = 1000, 2
	words := allWords(propositions, 3)
	r := rand.New(rand.NewPCG(7, 2))
	for range formulas {
		f := randomFormula(r, 2+r.IntN(7), propositions, false)
		count, depth := temporalParts(f)
		if count > 4 {
			continue
		}
		o := newOracle(f, propositions)
		for range 20 {
			stem, loop := words[r.IntN(len(words))], words[1+r.IntN(len(words)-1)]
			want := holds(f, newLasso(stem, loop, depth), 0)
			if got := o.satisfies(stem, loop); got != want {
				t.Fatalf("%v on %b(%b): %v, want %v", f, stem, loop, got, want)
			}
			prefix := append(append([]Letter{}, stem...), loop...)
			if want && o.bad(prefix) {
				t.Fatalf("%v is bad after %b, which (%b) continues", f, prefix, loop)
			}
		}
	}
}

// satisfies reports whether the oracle has a fulfilling path for the word stem loop loop …, in
// the product of the word's positions and the atoms.
func (o *oracle) satisfies(stem, loop []Letter) bool {
	n := len(stem) + len(loop)
	letter := append(append([]Letter{}, stem...), loop...)
	follows := func(i int) int {
		if i+1 < n {
			return i + 1
		}
		return len(stem)
	}
	next := make([][]int, n*len(o.atoms))
	for i := range n {
		for a := range o.atoms {
			for _, b := range o.next[a] {
				if o.atoms[a].letter == letter[i] && o.atoms[b].letter == letter[follows(i)] {
					next[i*len(o.atoms)+a] = append(next[i*len(o.atoms)+a], follows(i)*len(o.atoms)+b)
				}
			}
		}
	}
	g := graph{next: next, fulfils: func(states []int) bool {
		var atoms []int
		for _, s := range states {
			atoms = append(atoms, s%len(o.atoms))
		}
		return o.fulfils(atoms)
	}}
	live := g.live()
	for _, a := range o.start(true) {
		if o.atoms[a].letter == letter[0] && live[a] {
			return true
		}
	}
	return false
}
