package scope

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/observer/event"
)

const isOuter uint64 = 1 << 8 // an action of the outer scope; isAction is one of the inner scope

// nestedRun is a random run of which each acquire of the first lock is an action of the outer scope, of the inner one, or of
// both.
func nestedRun(r *rand.Rand) (run []event.Event, declared []uint64) {
	run, declared = randomRun(r, 10+r.IntN(40))
	for i := range declared {
		if declared[i]&isAction != 0 {
			declared[i] = []uint64{isAction, isAction, isOuter, isAction | isOuter}[r.IntN(4)]
		}
		if run[i].Op == event.End {
			run[i].Op = event.None
		}
	}
	return run, declared
}

func nested(t *testing.T, checks ...string) *Scope {
	t.Helper()
	all := func(event.ThreadID) bool { return true }
	s := &Scope{
		Name: "inner", Sync: isAction, Outer: isOuter, OuterName: "outer", Types: []Type{{Name: "all", Has: all}},
		Locals: []Local{
			{Name: "p", Events: []uint64{isA}, Formula: formula(t, "F a", []string{"a"})},
			{Name: "q", Events: []uint64{isB}, Formula: formula(t, "F b", []string{"b"})},
		},
		Atoms: []Atom{
			{Name: "x", Holds: func(c *Counts) bool { return c.Of(0, True) > 0 }},
			{Name: "y", Holds: func(c *Counts) bool { return c.Of(1, True) > 0 }},
		},
	}
	for _, c := range checks {
		s.Checks = append(s.Checks, Check{Text: c, Formula: formula(t, c, []string{"x", "y"})})
	}
	return s
}

// state is a scope state of an inner scope of these tests.
type state struct{ x, y bool }

// innerStates returns the scope states of the inner regions, by outer region, from the regions of Definition 5 as sets.
func innerStates(o order, declared []uint64) [][]state {
	var actions []int
	for i, d := range declared {
		if d&(isAction|isOuter) != 0 {
			actions = append(actions, i)
		}
	}
	out := [][]state{nil}
	for k, region := range o.regions(actions) {
		if k > 0 && declared[actions[k-1]]&isOuter != 0 {
			out = append(out, nil)
		}
		var s state
		for _, i := range region {
			s.x, s.y = s.x || declared[i]&isA != 0, s.y || declared[i]&isB != 0
		}
		out[len(out)-1] = append(out[len(out)-1], s)
	}
	return out
}

// judgedBy are the meanings of some formulas on the states of an outer region.
var judgedBy = map[string]func([]state) monitor.Verdict{
	"always x": func(all []state) monitor.Verdict {
		if slices.ContainsFunc(all, func(s state) bool { return !s.x }) {
			return monitor.False
		}
		return monitor.Unknown
	},
	"eventually y": func(all []state) monitor.Verdict {
		if slices.ContainsFunc(all, func(s state) bool { return s.y }) {
			return monitor.True
		}
		return monitor.Unknown
	},
	"x until y": func(all []state) monitor.Verdict {
		for _, s := range all {
			switch {
			case s.y:
				return monitor.True
			case !s.x:
				return monitor.False
			}
		}
		return monitor.Unknown
	},
}

// TestInnerScopes: on random partial orders, the verdicts of an inner scope in each region of the outer one are those that
// the regions have as sets, in each run of the order, without the events in no region.
func TestInnerScopes(t *testing.T) {
	checks := []string{"always x", "eventually y", "x until y"}
	regions := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 48))
		run, declared := nestedRun(r)
		o := orderOf(run, edges{locks: true, forks: true})
		var want [][]monitor.Verdict
		for _, states := range innerStates(o, declared) {
			var of []monitor.Verdict
			for _, c := range checks {
				of = append(of, judgedBy[c](states))
			}
			want = append(want, of)
		}
		var actions []int
		for i, d := range declared {
			if d&(isAction|isOuter) != 0 {
				actions = append(actions, i)
			}
		}
		if len(actions) == 0 {
			continue
		}
		inside := slices.Clone(declared)
		for _, i := range o.outside(actions, o.regions(actions)) {
			inside[i] = 0
		}
		for range 4 {
			shuffled, masks := linearisation(r, o, run, inside)
			var got [][]monitor.Verdict
			m := New(Options{Scope: nested(t, checks...), Judged: func(of []monitor.Verdict) { got = append(got, slices.Clone(of)) }})
			m.run(shuffled, masks)
			found := m.Finish()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d: %s", seed, diff)
			}
			checkInnerFindings(t, m, checks, want, len(found))
		}
		regions += len(want)
	}
	if regions < 400 {
		t.Errorf("%d outer regions: too few to tell", regions)
	}
}

// checkInnerFindings checks that each check that is false in an outer region has one finding, in the first of these.
func checkInnerFindings(t *testing.T, m *Monitor, checks []string, want [][]monitor.Verdict, found int) {
	t.Helper()
	violated := 0
	for i, c := range checks {
		first := slices.IndexFunc(want, func(of []monitor.Verdict) bool { return of[i] == monitor.False })
		var tally [3]uint64
		for _, of := range want {
			tally[of[i]]++
		}
		if m.Tally(i) != tally {
			t.Fatalf("%s: tally %v, want %v", c, m.Tally(i), tally)
		}
		if first < 0 {
			continue
		}
		violated++
		if !slices.ContainsFunc(m.found, func(f *finding.Finding) bool {
			return f.Scope.Check == c && f.Scope.OuterRegion == uint64(first) && f.Scope.Outer == "outer"
		}) {
			t.Fatalf("%s is not found in region %d", c, first)
		}
	}
	if found != violated {
		t.Fatalf("%d findings, want %d", found, violated)
	}
}

// TestInnerUnordered: an action of the inner scope that is concurrent with one of the outer scope leaves it without findings.
func TestInnerUnordered(t *testing.T) {
	m := New(Options{Scope: nested(t, "always x")})
	m.Event(&event.Event{Seq: 1, Thread: 1, Op: event.Acquire, Object: 1}, isOuter)
	m.Event(&event.Event{Seq: 2, Thread: 2, Op: event.Acquire, Object: 2}, isAction)
	if _, ok := m.Unordered(); !ok || len(m.Finish()) != 0 {
		t.Error("the actions are ordered")
	}
}

// TestCountedScopes: an inner scope whose verdicts the outer one counts has no findings itself.
func TestCountedScopes(t *testing.T) {
	s := nested(t, "always x")
	s.Counted = true
	m := New(Options{Scope: s})
	m.Event(&event.Event{Seq: 1, Thread: 1, Op: event.Acquire, Object: 1}, isOuter)
	if found := m.Finish(); len(found) != 0 || m.Tally(0)[monitor.False] != 2 {
		t.Errorf("%d findings, tally %v", len(found), m.Tally(0))
	}
}
