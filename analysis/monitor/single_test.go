package monitor

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
)

// singleWords returns the words of up to length letters, each of one of n propositions.
func singleWords(n, length int) [][]Letter {
	words := [][]Letter{{}}
	for from := 0; length > 0; length-- {
		for to := len(words); from < to; from++ {
			for p := range n {
				words = append(words, append(slices.Clone(words[from]), Letter(1)<<p))
			}
		}
	}
	return words
}

// breaks reports whether an automaton takes a word for bad.
func (s *Single) breaks(w []Letter) bool {
	if len(s.Next) == 0 {
		return true
	}
	at := 0
	for _, l := range w {
		for p := range s.Next[at] {
			if l == 1<<p {
				at = s.Next[at][p]
				break
			}
		}
		if at == NoState {
			return true
		}
	}
	return false
}

// continuation returns a word of single propositions that an expression matches and that begins with w, as its derivatives
// have it; ok is false if they have none.
func continuation(t *testing.T, r *ere.Regexp, n int, w []Letter) (whole []Letter, ok bool) {
	t.Helper()
	d := ere.NewDerivatives(1000)
	from := d.Language(r)
	for _, l := range w {
		from = d.Table.Eval(d.Derivative(from), l)
	}
	x, ok := exploreSingle(d, from, n, GoodWords, 1000)
	if !ok {
		t.Fatalf("%s is too large", r)
	}
	words := map[int][]Letter{0: w}
	for todo := []int{0}; len(todo) > 0; todo = todo[1:] {
		s := todo[0]
		if d.Nullable(x.keys[s]) {
			return words[s], true
		}
		for p, to := range x.next[s] {
			if _, seen := words[to]; !seen {
				words[to] = append(slices.Clone(words[s]), 1<<p)
				todo = append(todo, to)
			}
		}
	}
	return nil, false
}

// TestSingleWordsMatchBruteForce compares with the definition of expressions: of a bad word no continuation of a few letters
// matches, and a good one has a continuation that does. With BadWords, a word is bad if one of its beginnings matches.
func TestSingleWordsMatchBruteForce(t *testing.T) {
	const n = 2
	random, words := rand.New(rand.NewPCG(1, 42)), singleWords(n, 3)
	good, bad := 0, 0
	for range 2000 {
		r := randomExpression(random, 1+random.IntN(7), n)
		g, err := SingleFromERE(r, n, GoodWords, Options{})
		b, err2 := SingleFromERE(r, n, BadWords, Options{})
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		for _, w := range words {
			match := slices.ContainsFunc(words, func(more []Letter) bool { return matches(r, slices.Concat(w, more)) })
			if g.breaks(w) {
				bad++
				if match {
					t.Fatalf("%s: %v is bad, but can be continued", r, w)
				}
			} else {
				good++
				if whole, ok := continuation(t, r, n, w); !ok || !matches(r, whole) {
					t.Fatalf("%s: %v is not bad, but %v does not match", r, w, whole)
				}
			}
			begins := false
			for i := range len(w) + 1 {
				begins = begins || matches(r, w[:i])
			}
			if b.breaks(w) != begins {
				t.Fatalf("bad %s: %v breaks it: %v, want %v", r, w, !begins, begins)
			}
		}
	}
	if good == 0 || bad == 0 {
		t.Errorf("%d good words, %d bad ones", good, bad)
	}
}

// TestSingleIsMinimal: states that allow the same are one, and letters of two propositions are none.
func TestSingleIsMinimal(t *testing.T) {
	a, b := ere.One(ere.Cube{True: 1}), ere.One(ere.Cube{True: 2})
	both := ere.One(ere.Cube{True: 3})
	for _, c := range []struct {
		r      *ere.Regexp
		states int
	}{
		{ere.Sequence(a, ere.Times(b, 0, ere.Unbounded)), 2},
		{ere.Either(ere.Sequence(a, b), ere.Sequence(b, b)), 3},
		{ere.Sequence(a, both), 0}, // no call is two calls
		{ere.None(), 0},
		{ere.EmptyWord(), 1},
		{ere.Not(ere.None()), 1},
	} {
		if s, err := SingleFromERE(c.r, 2, GoodWords, Options{}); err != nil || len(s.Next) != c.states {
			t.Errorf("%s: %+v, %v; want %d states", c.r, s, err, c.states)
		}
	}
}

// TestSingleIsBounded: an expression that needs too many states is an error that names the part.
func TestSingleIsBounded(t *testing.T) {
	a, anything := ere.One(ere.Cube{True: 1}), ere.Times(ere.One(ere.Cube{}), 0, ere.Unbounded)
	r := ere.Sequence(anything, a, ere.Times(ere.One(ere.Cube{}), 20, 20))
	var size *SizeError
	if _, err := SingleFromERE(r, 2, GoodWords, Options{Limit: 100}); err != nil {
		// Every word can be continued, but the languages are many.
		if !errors.As(err, &size) || size.Limit != 100 {
			t.Error(err)
		}
	} else {
		t.Error("made")
	}
	if _, err := SingleFromERE(a, 65, GoodWords, Options{}); err == nil {
		t.Error("65 propositions")
	}
	if _, err := SingleFromERE(ere.Not(nil), 2, GoodWords, Options{}); err == nil {
		t.Error("not well formed")
	}
}
