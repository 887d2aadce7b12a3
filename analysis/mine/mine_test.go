package mine

import (
	"slices"
	"strings"
	"testing"
)

func TestOptionsAreChecked(t *testing.T) {
	good := Options{K: 2, S: 50, Rule: Equal}
	for _, c := range []struct {
		change func(o *Options)
		want   string // in the error; empty for none
	}{
		{func(*Options) {}, ""},
		{func(o *Options) { o.K = 0 }, "is 0: use 1 to 100"},
		{func(o *Options) { o.K = -3 }, "is -3: use 1 to 100"},
		{func(o *Options) { o.K = 100 }, ""},
		{func(o *Options) { o.K = 101 }, "is 101: use 1 to 100"},
		{func(o *Options) { o.S = 0 }, "is 0 percent: use 1 to 100"},
		{func(o *Options) { o.S = 1 }, ""},
		{func(o *Options) { o.S = 100 }, ""},
		{func(o *Options) { o.S = 101 }, "is 101 percent: use 1 to 100"},
		{func(o *Options) { o.Rule = 0 }, "rule 0 for equivalent states is not known: use Strict"},
		{func(o *Options) { o.Rule = 5 }, "rule 5 for equivalent states is not known: use Strict"},
	} {
		o := good
		c.change(&o)
		_, err := SKStrings(NewTree(), o)
		checkError(t, err, c.want)
	}
	for k, want := range map[int]string{0: "is 0: use 1 to 100", 101: "is 101: use 1 to 100", 1: ""} {
		_, err := KTails(NewTree(), k)
		checkError(t, err, want)
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestParseRule(t *testing.T) {
	for r := Strict; r <= Or; r++ {
		if got, err := ParseRule(r.String()); err != nil || got != r {
			t.Errorf("%v is %v, %v", r, got, err)
		}
	}
	if got, err := ParseRule("lax"); err != nil || got != Equal {
		t.Errorf("lax is %v, %v", got, err)
	}
	_, err := ParseRule("EQUAL")
	checkError(t, err, `no rule "EQUAL"`)
}

func TestTreeIsBounded(t *testing.T) {
	tree := NewTree()
	tree.limit = 4
	mustAdd(t, tree, []Symbol{1, 2}, []Symbol{1, 3})
	checkError(t, tree.Add([]Symbol{1, 4}), "more than 4 states")
	mustAdd(t, tree, []Symbol{1}, nil)
	if tree.States() != 4 || tree.Sequences() != 4 {
		t.Errorf("%d states of %d sequences, want 4 of 4", tree.States(), tree.Sequences())
	}
	a := tree.Automaton()
	if a.Accepts([]Symbol{1, 4}) || !a.Accepts([]Symbol{1, 3}) || !a.Accepts(nil) {
		t.Error("the tree accepts other sequences than those that were added")
	}
}

// The extreme symbols keep their order and do not become others.
func TestExtremeSymbols(t *testing.T) {
	const last = Symbol(1<<32 - 1)
	tree := NewTree()
	mustAdd(t, tree, []Symbol{last, 0, last}, []Symbol{0, last, 0})
	a, err := SKStrings(tree, Options{K: 3, S: 100, Rule: Equal})
	if err != nil {
		t.Fatal(err)
	}
	if m := mustMinimal(t, a); !m.Accepts([]Symbol{last, 0, last}) || m.Accepts([]Symbol{0, 0, last}) {
		t.Errorf("wrong automaton: %v", m)
	}
}

// Loops of many calls have exponentially many strings.
func TestTooManyStrings(t *testing.T) {
	tree := NewTree()
	for i := range Symbol(4) {
		mustAdd(t, tree, []Symbol{i}, []Symbol{i, i}, nil)
		for j := range Symbol(4) {
			mustAdd(t, tree, []Symbol{i, j}, []Symbol{i, j, i, j})
		}
	}
	a, err := SKStrings(tree, Options{K: 1, S: 30, Rule: Or})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.States) != 1 {
		t.Fatalf("%d states, want a single one with loops", len(a.States))
	}
	o := Options{K: 5, S: 1, Rule: Or}
	if _, err = skStrings(tree, o, 1365, nil); err != nil { // 4^5 and the shorter ones
		t.Error(err)
	}
	o.K = 100
	_, err = skStrings(tree, o, 1365, nil)
	checkError(t, err, "more than 1365 sequences of them: use a k below 100")
}

// The n-th call from the end is 1: the smallest deterministic automaton has 2^n states.
func TestTooManySubsets(t *testing.T) {
	a := &Automaton{}
	const n = 12
	for i := range n + 1 {
		a.States = append(a.States, State{Edges: []Edge{{Symbol: 0, To: i + 1}, {Symbol: 1, To: i + 1}}})
	}
	a.States[0].Edges = []Edge{{Symbol: 0, To: 0}, {Symbol: 1, To: 0}, {Symbol: 1, To: 1}}
	a.States[n] = State{Final: true}
	if m := mustMinimal(t, a); len(m.States) != 1<<n {
		t.Errorf("%d states, want %d", len(m.States), 1<<n)
	}
	_, err := a.determinise(effort{made: 1000, followed: 1 << 20})
	checkError(t, err, "learn one with fewer states")
	_, err = a.determinise(effort{made: 1 << 20, followed: 1000})
	checkError(t, err, "learn one with fewer states")
}

func TestWriteDOT(t *testing.T) {
	names := &Alphabet{}
	tree := NewTree()
	mustAdd(t, tree, names.word([]string{"open", "read", "read", "close"}), names.word([]string{"open", `cl"ose`}))
	a, err := SKStrings(tree, Options{K: 1, S: 100, Rule: Equal})
	if err != nil {
		t.Fatal(err)
	}
	m := mustMinimal(t, a)
	var text strings.Builder
	if err := m.WriteDOT(&text, "file", names.Name); err != nil {
		t.Fatal(err)
	}
	compare(t, "drawing before Count", strings.Contains(text.String(), "×"), false)
	m.Count(tree)
	text.Reset()
	if err := m.WriteDOT(&text, "file", names.Name); err != nil {
		t.Fatal(err)
	}
	compare(t, "drawing", text.String(), `digraph "file" {
	rankdir=LR
	node [shape=circle]
	start [shape=point]
	start -> 0
	0 [label="0"]
	1 [label="1"]
	2 [label="2"]
	3 [label="3\n×2", shape=doublecircle]
	4 [label="4"]
	0 -> 1 [label="open ×2"]
	1 -> 2 [label="read ×1"]
	1 -> 3 [label="cl\"ose ×1"]
	2 -> 4 [label="read ×1"]
	4 -> 3 [label="close ×1"]
}
`)
}

func TestCountTellsWhatIsRejected(t *testing.T) {
	one, other := NewTree(), NewTree()
	mustAdd(t, one, []Symbol{0, 1})
	mustAdd(t, other, []Symbol{0, 1}, []Symbol{0, 1}, []Symbol{0}, []Symbol{0, 2}, []Symbol{0, 1, 1})
	m := mustMinimal(t, one.Automaton())
	if rejected := m.Count(other); rejected != 3 {
		t.Errorf("%d sequences are rejected, want 3", rejected)
	}
	if m.States[0].Edges[0].Count != 5 || m.States[2].Ends != 2 {
		t.Errorf("wrong counts: %v", m)
	}
}

// FuzzLearn learns from sequences of letters, separated by spaces, with little room, so that
// each try is short.
func FuzzLearn(f *testing.F) {
	f.Add("abc ac abbbc", 2, 50, uint8(2), false)
	f.Add("", 1, 100, uint8(1), true)
	f.Add("a  a b", 0, 101, uint8(9), false)
	f.Add("abcd abdc acbd", 100, 1, uint8(4), true)
	f.Fuzz(func(t *testing.T, text string, k, s int, rule uint8, ignoreEnds bool) {
		if len(text) > 200 {
			return
		}
		tree := NewTree()
		var sequences [][]Symbol
		for _, word := range strings.Split(text, " ") {
			var sequence []Symbol
			for _, c := range []byte(word) {
				sequence = append(sequence, Symbol(c))
			}
			sequences = append(sequences, sequence)
		}
		mustAdd(t, tree, sequences...)
		for _, a := range learnAll(tree, Options{K: k, S: s, Rule: Rule(rule), IgnoreEnds: ignoreEnds}) {
			checkLearned(t, a, sequences)
		}
	})
}

func learnAll(tree *Tree, o Options) []*Automaton {
	var learned []*Automaton
	if o.check() == nil {
		if g, err := skStrings(tree, o, 1<<12, nil); err == nil {
			learned = append(learned, g.automaton())
		}
	}
	if a, err := KTails(tree, o.K); err == nil {
		learned = append(learned, a)
	}
	return learned
}

func checkLearned(t *testing.T, a *Automaton, sequences [][]Symbol) {
	d, err := a.determinise(effort{made: 1 << 14, followed: 1 << 18})
	if err != nil {
		return
	}
	m := d.minimise()
	for _, s := range sequences {
		if !a.Accepts(s) || !m.Accepts(s) {
			t.Errorf("%v is rejected", s)
		}
	}
	if again := mustMinimal(t, m); len(again.States) != len(m.States) {
		t.Errorf("%d states, then %d: not minimal", len(m.States), len(again.States))
	}
}

// Few elements are sorted, and many go through bits: the result is the same, and the bits are
// left clear for the next call.
func TestDistinct(t *testing.T) {
	x := &determiniser{bits: make([]uint64, 4)}
	for n := range 60 {
		var elements []int32
		for i := range n {
			elements = append(elements, int32(i*i*37%200), 199, 0, 64)
		}
		want := slices.Compact(slices.Sorted(slices.Values(elements)))
		if got := x.distinct(elements); !slices.Equal(got, want) {
			t.Fatalf("%d elements: %v, want %v", 4*n, got, want)
		}
	}
}
