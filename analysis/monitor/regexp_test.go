package monitor

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
)

// matches reports whether an expression matches a word, by the definition of expressions: it
// tries all ways to divide the word.
func matches(r *ere.Regexp, w []Letter) bool {
	switch r.Op {
	case ere.Epsilon:
		return len(w) == 0
	case ere.Letter:
		return len(w) == 1 && r.Cube.Matches(w[0])
	case ere.Concat:
		return matchesSequence(r.Operands, w)
	case ere.Union:
		for _, o := range r.Operands {
			if matches(o, w) {
				return true
			}
		}
		return false
	case ere.Intersection:
		for _, o := range r.Operands {
			if !matches(o, w) {
				return false
			}
		}
		return true
	case ere.Complement:
		return !matches(r.Operands[0], w)
	case ere.Repeat:
		return matchesTimes(r.Operands[0], r.Min, r.Max, w)
	default:
		return false
	}
}

func matchesSequence(operands []*ere.Regexp, w []Letter) bool {
	if len(operands) == 0 {
		return len(w) == 0
	}
	for i := range len(w) + 1 {
		if matches(operands[0], w[:i]) && matchesSequence(operands[1:], w[i:]) {
			return true
		}
	}
	return false
}

// matchesTimes divides the word into parts that are not empty. If they are fewer than the
// minimum, the others are empty.
func matchesTimes(r *ere.Regexp, minimum, maximum int, w []Letter) bool {
	if len(w) == 0 {
		return minimum <= 0 || matches(r, nil)
	}
	if maximum == 0 {
		return false
	}
	for i := 1; i <= len(w); i++ {
		if matches(r, w[:i]) && matchesTimes(r, minimum-1, lessOne(maximum), w[i:]) {
			return true
		}
	}
	return false
}

func lessOne(maximum int) int {
	if maximum == ere.Unbounded {
		return maximum
	}
	return maximum - 1
}

// randomExpression returns an expression of about size operators over n
// propositions.
func randomExpression(r *rand.Rand, size, n int) *ere.Regexp {
	if size <= 1 {
		switch r.IntN(12) {
		case 0:
			return ere.None()
		case 1:
			return ere.EmptyWord()
		}
		mask := uint64(1)<<n - 1
		return ere.One(ere.Cube{True: r.Uint64() & r.Uint64() & mask, False: r.Uint64() & r.Uint64() & mask})
	}
	left := 1 + r.IntN(size-1)
	operand := func(size int) *ere.Regexp { return randomExpression(r, size, n) }
	switch r.IntN(8) {
	case 0, 1:
		return ere.Sequence(operand(left), operand(size-left))
	case 2, 3:
		return ere.Either(operand(left), operand(size-left))
	case 4:
		return ere.Both(operand(left), operand(size-left))
	case 5:
		return ere.Not(operand(size - 1))
	case 6:
		return star(operand(size - 1))
	default:
		minimum := r.IntN(3)
		return ere.Times(operand(size-1), minimum, []int{minimum, minimum + 1, minimum + 2, ere.Unbounded}[r.IntN(4)])
	}
}

// allWords returns the words over n propositions of up to length letters,
// shortest first.
func allWords(n, length int) [][]Letter {
	words := [][]Letter{{}}
	for from := 0; length > 0; length-- {
		for to := len(words); from < to; from++ {
			for l := range Letter(1) << n {
				words = append(words, append(slices.Clone(words[from]), l))
			}
		}
	}
	return words
}

// readsAsBad reports whether a monitor is in a bad state after the word.
func readsAsBad(m Monitor, w []Letter) bool {
	states := m.Start(nil)
	for _, l := range w {
		var next []State
		for _, s := range states {
			next = m.Step(next, s, l)
		}
		states = next
	}
	for _, s := range states {
		if m.Bad(s) {
			return true
		}
	}
	return false
}

func TestExpressionsMatchBruteForce(t *testing.T) {
	const expressions, propositions, length = 4000, 2, 4
	words := allWords(propositions, length)
	r := rand.New(rand.NewPCG(5, 2))
	for range expressions {
		e := randomExpression(r, 1+r.IntN(9), propositions)
		d := ere.NewDerivatives(DefaultLimit)
		l := d.Language(e)
		m, err := FromERE(e, BadWords, Options{})
		if err != nil {
			t.Fatalf("%v: %v", e, err)
		}
		for _, w := range words {
			if got, want := accepts(d, l, w), matches(e, w); got != want {
				t.Fatalf("%v matches %b: %v, want %v", e, w, got, want)
			}
			want := false
			for i := range len(w) + 1 {
				want = want || matches(e, w[:i])
			}
			if got := readsAsBad(m, w); got != want {
				t.Fatalf("%v is bad after %b: %v, want %v", e, w, got, want)
			}
		}
	}
}

// TestGoodWordsAreThoseThatCanBeContinued: if a word can be continued into a match, it can be by
// fewer letters than the minimal automaton of its derivative has states. Brute force tries up
// to three: expressions are small, and those with larger automata are left out.
func TestGoodWordsAreThoseThatCanBeContinued(t *testing.T) {
	const expressions, propositions, length, further = 4000, 1, 4, 4
	words, continuations := allWords(propositions, length), allWords(propositions, further)
	r := rand.New(rand.NewPCG(5, 3))
	tried := 0
	for range expressions {
		e := randomExpression(r, 1+r.IntN(8), propositions)
		m, err := FromERE(e, GoodWords, Options{})
		if err != nil {
			t.Fatalf("%v: %v", e, err)
		}
		if x, _, ok := exploreERE(e, GoodWords, DefaultLimit); !ok || len(x.keys) > further+1 {
			continue
		}
		tried++
		for _, w := range words {
			want := true
			for _, c := range continuations {
				if matches(e, append(append([]Letter{}, w...), c...)) {
					want = false
					break
				}
			}
			if got := readsAsBad(m, w); got != want {
				t.Fatalf("%v is bad after %b: %v, want %v", e, w, got, want)
			}
		}
	}
	if tried < expressions/2 {
		t.Errorf("only %d expressions had small automata", tried)
	}
}

func TestFromERENamesWhatGrows(t *testing.T) {
	a := ere.One(ere.Cube{True: 1})
	any := ere.One(ere.Cube{})
	guilty := ere.Sequence(star(any), a, ere.Times(any, 20, 20))
	_, err := FromERE(ere.Either(a, ere.Sequence(ere.Both(star(any), guilty), a)), GoodWords, Options{Limit: 1000})
	var size *SizeError
	if !errors.As(err, &size) || size.Part != guilty || size.Limit != 1000 {
		t.Errorf("%v", err)
	}
	if _, err := FromERE(ere.Not(nil), BadWords, Options{}); err == nil {
		t.Error("an expression without operand is taken")
	}
}

// TestRepetitionsOfRepetitions compares all small bounds with brute force. Some leave gaps, as
// {2,3} at most twice does.
func TestRepetitionsOfRepetitions(t *testing.T) {
	a := ere.One(ere.Cube{True: 1})
	for inner := range 25 {
		for outer := range 25 {
			e := ere.Times(ere.Times(a, inner%5, boundAbove(inner)), outer%5, boundAbove(outer))
			d := ere.NewDerivatives(DefaultLimit)
			l := d.Language(e)
			var w []Letter
			for range 10 {
				if got, want := accepts(d, l, w), matches(e, w); got != want {
					t.Fatalf("%v matches %d letters: %v, want %v", e, len(w), got, want)
				}
				w = append(w, 1)
			}
		}
	}
	for range 20 {
		a = ere.Times(a, ere.MaxRepeat-1, ere.MaxRepeat)
	}
	if _, err := FromERE(a, GoodWords, Options{Limit: 1000}); err == nil {
		t.Error("10¹⁰⁰ letters are counted")
	}
}

// boundAbove returns an upper bound for the lower one i%5.
func boundAbove(i int) int {
	if i/5 == 4 {
		return ere.Unbounded
	}
	return i%5 + i/5
}

func TestAutomataOfExpressionsAreSmall(t *testing.T) {
	p, q := ere.One(ere.Cube{True: 1}), ere.One(ere.Cube{True: 2})
	any := ere.One(ere.Cube{})
	for _, c := range []struct {
		expression *ere.Regexp
		reading    Reading
		states     int
	}{
		{ere.Sequence(star(any), p, star(any)), BadWords, 2},
		{ere.Sequence(star(any), p, any, q), BadWords, 5},
		{ere.Times(p, 2000, 2000), GoodWords, 2002},
		{star(ere.Sequence(p, q)), GoodWords, 3},
		{ere.EmptyWord(), BadWords, 1},
		{ere.None(), BadWords, 1},
		{ere.Not(ere.None()), GoodWords, 1},
		{ere.None(), GoodWords, 1},
	} {
		m, err := FromERE(c.expression, c.reading, Options{})
		if err != nil {
			t.Errorf("%v: %v", c.expression, err)
			continue
		}
		if m.States() != c.states || !m.minimal {
			t.Errorf("%v: %d states, want %d", c.expression, m.States(), c.states)
		}
	}
}

func star(r *ere.Regexp) *ere.Regexp { return ere.Times(r, 0, ere.Unbounded) }

func plus(r *ere.Regexp) *ere.Regexp { return ere.Times(r, 1, ere.Unbounded) }

// accepts reports whether a word is in a language, by its derivatives.
func accepts(d *ere.Derivatives, l ere.Language, w []Letter) bool {
	for _, letter := range w {
		l = d.Table.Eval(d.Derivative(l), letter)
	}
	return d.Nullable(l)
}
