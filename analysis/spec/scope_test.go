package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/monitor"
)

const scopeNames = `lock l = l
var n = n
lock m = m
event sync_l = acquire l
event any_lock = acquire any
event read = call read
event by_writer = call write by writer
thread reader = start reader
thread writer = start writer
`

// TestScope: a scope becomes the indices of its events and types, code of its atoms, and monitors.
func TestScope(t *testing.T) {
	s := parse(t, "event first = call first\n"+scopeNames+`scope s (sync_l) {
  property p on reader(read, first) is F(read && !first)
  property q on writer(by_writer) is G(by_writer -> X sync) across scopes
  atom some = any(p)
  atom none = count(p, T) + count(q, F) == 0
  atom every = all(p) && size(writer) > 1
  atom none_of = count(q, na) == size(reader)
  atom zero = count(p, T) / count(p, F) == 0
  check "it failed" always (some -> every)
}`)
	if len(s.Scopes) != 1 || len(s.notEvaluated()) != 0 {
		t.Fatal(s.Scopes)
	}
	sc := s.Scopes[0]
	names := func(events ...int) (out string) {
		for _, e := range events {
			out += " " + s.Events[e].Name
		}
		return out
	}
	if got := names(append([]int{sc.Sync}, append(sc.Locals[0].Events, sc.Locals[1].Events...)...)...); got != " sync_l read first by_writer" {
		t.Error(got)
	}
	if max(sc.Sync, sc.Locals[0].Events[0], sc.Locals[1].Events[0]) >= 4 {
		t.Error("events of scopes do not come first")
	}
	if sc.Locals[0].Across || !sc.Locals[1].Across || sc.Checks[0].Message != "it failed" || sc.Checks[0].Text != "always (some -> every)" {
		t.Errorf("%+v", sc)
	}
	if got := fmt.Sprint(s.Plan().On, s.Objects(), len(s.Plan().Threads)); got != "[call first call read call write] [l] 2" {
		t.Error(got)
	}
	// p: 2 undecided, 1 true, 0 false, 3 na; q: 0, 0, 0, 6. Sizes in the order of their first use: reader, writer.
	counts := []uint64{2, 1, 0, 3, 0, 0, 0, 6, 3, 2}
	if sc.Inputs() != len(counts) {
		t.Fatal(sc.Inputs(), sc.Sizes)
	}
	want := map[string]bool{"some": true, "none": false, "every": false, "none_of": false, "zero": false}
	for i := range sc.Atoms {
		if a := &sc.Atoms[i]; a.Holds(counts) != want[a.Name] {
			t.Errorf("%s is %v", a.Text, a.Holds(counts))
		}
	}
	counts = []uint64{0, 3, 1, 0, 0, 0, 0, 3, 3, 2}
	for i := range sc.Atoms {
		if a := &sc.Atoms[i]; a.Holds(counts) != (a.Name != "none" && a.Name != "zero") {
			t.Errorf("%s is %v", a.Text, a.Holds(counts))
		}
	}
	m, problems := s.ScopeMonitors(sc, MonitorOptions{})
	if len(problems) > 0 || len(m.Locals) != 2 || len(m.Checks) != 1 {
		t.Fatal(problems)
	}
	c := m.Checks[0]
	if v := c.Verdict(c.Next(c.Start(), 1)); v != monitor.False {
		t.Errorf("some without every is %v", v)
	}
}

// TestScopeProblems: what a scope may not say, or should not.
func TestScopeProblems(t *testing.T) {
	for text, want := range map[string]string{
		"scope s (sync_l) { property p on reader(read) is once X read\n atom a = any(p)\n check always a }":                                      "a future operator under a past one",
		"scope s (sync_l) { property p on reader(read) is read > 1\n atom a = any(p)\n check always a }":                                         "compares something true or false",
		"scope s (sync_l) { property p on reader(read) is F read\n atom a = any(p)\n check always (a == a) }":                                    "is no formula",
		"scope s (sync_l) { property p on reader(read) is F sync\n atom a = any(p)\n check always a }":                                           `there is no event "sync" here`,
		"scope s (any_lock) { property p on reader(read) is F read\n atom a = any(p)\n check always a }":                                         "two threads can do it at once",
		"scope s (sync_l) { property p on reader(by_writer) is F by_writer\n atom a = any(p)\n check always a }":                                 `"by_writer" is of threads of type "writer"`,
		"scope s (sync_l) { property p on reader(read) is F read\n atom a = any(p) }":                                                            "has no check",
		"scope s (sync_l) { property p on reader(sync_l) is F sync_l\n atom a = any(p)\n check always a }":                                       "a synchronising action is in no region",
		"scope s (sync_l) { property p on reader(read) is F n\n atom a = any(p)\n check always a }":                                              `"n" is not an event of one thread: other threads may change it`,
		"barrier b = b\nevent arrives = arrive b\nscope s (arrives) { property p on reader(read) is F read\n atom a = any(p)\n check always a }": "an arrival at a barrier",
		"event begins = start reader\nscope s (begins) { property p on reader(read) is F read\n atom a = any(p)\n check always a }":              "the start of each thread of a type",
		"scope s (sync_l) { scope t (sync_l) { check always true }\n check always true }":                                                        `"sync_l" cuts the scope "s" already`,
		"scope s (sync_l) { scope t (read) { scope u (by_writer) { check always true } } }":                                                      "not in one that is in another itself",
		"scope s (sync_l) { scope t (read) { check always true }\n scope t (by_writer) { check always true } }":                                  `"t" is declared already`,
		"scope s (sync_l) { property p on reader(read) is F read\n atom a = any(p)\n check eventually a }":                                       "can never be violated",
	} {
		s, problems := Parse("t.tps", scopeNames+text)
		if s != nil {
			d := Describe(s, problems, MonitorOptions{})
			problems = d.Problems
		}
		if got := problems.Error(); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestInnerScope: a scope in a scope is one of the specification, before the other, whose atoms count its verdicts.
func TestInnerScope(t *testing.T) {
	s := parse(t, scopeNames+`event batch = call batch
scope day (sync_l) {
  scope hour (batch) {
    property p on reader(read) is F(read)
    atom read_it = any(p)
    check always read_it
    check eventually read_it
  }
  property w on writer(by_writer) is F(by_writer)
  atom wrote = any(w)
  atom broken = any(hour, F)
  atom done = all(hour, T) && count(hour, ?) == 0 && size(writer) == 1
  check always (wrote -> !broken)
}
scope other (sync_l) {
  scope quiet (batch) { check always true }
  check always true
}`)
	var names []string
	for _, sc := range s.Scopes {
		names = append(names, sc.Name)
	}
	if got := strings.Join(names, " "); got != "hour day quiet other" {
		t.Fatal(got)
	}
	hour, day := s.Scopes[0], s.Scopes[1]
	if hour.Outer != day || !hour.Counted || s.Scopes[2].Counted || day.Inner[0] != hour || s.Events[hour.Sync].Name != "batch" {
		t.Errorf("%+v in %+v", hour, day)
	}
	if _, problems := s.ScopeMonitors(hour, MonitorOptions{}); len(problems) != 0 {
		t.Errorf("a counted check that cannot be false: %v", problems)
	}
	// w: 0 undecided, 1 true; hour: its checks by verdict; the size of writer.
	for _, c := range []struct {
		hour         [4]uint64
		broken, done bool
	}{{[4]uint64{1, 1, 0, 0}, false, false}, {[4]uint64{0, 1, 1, 0}, true, false}, {[4]uint64{0, 2, 0, 0}, false, true}} {
		counts := append(append([]uint64{0, 1, 0, 0}, c.hour[:]...), 1)
		if len(counts) != day.Inputs() {
			t.Fatal(day.Inputs())
		}
		if !day.Atoms[0].Holds(counts) || day.Atoms[1].Holds(counts) != c.broken || day.Atoms[2].Holds(counts) != c.done {
			t.Errorf("%+v: %v %v %v", c, day.Atoms[0].Holds(counts), day.Atoms[1].Holds(counts), day.Atoms[2].Holds(counts))
		}
	}
}
