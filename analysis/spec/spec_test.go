package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/golden"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/probes/function"
)

// parse reads a specification that must have no errors.
func parse(t *testing.T, text string) *Spec {
	t.Helper()
	s, problems := Parse("t.tps", text)
	if problems.HasErrors() {
		t.Fatalf("%s\n%s", text, problems)
	}
	return s
}

// TestErrors compares the problems of the files in testdata/errors with the files beside them.
func TestErrors(t *testing.T) {
	files, _ := filepath.Glob("testdata/errors/*.tps")
	if len(files) == 0 {
		t.Fatal("no files")
	}
	for _, name := range files {
		s, problems := Load(name, Options{})
		if s != nil && problems.HasErrors() {
			t.Errorf("%s: a specification with errors", name)
		}
		got := problems.Error()
		if s != nil {
			for _, p := range s.Properties {
				_, more := s.Monitor(p, MonitorOptions{})
				if len(more) > 0 {
					got += "\n" + more.Error()
				}
			}
		}
		golden.Compare(t, strings.TrimSuffix(name, ".tps")+".txt", got+"\n")
	}
}

// TestExamples reads the examples and makes their monitors without any problem.
func TestExamples(t *testing.T) {
	files, _ := filepath.Glob("testdata/examples/*.tps")
	if len(files) < 5 {
		t.Fatal(files)
	}
	for _, name := range files {
		s, problems := Load(name, Options{})
		if len(problems) > 0 {
			t.Errorf("%s\n%s", name, problems)
			continue
		}
		for _, p := range s.Properties {
			m, problems := s.Monitor(p, MonitorOptions{})
			if len(problems) > 0 {
				t.Errorf("%s\n%s", name, problems)
				continue
			}
			if _, ok := m.shortestBad(); !ok {
				t.Errorf("%s: %s cannot be violated", name, p.Name)
			}
			if _, problems := s.Letters(p, nil); len(problems) > 0 {
				t.Errorf("%s\n%s", name, problems)
			}
		}
		if got := len(s.notEvaluated()); got > 0 {
			t.Errorf("%s: %d blocks are not evaluated", name, got)
		}
	}
}

// TestTypesOfBlocks: what the blocks may say is accepted.
func TestTypesOfBlocks(t *testing.T) {
	s := parse(t, `
var v : int = v
var mode : enum = mode
var other = other
var f : float = f
thread worker = start work
event e = call go
local n : int = 0 { on e : n := n + 1 }
prop p = v > 1 && f < 2.5
mttl m = forall i : worker, j : worker, i != j .
  @i (n * 2 + v > 3 -> p && e) && @i ((@j v + 1) / 2 != v && @j (mode) == OPEN && other == SHUT && once (tid == 1) && [e, p) && (p since !e) && prev e)
scope s (e) {
  property a on worker(e) is (F(e) until !e) || G(e -> X e)
  atom one = count(a, T) + count(a, na) == size(worker) - 1
  atom some = any(a) && !all(a, F)
  check always (one xor some) && [one, some)
}
`)
	if got := len(s.notEvaluated()); got > 0 {
		t.Errorf("%d blocks are not evaluated", got)
	}
	if got := fmt.Sprint(s.Paths()); got != "[v mode other f]" {
		t.Error(got)
	}
}

func TestPlan(t *testing.T) {
	s, _ := Load("testdata/examples/door.tps", Options{})
	p := s.Plan()
	if got := fmt.Sprint(s.Paths(), p.On); got != "[tank.level] [call door_open(which) return door_shut(_) -> ok]" {
		t.Error(got)
	}
	if len(p.Syncs) != 1 || s.Syncs[p.Syncs[0]].Path != "tank_lock" || len(p.Threads) != 1 {
		t.Errorf("%+v", p)
	}
	if !s.Requests("races") || !s.Requests("deadlocks") || s.Requests("misuse") {
		t.Error(s.Checks)
	}
}

func TestPlanHoldsWhatIsUsedAlone(t *testing.T) {
	s, problems := Parse("t.tps", `
var used : int = a
var idle : int = b
var raced = c
var seen = d
event e = call f
event g = write seen
event h = call unused
prop p = used > 1
prop q = idle > 1
property f = always (p -> once (e || g))
check races(raced)
`)
	if got := fmt.Sprint(s.Paths(), s.Plan().On); got != "[a c d] [call f]" {
		t.Error(got)
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Message, `"idle" is used by no property`) {
		t.Errorf("%v", problems)
	}
}

// TestPatternsAreThoseOfOn: the parser of --on accepts the patterns that Plan returns, and binds
// the same names.
func TestPatternsAreThoseOfOn(t *testing.T) {
	for _, text := range []string{
		"call f", "call queue_put(q, _)", "return f(x, _, y) -> r", "call Queue::*(this)", "call `operator<<`(s)",
		"call `Queue<int, long>::put`", "call shop.c:sell(n)", "call ns::Queue::~Queue(this)", "return `src/a.c:f` -> r",
	} {
		s := parse(t, "event e = "+text+"\nproperty p = always !e")
		on := s.Plan().On
		if len(on) != 1 {
			t.Fatal(on)
		}
		got, err := function.Parse(on[0])
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		want, err := function.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got.Text, want.Text = "", ""
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestEventsOfPropertiesComeFirst(t *testing.T) {
	s := parse(t, "event a = call a\nevent b = call b\nevent c = call c\nproperty p = always (c -> once b)\nlocal n = 0 { on a : n := 1 }")
	var names []string
	for _, e := range s.Events {
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); got != "b c a" {
		t.Fatal(got)
	}
	if p := s.Properties[0]; fmt.Sprint(p.Events) != "[0 1]" || s.Events[s.Locals[0].On[0].Event].Name != "a" {
		t.Errorf("%v", p.Events)
	}
	l, _ := s.Letters(s.Properties[0], nil)
	if got := l.Letter(nil, 1<<1); got != 1 { // c is the property's first proposition
		t.Errorf("%b", got)
	}
}

func TestIncludes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	main := write("main.tps", "include \"parts/vars.tps\"\ninclude \"std.tps\"\nproperty p = always v > 1\n")
	write("parts/vars.tps", "include \"more.tps\"\ninclude \"../main.tps\"\nvar v : int = x\nvar unused = y\n")
	write("parts/more.tps", "prop q = v > 2\n")
	write("lib/std.tps", "event e = call f\n")
	s, problems := Load(main, Options{Path: []string{filepath.Join(dir, "lib")}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if len(s.Vars) != 2 || len(s.Props) != 1 || len(s.Events) != 1 || len(s.Properties) != 1 {
		t.Errorf("%+v", s)
	}
	if _, problems := Load(main, Options{}); !problems.HasErrors() || problems[0].Kind != syntax.BadFile || problems[0].Span.Line() != 2 {
		t.Errorf("%v", problems)
	}
	if _, problems := Load(filepath.Join(dir, "none.tps"), Options{}); len(problems) != 1 || problems[0].Kind != syntax.BadFile {
		t.Errorf("%v", problems)
	}
	if _, problems := Load(dir, Options{}); len(problems) != 1 {
		t.Errorf("%v", problems)
	}
}

func TestSizeLimits(t *testing.T) {
	var b strings.Builder
	b.WriteString("var v : int = x\nproperty p = true")
	for i := range 70 {
		fmt.Fprintf(&b, " && v != %d", i)
	}
	_, problems := Parse("t.tps", b.String())
	if len(problems) != 1 || problems[0].Kind != syntax.TooLarge {
		t.Errorf("%v", problems)
	}
	b.Reset()
	for i := range 10 {
		fmt.Fprintf(&b, "event e%d = call f%d\n", i, i)
	}
	b.WriteString("property p = ere bad ((e0 | e1)* e0 (e0 | e1){18} e2)\n")
	s := parse(t, b.String())
	_, problems = s.Monitor(s.Properties[0], MonitorOptions{Limit: 1000})
	if len(problems) != 1 || problems[0].Kind != syntax.TooLarge {
		t.Errorf("%v", problems)
	}
}

// TestErrorsAreBounded: of many errors in a file twenty are reported.
func TestErrorsAreBounded(t *testing.T) {
	_, problems := Parse("t.tps", strings.Repeat("vra x = 1\n", 50))
	if len(problems) != syntax.MaxErrors+1 || problems[syntax.MaxErrors].Message != "and 30 more errors" {
		t.Errorf("%d: %v", len(problems), problems[len(problems)-1])
	}
}

func TestConstantPropositions(t *testing.T) {
	_, problems := Parse("t.tps", "var v : int = x\nproperty p = always (v > 1 || 1 > 2)")
	if len(problems) != 1 || !problems[0].Warning || problems[0].Message != `"1 > 2" is always false` {
		t.Errorf("%v", problems)
	}
}

// TestExamplesAreRuns: the monitor finds an example bad by its values alone, each step of it is
// one write or event, and no shorter word is bad.
func TestExamplesAreRuns(t *testing.T) {
	for _, c := range []struct {
		name, text string
		states     int // length of the example; 0: no values violate the property
	}{
		{"an event cannot be first", "event a = call f\nproperty p = ere good ({!a}* )", 2},
		{"one write a step", "var x : int = x\nvar y : int = y\nproperty p = always !(once (x == 0 && y == 0) && x == 7 && y == 9)", 3},
		{"implied propositions", "var w : int = w\nproperty p = always !(w > 30 && !(w > 26))", 0},
		{"a negative number", "var w : int = w\nproperty p = always w > -5", 1},
		{"a float", "var w : float = w\nproperty p = always (prev w > 2.5 || w < 2.5)", 1},
		{"a bool", "var b : bool = b\nproperty p = always (b -> prev b)", 2},
		{"an automaton", "var w : uint = w\nevent e = call f\nproperty p = automaton {\n state a { {e} -> b; {} -> a }\n state b { w2 -> c; {} -> a }\n bad state c }\nprop w2 = w == 2", 3},
	} {
		s := parse(t, c.text)
		p := s.Properties[0]
		m, _ := s.Monitor(p, MonitorOptions{})
		e, ok := s.example(p, m)
		if !ok || len(e.values) != c.states {
			t.Errorf("%s: %+v", c.name, e)
			continue
		}
		l, _ := s.Letters(p, nil)
		at := map[uint32]bool{m.Start(nil)[0]: true}
		for i := range e.values {
			values := make([]uint64, len(s.Vars))
			for j, v := range p.Vars {
				values[v] = e.values[i][j]
			}
			var events uint64
			if e.event[i] >= 0 {
				events = 1 << e.event[i]
			}
			next := map[uint32]bool{}
			for from := range at {
				for _, to := range m.Step(nil, from, l.Letter(values, events)) {
					next[to] = true
				}
			}
			at = next
		}
		bad := false
		for s := range at {
			bad = bad || m.Bad(s)
		}
		if c.states > 0 && !bad {
			t.Errorf("%s: %+v violates nothing", c.name, e)
		}
	}
}

// TestTwoForms: the formula and the expression of one property agree on all words up to a length
// (JMPaX 2.0: F1 with F2 corrected for any letters; the interval of Section 3.3).
func TestTwoForms(t *testing.T) {
	const events = "event a = call a\nevent b = call b\nevent c = call c\nevent p = call p\nevent q = call q\nevent r = call r\n"
	for _, c := range []struct{ ltl, ere string }{
		{"always (q -> ((r && p) since rise(p)))", "{}* {!p} {p}+ ({p,!r} {p}* {q} | {q,!r}) {}* | {p}* {q} {}* | {}* {q,!p} {}*"},
		{"always (a -> interval(b, c))", "(({}* {a}) & ~({}* {b,!c} {!c}*)) {}*"},
		{"□ (q → ((r ∧ p) 𝒮 start(p)))", "{}* {¬p} {p}+ ({p,¬r} {p}* {q} ∨ {q,¬r}) {}* ∨ {p}* {q} {}* ∨ {}* {q,¬p} {}*"},
	} {
		s := parse(t, events+"property f = "+c.ltl+"\nproperty g = ere bad ("+c.ere+")")
		f, _ := s.Monitor(s.Properties[0], MonitorOptions{})
		g, _ := s.Monitor(s.Properties[1], MonitorOptions{})
		lf, _ := s.Letters(s.Properties[0], nil)
		lg, _ := s.Letters(s.Properties[1], nil)
		masks := s.Properties[0].Events
		var walk func(sf, sg uint32, left int)
		walk = func(sf, sg uint32, left int) {
			if f.Bad(sf) != g.Bad(sg) {
				t.Fatalf("%s and %s differ", c.ltl, c.ere)
			}
			if left == 0 || f.Bad(sf) {
				return
			}
			for choice := range 1 << len(masks) {
				var events uint64
				for i, e := range masks {
					events |= uint64(choice) >> i & 1 << e
				}
				walk(f.Step(nil, sf, lf.Letter(nil, events))[0], g.Step(nil, sg, lg.Letter(nil, events))[0], left-1)
			}
		}
		walk(f.Start(nil)[0], g.Start(nil)[0], 5)
	}
}

// TestAutomataViolatedAtOnce: several edges together may make every first letter bad.
func TestAutomataViolatedAtOnce(t *testing.T) {
	for edges, want := range map[string]bool{
		"{p} -> b; {!p} -> b":           true,
		"{} -> b":                       true,
		"{p} -> b; {!p} -> a":           false,
		"{p} -> a; {p} -> b; {!p} -> b": true,
		"{p} -> a":                      false,
	} {
		s := parse(t, "var x : int = x\nprop p = x > 1\nproperty f = automaton {\n state a { "+edges+" }\n bad state b\n}\n")
		_, problems := s.Monitor(s.Properties[0], MonitorOptions{})
		got := false
		for _, p := range problems {
			got = got || p.Kind == syntax.AlwaysViolated
		}
		if got != want {
			t.Errorf("%s: violated by every first state: %v, want %v", edges, got, want)
		}
	}
}
