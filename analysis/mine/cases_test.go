package mine

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The cases were computed by brute force from the definitions, with the first pair of equivalent
// states in number order merged at a time.

type mineCase struct {
	Property struct {
		Training, Accepts [][]string
		Mine              []struct {
			K, S int
			Rule string
			Stop *bool
		}
	}
	Expect struct{ Mined []mined }
}

type mined struct {
	PrefixTree *shown                       `json:"prefix_tree"`
	KStrings   map[string]map[string]string `json:"k_strings"`
	Top        map[string][]string
	Merges     []struct {
		Keep, Gone int
		Top        []string
	}
	Merged shown
	DFA    struct {
		Start string
		Edges map[string]map[string]string
		Final []string
	}
	Accepts map[string]bool
}

type shown struct {
	States []int
	Arcs   [][4]any
	Final  map[string]int64
}

// names interns the names of a case in alphabetical order, as its ties are.
func (c *mineCase) names() *Alphabet {
	var all []string
	for _, s := range slices.Concat(c.Property.Training, c.Property.Accepts) {
		all = append(all, s...)
	}
	slices.Sort(all)
	names := &Alphabet{}
	for _, n := range all {
		names.Symbol(n)
	}
	return names
}

func (a *Alphabet) word(names []string) (word []Symbol) {
	for _, n := range names {
		word = append(word, a.Symbol(n))
	}
	return word
}

func (a *Alphabet) join(word []Symbol) string {
	var names []string
	for _, s := range word {
		names = append(names, a.Name(s))
	}
	return strings.Join(names, " ")
}

func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/2*.json")
	if err != nil || len(files) != 10 {
		t.Fatalf("%d cases: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c mineCase
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for i, run := range c.Property.Mine {
			o := Options{K: run.K, S: run.S, Rule: Equal, IgnoreEnds: run.Stop != nil && !*run.Stop}
			if run.Rule != "" {
				if o.Rule, err = ParseRule(run.Rule); err != nil {
					t.Fatal(err)
				}
			}
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(file), i), func(t *testing.T) { testCase(t, &c, o, c.Expect.Mined[i]) })
		}
	}
}

func testCase(t *testing.T, c *mineCase, o Options, want mined) {
	names := c.names()
	tree := NewTree()
	for _, s := range c.Property.Training {
		mustAdd(t, tree, names.word(s))
	}
	w := &watched{names: names}
	g, err := skStrings(tree, o, mostStrings(tree.States()), w.watch)
	if err != nil {
		t.Fatal(err)
	}
	if want.PrefixTree != nil {
		compare(t, "prefix tree", w.first, *want.PrefixTree)
		compareStrings(t, w.strings, want.KStrings)
		compare(t, "top strings", w.top, want.Top)
	}
	var steps []step
	for _, m := range want.Merges {
		steps = append(steps, step{m.Keep, m.Gone})
	}
	compare(t, "merges", w.merges, steps)
	compare(t, "merged automaton", show(g, names), want.Merged)
	testOracle(t, c, o, want)

	a, err := SKStrings(tree, o)
	if err != nil {
		t.Fatal(err)
	}
	m := mustMinimal(t, a)
	compareDFA(t, m, names, want)
	for _, word := range c.Property.Accepts {
		for kind, a := range map[string]*Automaton{"merged": a, "minimal": m} {
			if got, want := a.Accepts(names.word(word)), want.Accepts[strings.Join(word, " ")]; got != want {
				t.Errorf("the %s automaton accepts %q: %v, want %v", kind, word, got, want)
			}
		}
	}
}

// testOracle holds the naive learner to the case too, with the top strings that the kept state has
// at each merge.
func testOracle(t *testing.T, c *mineCase, o Options, want mined) {
	names := c.names()
	var training [][]Symbol
	for _, s := range c.Property.Training {
		training = append(training, names.word(s))
	}
	m := newNaive(training)
	var got, steps []string
	m.firstPairs(o, func(keep, gone int, top []string) {
		got = append(got, fmt.Sprintf("%d into %d: %q", gone, keep, top))
	})
	for _, m := range want.Merges {
		var top []string
		for _, z := range m.Top {
			top = append(top, spell(names.word(strings.Fields(z))))
		}
		steps = append(steps, fmt.Sprintf("%d into %d: %q", m.Gone, m.Keep, top))
	}
	compare(t, "merges of the naive learner", got, steps)
}

func compare(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// watched is what rounds show, in the words of the cases.
type watched struct {
	names   *Alphabet
	first   shown
	strings map[string]map[string]float64
	top     map[string][]string
	merges  []step
}

func (w *watched) watch(r *round) {
	if w.strings == nil {
		w.first = show(r.graph, w.names)
		w.strings, w.top = map[string]map[string]float64{}, map[string][]string{}
		for s, number := range r.graph.number {
			all := map[string]float64{}
			for i := r.strings.first[s]; i < r.strings.first[s+1]; i++ {
				all[w.names.join(r.strings.text(r.strings.ids[i]))] = r.strings.probability[i]
			}
			w.strings[fmt.Sprint(number)] = all
			w.top[fmt.Sprint(number)] = w.topOf(r, int32(s))
		}
	}
	w.merges = append(w.merges, r.steps()...)
}

func (w *watched) topOf(r *round, state int32) []string {
	out := []string{}
	for _, id := range r.tops.of(state) {
		out = append(out, w.names.join(r.strings.text(id)))
	}
	return out
}

// steps are the merges of a round, in the order of the states that are kept.
func (r *round) steps() []step {
	var steps []step
	for s, kept := range r.into {
		if int32(s) != kept {
			steps = append(steps, step{int(r.graph.number[kept]), int(r.graph.number[s])})
		}
	}
	return byKept(steps)
}

func show(g *graph, names *Alphabet) shown {
	out := shown{States: []int{}, Arcs: [][4]any{}, Final: map[string]int64{}}
	for s, number := range g.number {
		out.States = append(out.States, int(number))
		if g.ends[s] > 0 {
			out.Final[fmt.Sprint(number)] = g.ends[s]
		}
		for _, a := range g.of(int32(s)) {
			out.Arcs = append(out.Arcs, [4]any{float64(number), names.Name(a.symbol), float64(g.number[a.to]), float64(a.count)})
		}
	}
	return out
}

func compareStrings(t *testing.T, got map[string]map[string]float64, want map[string]map[string]string) {
	t.Helper()
	for state, all := range want {
		if len(got[state]) != len(all) {
			t.Errorf("state %s has the strings %v, want %v", state, got[state], all)
		}
		for z, text := range all {
			p, ok := new(big.Rat).SetString(text)
			if !ok {
				t.Fatalf("%q is no number", text)
			}
			exact, _ := p.Float64()
			if q, ok := got[state][z]; !ok || math.Abs(exact-q) > tolerance {
				t.Errorf("state %s: %q has probability %v, want %s", state, z, q, text)
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d states have strings, want %d", len(got), len(want))
	}
}

func compareDFA(t *testing.T, m *Automaton, names *Alphabet, want mined) {
	t.Helper()
	edges, final := map[string]map[string]string{}, []string{}
	for i, s := range m.States {
		q := fmt.Sprintf("q%d", i)
		edges[q] = map[string]string{}
		for _, e := range s.Edges {
			edges[q][names.Name(e.Symbol)] = fmt.Sprintf("q%d", e.To)
		}
		if s.Final {
			final = append(final, q)
		}
	}
	compare(t, "minimal automaton", edges, want.DFA.Edges)
	compare(t, "final states", final, want.DFA.Final)
}

func mustAdd(t testing.TB, tree *Tree, sequences ...[]Symbol) {
	t.Helper()
	for _, s := range sequences {
		if err := tree.Add(s); err != nil {
			t.Fatal(err)
		}
	}
}

func mustMinimal(t testing.TB, a *Automaton) *Automaton {
	t.Helper()
	m, err := a.Minimal()
	if err != nil {
		t.Fatal(err)
	}
	if !m.Deterministic() {
		t.Error("the minimal automaton is not deterministic")
	}
	return m
}
