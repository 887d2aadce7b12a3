package monitor

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
)

// highWater is F1 of JMPaX 2.0 over p, q, r.
func highWater() *ltl.Formula {
	return is(ltl.Always, of(p(1), ltl.Implies, of(of(p(2), ltl.And, p(0)), ltl.Since, is(ltl.Start, p(0)))))
}

func mustLTL(t testing.TB, f *ltl.Formula) *Deterministic {
	t.Helper()
	m, _, err := FromLTL(f, Options{Partial: true})
	if err != nil {
		t.Fatalf("%v: %v", f, err)
	}
	return m
}

func TestShortestBad(t *testing.T) {
	for _, c := range []struct {
		formula *ltl.Formula
		want    []Letter
	}{
		{highWater(), []Letter{0b010}},
		{is(ltl.Always, of(p(0), ltl.Implies, is(ltl.Next, is(ltl.Next, p(3))))), []Letter{1, 0, 0}},
		{is(ltl.Always, of(p(63), ltl.Implies, is(ltl.Not, is(ltl.Yesterday, p(62))))), []Letter{1 << 62, 1 << 63}},
		{ltl.Constant(false), []Letter{}},
	} {
		if got, ok := mustLTL(t, c.formula).ShortestBad(); !ok || !slices.Equal(got, c.want) {
			t.Errorf("%v: %b, want %b", c.formula, got, c.want)
		}
	}
	if word, ok := mustLTL(t, is(ltl.Eventually, p(0))).ShortestBad(); ok {
		t.Errorf("%b is bad, but nothing is", word)
	}
}

// TestShortestBadIsBadAndShortest compares with a search through all words.
func TestShortestBadIsBadAndShortest(t *testing.T) {
	words := allWords(2, 4)
	r := rand.New(rand.NewPCG(8, 1))
	for range 500 {
		m := mustLTL(t, randomFormula(r, 2+r.IntN(8), 2, false))
		i := slices.IndexFunc(words, func(w []Letter) bool { return readsAsBad(m, w) })
		got, ok := m.ShortestBad()
		switch {
		case ok != canBeViolated(m):
			t.Fatal("a shortest bad word without violation, or the other way round")
		case ok && !readsAsBad(m, got):
			t.Fatalf("%b is not bad", got)
		case i >= 0 && len(got) != len(words[i]), i < 0 && ok && len(got) <= 4:
			t.Fatalf("%b is not the shortest", got)
		}
	}
}

// TestTablesAreTheDiagrams compares the tables of monitors with their
// diagrams, and monitors over propositions too far apart for a table with
// those over near ones.
func TestTablesAreTheDiagrams(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	for range 500 {
		f := randomFormula(r, 2+r.IntN(8), 3, false)
		m := mustLTL(t, f)
		bare := *m
		bare.table = nil
		far := mustLTL(t, spread63(f))
		if len(far.table) > 0 && far.mask>>32 != 0 && far.mask&7 != 0 {
			t.Fatalf("%x is in a table", far.mask)
		}
		for s := range State(m.States()) {
			for l := range Letter(8) {
				want := bare.next(s, l)
				if got := m.next(s, l|0xf0); got != want {
					t.Fatalf("%v: state %d after %b: %d, want %d", f, s, l, got, want)
				}
				if got := far.next(s, l&1|l>>1&1<<31|l>>2<<63); got != want {
					t.Fatalf("%v: state %d after %b: %d among far propositions, want %d", f, s, l, got, want)
				}
			}
		}
	}
}

// spread63 renames propositions 1 and 2 to 31 and 63.
func spread63(f *ltl.Formula) *ltl.Formula {
	if f.Op == ltl.Atom {
		return ltl.Proposition([]int{0, 31, 63}[f.Atom])
	}
	g := *f
	if f.Left != nil {
		g.Left = spread63(f.Left)
	}
	if f.Right != nil {
		g.Right = spread63(f.Right)
	}
	return &g
}

// TestMonitorsAreMinimal compares the number of states with the number of
// different futures of all words that lead to them.
func TestMonitorsAreMinimal(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 3))
	for range 300 {
		m := mustLTL(t, randomFormula(r, 2+r.IntN(10), 2, false))
		if !m.minimal {
			t.Fatal("not minimal by its own word")
		}
		for a := range State(m.States()) {
			for b := range a {
				if !distinguished(m, a, b) {
					t.Fatalf("states %d and %d of %d are the same", a, b, m.States())
				}
			}
		}
	}
}

func distinguished(m *Deterministic, a, b State) bool {
	seen := map[[2]State]bool{}
	for todo := [][2]State{{a, b}}; len(todo) > 0; todo = todo[1:] {
		pair := todo[0]
		if m.Bad(pair[0]) != m.Bad(pair[1]) {
			return true
		}
		for l := range Letter(4) {
			next := [2]State{m.next(pair[0], l), m.next(pair[1], l)}
			if !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	return false
}

// TestBoundedMinimisation: without work to spend, the automaton is not minimal
// but reads the same words.
func TestBoundedMinimisation(t *testing.T) {
	words := allWords(2, 4)
	r := rand.New(rand.NewPCG(8, 4))
	for range 300 {
		e := randomExpression(r, 1+r.IntN(9), 2)
		x, d, ok := exploreERE(e, BadWords, DefaultLimit)
		if !ok {
			t.Fatalf("%v is too large", e)
		}
		rough := x.draft(d.Table, d.Nullable).finish(0)
		fine := x.draft(d.Table, d.Nullable).finish(minimisationWork)
		if rough.minimal || !fine.minimal || rough.States() < fine.States() {
			t.Fatalf("%v: %d states, minimal %d", e, rough.States(), fine.States())
		}
		for _, w := range words {
			if readsAsBad(rough, w) != readsAsBad(fine, w) {
				t.Fatalf("%v differ on %b", e, w)
			}
		}
	}
}

func TestDeterminiseMatchesTheAutomaton(t *testing.T) {
	words := allWords(2, 4)
	r := rand.New(rand.NewPCG(8, 5))
	for range 1000 {
		states := make([]AutomatonState, 1+r.IntN(5))
		for i := range states {
			states[i].Bad = r.IntN(5) == 0
			for range r.IntN(4) {
				guard := ere.Cube{True: r.Uint64() & r.Uint64() & 3, False: r.Uint64() & r.Uint64() & 3}
				states[i].Edges = append(states[i].Edges, Edge{guard, r.IntN(len(states))})
			}
		}
		a, err := NewAutomaton(states)
		if err != nil {
			t.Fatal(err)
		}
		d, err := a.Determinise(Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range words {
			if readsAsBad(a, w) != readsAsBad(d, w) {
				t.Fatalf("%+v differs on %b", states, w)
			}
		}
	}
}

func TestDeterminiseIsBounded(t *testing.T) {
	// Whether p0 held twelve states ago needs 2¹² subsets.
	states := []AutomatonState{{Edges: []Edge{{ere.Cube{}, 0}, {ere.Cube{True: 1}, 1}}}}
	for i := range 12 {
		states = append(states, AutomatonState{Bad: i == 11, Edges: []Edge{{ere.Cube{}, i + 2}}})
	}
	states[12].Edges = nil
	states[11].Edges[0].Guard.True = 2
	a, err := NewAutomaton(states)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Determinise(Options{Limit: 1000}); err == nil {
		t.Error("more than 1000 states")
	}
	if _, err := a.Determinise(Options{}); err != nil {
		t.Error(err)
	}
}

func TestEqualPropertiesAreEqualMonitors(t *testing.T) {
	f := mustLTL(t, highWater())
	q, r, rises := ere.Cube{True: 2}, ere.Cube{False: 4, True: 2}, star(ere.One(ere.Cube{True: 1}))
	e := ere.Either(
		ere.Sequence(star(ere.One(ere.Cube{})), ere.One(ere.Cube{False: 1}), plus(ere.One(ere.Cube{True: 1})),
			ere.Either(ere.Sequence(ere.One(ere.Cube{True: 1, False: 4}), rises, ere.One(q)), ere.One(r))),
		ere.Sequence(rises, ere.One(q)),
		ere.Sequence(star(ere.One(ere.Cube{})), ere.One(ere.Cube{True: 2, False: 1})))
	m, err := FromERE(e, BadWords, Options{})
	if err != nil || !reflect.DeepEqual(m, f) {
		t.Errorf("%+v\n%+v\n%v", m, f, err)
	}
}

func TestWriteDOT(t *testing.T) {
	var b strings.Builder
	name := func(i int) string { return []string{`a"`, "b"}[i] }
	if err := mustLTL(t, is(ltl.Always, of(p(0), ltl.Implies, is(ltl.Once, p(1))))).WriteDOT(&b, "needs", name); err != nil {
		t.Fatal(err)
	}
	want := `digraph "needs" {
	rankdir=LR
	node [shape=circle]
	start [shape=point]
	start -> 0
	0 [label="0"]
	1 [label="1"]
	2 [label="2", shape=doublecircle, color=red]
	0 -> 0 [label="{ !a\", !b }"]
	0 -> 1 [label="{ !a\", b }\n{ a\", b }"]
	0 -> 2 [label="{ a\", !b }"]
	1 -> 1 [label="{ }"]
}
`
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
}

func TestWriteDOTOfAnAutomaton(t *testing.T) {
	a, err := NewAutomaton([]AutomatonState{
		{Name: "idle", Final: true, Edges: []Edge{{ere.Cube{True: 1, False: 2}, 1}, {ere.Cube{}, 0}, {ere.Cube{True: 2}, 1}}},
		{Name: "bad", Bad: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := a.WriteDOT(&b, "a", nil); err != nil {
		t.Fatal(err)
	}
	want := `digraph "a" {
	rankdir=LR
	node [shape=circle]
	start [shape=point]
	start -> 0
	0 [label="idle", penwidth=2]
	1 [label="bad", shape=doublecircle, color=red]
	0 -> 1 [label="{ p0, !p1 }\n{ p1 }"]
	0 -> 0 [label="{ }"]
}
`
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
}

// TestWriteDOTIsBounded: the parity of many propositions has more paths than
// can be drawn.
func TestWriteDOTIsBounded(t *testing.T) {
	f := p(0)
	for i := 1; i < 40; i++ {
		f = of(f, ltl.Xor, p(i))
	}
	var b strings.Builder
	if err := mustLTL(t, is(ltl.Always, f)).WriteDOT(&b, "parity", nil); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 1<<16 || !strings.Contains(b.String(), "more") {
		t.Errorf("%d bytes", b.Len())
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	m := mustLTL(t, highWater())
	bare := *m
	bare.table = nil
	into := make([]State, 0, 4)
	for _, m := range []*Deterministic{m, &bare} {
		if n := testing.AllocsPerRun(100, func() { into = m.Step(into[:0], 0, 1) }); n != 0 {
			t.Errorf("%v allocations a step", n)
		}
	}
}
