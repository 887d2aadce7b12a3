package monitor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
)

// The cases compare two forms of a property on all words up to a length. The expected results
// were computed by brute force from the definitions.

type wordsCase struct {
	Atoms    []string
	Forms    map[string]form
	Property map[string]form
	Expect   struct {
		Comparisons []comparison
		Equal       []struct {
			Left, Right string
			Constraint  []string
			Equal       bool
		} `json:"equal_for_all_lengths"`
		Words []struct {
			Word [][]string
			Bad  map[string]bool
		} `json:"single_words"`
	}
}

type form struct {
	LTL, ERE    string
	RiseAtStart bool `json:"rise_at_start"`
	Automaton   *struct {
		Initial, Bad any
		Edges        [][3]any
	}
}

type comparison struct {
	Left, Right string
	Constraint  []string
	Length      int
	Expect      outcome
}

type outcome struct {
	Words, Both int
	OnlyLeft    int     `json:"only_left"`
	OnlyRight   int     `json:"only_right"`
	FirstLeft   *string `json:"shortest_only_left"`
	FirstRight  *string `json:"shortest_only_right"`
}

func readCases(t *testing.T) map[string]wordsCase {
	t.Helper()
	files, err := filepath.Glob("testdata/jmpax/*.json")
	if err != nil || len(files) != 7 {
		t.Fatalf("%d cases: %v", len(files), err)
	}
	cases := map[string]wordsCase{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var c wordsCase
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cases[filepath.Base(name)] = c
	}
	return cases
}

// reader reads a form letter by letter.
type reader interface {
	next(l Letter) reader
	bad() bool
}

type monitorReader struct {
	m      Monitor
	states []State
}

func (r monitorReader) next(l Letter) reader {
	var next []State
	for _, s := range r.states {
		next = r.m.Step(next, s, l)
	}
	return monitorReader{r.m, next}
}

func (r monitorReader) bad() bool { return slices.ContainsFunc(r.states, r.m.Bad) }

// wordReader reads a word with an expression. It is bad when the expression matches the word
// read so far.
type wordReader struct {
	d *ere.Derivatives
	l ere.Language
}

func (r wordReader) next(l Letter) reader {
	return wordReader{r.d, r.d.Table.Eval(r.d.Derivative(r.l), l)}
}

func (r wordReader) bad() bool { return r.d.Nullable(r.l) }

func (c *wordsCase) reader(t *testing.T, f form) reader {
	t.Helper()
	if f.ERE != "" {
		d := ere.NewDerivatives(DefaultLimit)
		return wordReader{d, d.Language(c.parser(t, f.ERE).union())}
	}
	m := c.monitor(t, f)
	return monitorReader{m, m.Start(nil)}
}

func (c *wordsCase) monitor(t *testing.T, f form) Monitor {
	t.Helper()
	if f.LTL != "" {
		p := c.parser(t, f.LTL)
		p.riseAtStart = f.RiseAtStart
		m, _, err := FromLTL(p.implication(), Options{})
		if err != nil {
			t.Fatalf("%s: %v", f.LTL, err)
		}
		return m
	}
	return c.automaton(t, f)
}

func (c *wordsCase) automaton(t *testing.T, f form) *Automaton {
	t.Helper()
	index := map[string]int{}
	var states []AutomatonState
	number := func(name any) int {
		key := fmt.Sprint(name)
		if _, ok := index[key]; !ok {
			index[key] = len(states)
			states = append(states, AutomatonState{Name: key})
		}
		return index[key]
	}
	number(f.Automaton.Initial)
	states[number(f.Automaton.Bad)].Bad = true
	for _, e := range f.Automaton.Edges {
		from, to := number(e[0]), number(e[2])
		guard := c.parser(t, e[1].(string)).conjunction()
		states[from].Edges = append(states[from].Edges, Edge{cube(t, guard), to})
	}
	a, err := NewAutomaton(states)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func cube(t *testing.T, f *ltl.Formula) ere.Cube {
	t.Helper()
	switch f.Op {
	case ltl.True:
		return ere.Cube{}
	case ltl.Atom:
		return ere.Cube{True: 1 << f.Atom}
	case ltl.Not:
		return ere.Cube{False: 1 << f.Left.Atom}
	case ltl.And:
		l, r := cube(t, f.Left), cube(t, f.Right)
		return ere.Cube{True: l.True | r.True, False: l.False | r.False}
	default:
		t.Fatalf("%v is no conjunction", f)
		return ere.Cube{}
	}
}

func (c *wordsCase) letters(constraint []string) []Letter {
	var letters []Letter
	for l := range Letter(1) << len(c.Atoms) {
		if !slices.ContainsFunc(constraint, func(text string) bool {
			a, b, _ := strings.Cut(text, "->")
			return l>>slices.Index(c.Atoms, a)&1 == 1 && l>>slices.Index(c.Atoms, b)&1 == 0
		}) {
			letters = append(letters, l)
		}
	}
	return letters
}

func (c *wordsCase) show(word []Letter) string {
	var b strings.Builder
	for _, l := range word {
		var names []string
		for i, name := range c.Atoms {
			if l>>i&1 == 1 {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		b.WriteString("{" + strings.Join(names, ",") + "}")
	}
	return b.String()
}

func TestCasesCompare(t *testing.T) {
	for name, c := range readCases(t) {
		for _, p := range c.Expect.Comparisons {
			got := c.compare(c.reader(t, c.Forms[p.Left]), c.reader(t, c.Forms[p.Right]), c.letters(p.Constraint), p.Length)
			if !reflect.DeepEqual(got, p.Expect) {
				t.Errorf("%s: %s against %s: %+v, want %+v", name, p.Left, p.Right, got, p.Expect)
			}
		}
	}
}

// compare makes both readers read all words up to a length.
func (c *wordsCase) compare(left, right reader, letters []Letter, length int) outcome {
	var o outcome
	first := func(at **string, word []Letter) {
		text := c.show(word)
		if *at == nil || strings.Count(text, "{") < strings.Count(**at, "{") || strings.Count(text, "{") == strings.Count(**at, "{") && text < **at {
			*at = &text
		}
	}
	var read func(left, right reader, word []Letter)
	read = func(left, right reader, word []Letter) {
		o.Words++
		switch l, r := left.bad(), right.bad(); {
		case l && r:
			o.Both++
		case l:
			o.OnlyLeft++
			first(&o.FirstLeft, word)
		case r:
			o.OnlyRight++
			first(&o.FirstRight, word)
		}
		if len(word) == length {
			return
		}
		for _, l := range letters {
			read(left.next(l), right.next(l), append(word, l))
		}
	}
	read(left, right, make([]Letter, 0, length))
	return o
}

func TestCasesSingleWords(t *testing.T) {
	for name, c := range readCases(t) {
		for _, w := range c.Expect.Words {
			for form, want := range w.Bad {
				r := c.reader(t, c.Forms[form])
				for _, holds := range w.Word {
					var l Letter
					for _, atom := range holds {
						l |= 1 << slices.Index(c.Atoms, atom)
					}
					r = r.next(l)
				}
				if r.bad() != want {
					t.Errorf("%s: %s after %v: bad %v, want %v", name, form, w.Word, r.bad(), want)
				}
			}
		}
	}
}

// TestCasesEqualForAllLengths compares two automata by the pairs of their states that words
// lead to.
func TestCasesEqualForAllLengths(t *testing.T) {
	compared := 0
	for name, c := range readCases(t) {
		for _, e := range c.Expect.Equal {
			left, right := c.determinised(t, c.Forms[e.Left]), c.determinised(t, c.Forms[e.Right])
			if got := alike(left, right, c.letters(e.Constraint)); got != e.Equal {
				t.Errorf("%s: %s and %s are equal: %v, want %v", name, e.Left, e.Right, got, e.Equal)
			}
			compared++
		}
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
}

func (c *wordsCase) determinised(t *testing.T, f form) *Deterministic {
	t.Helper()
	m, err := c.automaton(t, f).Determinise(Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func alike(a, b *Deterministic, letters []Letter) bool {
	seen := map[[2]State]bool{{0, 0}: true}
	for todo := [][2]State{{0, 0}}; len(todo) > 0; todo = todo[1:] {
		p := todo[0]
		if a.Bad(p[0]) != b.Bad(p[1]) {
			return false
		}
		for _, l := range letters {
			next := [2]State{a.next(p[0], l), b.next(p[1], l)}
			if !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	return true
}

// TestFormsOfOnePropertyBecomeOneMonitor: equal minimal automata have equal numbers of states,
// so that a formula, its automaton and the expression of its bad prefixes have equal monitors.
func TestFormsOfOnePropertyBecomeOneMonitor(t *testing.T) {
	compared := 0
	for name, c := range readCases(t) {
		for _, p := range c.Expect.Comparisons {
			ltlForm, other := c.Forms[p.Left], c.Forms[p.Right]
			if ltlForm.LTL == "" || len(p.Constraint) > 0 || p.Expect.OnlyLeft+p.Expect.OnlyRight > 0 {
				continue
			}
			got := c.smallest(t, other)
			if want := c.monitor(t, ltlForm); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s has %d states, %s %d, or they differ", name, p.Left, want.(*Deterministic).States(), p.Right, got.(*Deterministic).States())
			}
			compared++
		}
	}
	if compared < 15 {
		t.Errorf("only %d pairs were compared", compared)
	}
}

func (c *wordsCase) smallest(t *testing.T, f form) Monitor {
	t.Helper()
	switch {
	case f.LTL != "":
		return c.monitor(t, f)
	case f.ERE != "":
		m, err := FromERE(c.parser(t, f.ERE).union(), BadWords, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return m
	default:
		return c.determinised(t, f)
	}
}

// TestSetsMergeCase: the formula of the case monitor_sets_merge and its automaton have equal
// monitors.
func TestSetsMergeCase(t *testing.T) {
	c := readCases(t)["monitor_sets_merge.json"]
	c.Atoms = []string{"a1", "b0", "c"}
	f := c.Property["c_needs_a1_b0"]
	if got, want := c.determinised(t, f), c.monitor(t, form{LTL: f.LTL}); !reflect.DeepEqual(got, want) {
		t.Errorf("the automaton and the formula differ: %+v, %+v", got, want)
	}
}

// caseParser reads the formulas and expressions of the cases.
type caseParser struct {
	t           *testing.T
	text        string
	tokens      []string
	atoms       []string
	riseAtStart bool
}

func (c *wordsCase) parser(t *testing.T, text string) *caseParser {
	t.Helper()
	tokens := regexp.MustCompile(`->|&&|\|\||\{[^}]*\}|[A-Za-z_]\w*|[!()*+|&~,]`).FindAllString(text, -1)
	return &caseParser{t: t, text: text, tokens: tokens, atoms: c.Atoms}
}

func (p *caseParser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *caseParser) take() string {
	token := p.peek()
	if token == "" {
		p.t.Fatalf("%q ends too soon", p.text)
	}
	p.tokens = p.tokens[1:]
	return token
}

func (p *caseParser) accept(token string) bool {
	if p.peek() != token {
		return false
	}
	p.take()
	return true
}

func (p *caseParser) expect(token string) {
	if !p.accept(token) {
		p.t.Fatalf("%q: wanted %q at %q", p.text, token, p.tokens)
	}
}

func (p *caseParser) implication() *ltl.Formula {
	f := p.since()
	if p.accept("->") {
		return ltl.Binary(ltl.Implies, f, p.implication())
	}
	return f
}

func (p *caseParser) since() *ltl.Formula {
	f := p.disjunction()
	for p.accept("since") {
		f = ltl.Binary(ltl.Since, f, p.disjunction())
	}
	return f
}

func (p *caseParser) disjunction() *ltl.Formula {
	f := p.conjunction()
	for p.accept("||") {
		f = ltl.Binary(ltl.Or, f, p.conjunction())
	}
	return f
}

func (p *caseParser) conjunction() *ltl.Formula {
	f := p.unary()
	for p.accept("&&") {
		f = ltl.Binary(ltl.And, f, p.unary())
	}
	return f
}

func (p *caseParser) unary() *ltl.Formula {
	unary := map[string]ltl.Op{
		"!": ltl.Not, "always": ltl.Always, "prev": ltl.Prev, "once": ltl.Once,
		"historically": ltl.Historically, "rise": ltl.Start, "fall": ltl.End,
	}
	token := p.take()
	switch op, ok := unary[token]; {
	case token == "rise" && p.riseAtStart:
		f := p.unary()
		return ltl.Binary(ltl.And, f, ltl.Unary(ltl.Not, ltl.Unary(ltl.Yesterday, f)))
	case ok:
		return ltl.Unary(op, p.unary())
	case token == "(":
		f := p.implication()
		p.expect(")")
		return f
	case token == "interval":
		p.expect("(")
		f := p.implication()
		p.expect(",")
		g := p.implication()
		p.expect(")")
		return ltl.Binary(ltl.Interval, f, g)
	case token == "true":
		return ltl.Constant(true)
	}
	return ltl.Proposition(p.atom(token))
}

func (p *caseParser) atom(name string) int {
	i := slices.Index(p.atoms, name)
	if i < 0 {
		p.t.Fatalf("%q: no proposition %q", p.text, name)
	}
	return i
}

func (p *caseParser) union() *ere.Regexp {
	operands := []*ere.Regexp{p.intersection()}
	for p.accept("|") {
		operands = append(operands, p.intersection())
	}
	return ere.Either(operands...)
}

func (p *caseParser) intersection() *ere.Regexp {
	operands := []*ere.Regexp{p.sequence()}
	for p.accept("&") {
		operands = append(operands, p.sequence())
	}
	return ere.Both(operands...)
}

func (p *caseParser) sequence() *ere.Regexp {
	operands := []*ere.Regexp{p.postfix()}
	for !slices.Contains([]string{"", "|", "&", ")"}, p.peek()) {
		operands = append(operands, p.postfix())
	}
	return ere.Sequence(operands...)
}

func (p *caseParser) postfix() *ere.Regexp {
	r := p.primary()
	for {
		switch {
		case p.accept("*"):
			r = star(r)
		case p.accept("+"):
			r = plus(r)
		default:
			return r
		}
	}
}

func (p *caseParser) primary() *ere.Regexp {
	switch token := p.take(); {
	case token == "eps":
		return ere.EmptyWord()
	case token == "empty":
		return ere.None()
	case token == "~":
		return ere.Not(p.primary())
	case token == "(":
		r := p.union()
		p.expect(")")
		return r
	default:
		return ere.One(p.letter(token))
	}
}

func (p *caseParser) letter(token string) ere.Cube {
	var c ere.Cube
	for _, literal := range strings.FieldsFunc(token, func(r rune) bool { return strings.ContainsRune("{}, ", r) }) {
		if name, not := strings.CutPrefix(literal, "!"); not {
			c.False |= 1 << p.atom(name)
		} else {
			c.True |= 1 << p.atom(name)
		}
	}
	return c
}
