package mine

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

// training draws few short sequences over few symbols, so that states are alike, and some of
// the sequences several times.
func training(t *rapid.T) [][]Symbol {
	symbol := rapid.Uint32Range(0, uint32(rapid.IntRange(0, 3).Draw(t, "symbols")))
	sequence := rapid.SliceOfN(rapid.Map(symbol, func(n uint32) Symbol { return Symbol(n) }), 0, 6)
	times := rapid.OneOf(rapid.Just(1), rapid.IntRange(1, 12))
	var all [][]Symbol
	for _, s := range rapid.SliceOfN(sequence, 0, 9).Draw(t, "training") {
		all = append(all, slices.Repeat([][]Symbol{s}, times.Draw(t, "times"))...)
	}
	return all
}

func options(t *rapid.T) Options {
	return Options{
		K:          rapid.IntRange(1, 3).Draw(t, "k"),
		S:          rapid.OneOf(rapid.SampledFrom([]int{50, 60, 80, 95, 100}), rapid.IntRange(1, 100)).Draw(t, "s"),
		Rule:       rapid.SampledFrom([]Rule{Strict, Equal, And, Or}).Draw(t, "rule"),
		IgnoreEnds: rapid.Bool().Draw(t, "ignore ends"),
	}
}

// The merges and the automaton are those of the naive learner, and accept what they must.
func TestSKStringsIsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sequences, o := training(t), options(t)
		tree := treeOf(t, sequences)
		var steps []step
		g, err := skStrings(tree, o, mostStrings(tree.States()), func(r *round) { steps = append(steps, r.steps()...) })
		if err != nil {
			t.Fatal(err)
		}
		m := newNaive(sequences)
		if want := m.rounds(o); !slices.Equal(steps, want) {
			t.Fatalf("merges %v, want %v", steps, want)
		}
		equal(t, g.automaton(), m.automaton())
		checkLanguage(t, g.automaton(), m, tree, sequences)
	})
}

func TestKTailsIsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sequences, k := training(t), rapid.IntRange(1, 4).Draw(t, "k")
		tree := treeOf(t, sequences)
		a, err := KTails(tree, k)
		if err != nil {
			t.Fatal(err)
		}
		m := newNaive(sequences)
		m.kTails(k)
		equal(t, a, m.automaton())
		checkLanguage(t, a, m, tree, sequences)
		states := len(m.states)
		if m.kTails(k); len(m.states) != states {
			t.Fatalf("states with equal tails were left: %d states, then %d", states, len(m.states))
		}
	})
}

func treeOf(t *rapid.T, sequences [][]Symbol) *Tree {
	tree := NewTree()
	for _, s := range sequences {
		if err := tree.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	if tree.Sequences() != int64(len(sequences)) {
		t.Fatalf("%d sequences, want %d", tree.Sequences(), len(sequences))
	}
	return tree
}

func equal(t *rapid.T, got, want *Automaton) {
	same := slices.EqualFunc(got.States, want.States, func(x, y State) bool {
		return x.Final == y.Final && x.Ends == y.Ends && slices.Equal(x.Edges, y.Edges)
	})
	if !same {
		t.Fatalf("automaton %v, want %v", got, want)
	}
}

// checkLanguage compares the automaton, its minimal one and the naive one on all short words, and holds
// them to the training. States of the minimal automaton accept different words.
func checkLanguage(t *rapid.T, a *Automaton, m *naive, tree *Tree, sequences [][]Symbol) {
	minimal, err := a.Minimal()
	if err != nil {
		t.Fatal(err)
	}
	if !minimal.Deterministic() {
		t.Fatal("the minimal automaton is not deterministic")
	}
	words := shortWords(4, 5)
	for _, w := range slices.Concat(sequences, words) {
		want := m.accepts(w)
		if a.Accepts(w) != want || minimal.Accepts(w) != want {
			t.Fatalf("%v: accepted %v, minimal %v, want %v", w, a.Accepts(w), minimal.Accepts(w), want)
		}
	}
	for _, s := range sequences {
		if !minimal.Accepts(s) {
			t.Fatalf("%v is rejected", s)
		}
	}
	if rejected := minimal.Count(tree); rejected != 0 {
		t.Fatalf("%d sequences are rejected", rejected)
	}
	checkCounts(t, minimal, sequences)
	checkDistinct(t, minimal)
}

func shortWords(symbols, length int) [][]Symbol {
	words := [][]Symbol{{}}
	for from, l := 0, 0; l < length; l++ {
		to := len(words)
		for _, w := range words[from:to] {
			for s := range symbols {
				words = append(words, append(slices.Clone(w), Symbol(s)))
			}
		}
		from = to
	}
	return words
}

// checkCounts adds up the counts: as much goes into a state as leaves it or ends in it.
func checkCounts(t *rapid.T, a *Automaton, sequences [][]Symbol) {
	balance := make([]int64, len(a.States))
	balance[0] = int64(len(sequences))
	for s, state := range a.States {
		balance[s] -= state.Ends
		for _, e := range state.Edges {
			balance[s] -= e.Count
			balance[e.To] += e.Count
		}
	}
	if slices.ContainsFunc(balance, func(n int64) bool { return n != 0 }) {
		t.Fatalf("counts do not add up: %v", a)
	}
}

// checkDistinct finds for each pair of states of a deterministic automaton a word that one accepts,
// by marking pairs.
func checkDistinct(t *rapid.T, a *Automaton) {
	n := len(a.States)
	apart := make([]bool, n*n)
	next := func(s int, symbol Symbol) int {
		if on := a.States[s].on(symbol); len(on) > 0 {
			return on[0].To
		}
		return -1
	}
	for changed := true; changed; {
		changed = false
		for p := range n {
			for q := range n {
				now := a.States[p].Final != a.States[q].Final
				for s := Symbol(0); s < 4 && !now; s++ {
					u, v := next(p, s), next(q, s)
					now = (u < 0) != (v < 0) || u >= 0 && apart[u*n+v]
				}
				if now && !apart[p*n+q] {
					apart[p*n+q], changed = true, true
				}
			}
		}
	}
	for p := range n {
		for q := range p {
			if !apart[p*n+q] {
				t.Fatalf("states %d and %d are equivalent: %v", q, p, a)
			}
		}
	}
}

// Where a merge changes no strings but those of the state that is kept, and not its top strings, rounds
// make the merges of first pairs.
func TestRoundsAreFirstPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sequences, o := training(t), options(t)
		o.Rule = Equal
		if rapid.Bool().Draw(t, "k is 1") {
			o.K = 1
			o.Rule = rapid.SampledFrom([]Rule{Equal, Strict}).Draw(t, "rule")
		} else {
			o.S, o.IgnoreEnds = 100, false
		}
		if pairs, rounds := firstPairs(sequences, o), newNaive(sequences).rounds(o); !slices.Equal(pairs, rounds) {
			t.Fatalf("first pairs merge %v, rounds %v", pairs, rounds)
		}
	})
}

func firstPairs(sequences [][]Symbol, o Options) (steps []step) {
	newNaive(sequences).firstPairs(o, func(keep, gone int, _ []string) { steps = append(steps, step{keep, gone}) })
	return steps
}

// States 1 and 2 have the top string 0 in the tree. They no longer have once states 3 and 4 are
// part of state 0, after which 0 can follow.
func TestRoundsAreNotFirstPairs(t *testing.T) {
	sequences := [][]Symbol{{0, 1, 0}, {0, 0}, {}, {}}
	o := Options{K: 2, S: 50, Rule: Equal}
	compare(t, "first pairs", firstPairs(sequences, o), []step{{0, 3}, {0, 4}})
	tree := NewTree()
	mustAdd(t, tree, sequences...)
	var steps []step
	watch := func(r *round) { steps = append(steps, r.steps()...) }
	if _, err := skStrings(tree, o, mostStrings(tree.States()), watch); err != nil {
		t.Fatal(err)
	}
	compare(t, "rounds", steps, []step{{0, 3}, {0, 4}, {1, 2}})
}
