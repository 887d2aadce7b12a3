package lattice_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// propertiesOf returns the properties of a case, sorted by name.
func propertiesOf(t *testing.T, x *eventtest.Execution) (names []string, props []lattice.Property) {
	t.Helper()
	names = slices.Sorted(maps.Keys(x.Property))
	for _, name := range names {
		w := x.Property[name]
		m, labels, err := w.Monitor(x.Names)
		if err != nil {
			t.Fatal(err)
		}
		props = append(props, lattice.Property{Monitor: m, Labels: labels})
	}
	return names, props
}

// explored holds what the lattice of an execution contains and reports.
type explored struct {
	levels     [][][]uint32 // cuts by thread, in order of creation
	states     [][][]uint64
	bad        map[string][][]uint32 // by property: cuts that some bad run enters
	fresh      map[string][][]uint32 // cuts at which a run turns bad
	observed   map[string]bool
	queues     [][]string
	removed    [][]string
	left       []string
	stats      lattice.Stats
	violations int
}

// explore runs Algorithm A and the lattice over an execution.
func explore(t *testing.T, x *eventtest.Execution, o lattice.Options) *explored {
	t.Helper()
	out := &explored{bad: map[string][][]uint32{}, fresh: map[string][][]uint32{}, observed: map[string]bool{}}
	names, props := propertiesOf(t, x)
	o.Properties = props
	for _, v := range x.Initial {
		o.Initial = append(o.Initial, uint64(v))
	}
	var threads eventtest.ThreadClocks
	var initial []int
	o.Violation = func(v *lattice.Violation) {
		out.violations++
		out.observed[names[v.Property]] = out.observed[names[v.Property]] || v.Observed
		if v.Level() == 0 {
			initial = append(initial, v.Property)
		}
		checkWitness(t, v)
	}
	l := lattice.New(o)
	zero := make([]uint32, len(x.Threads))
	out.levels, out.states = [][][]uint32{{zero}}, [][][]uint64{{o.Initial}}
	for _, p := range initial {
		out.bad[names[p]] = append(out.bad[names[p]], zero)
	}
	before := l.Waiting()
	name := func(seqs []uint64) []string {
		ids := []string{}
		for _, s := range seqs {
			ids = append(ids, x.IDs[int(s)])
		}
		return ids
	}
	l.OnLevel(func(cuts [][]uint32, values [][]uint64, bad [][]bool) {
		var level [][]uint32
		for i, c := range cuts {
			level = append(level, threads.ByThread(c, x.Threads))
			for p, b := range bad[i] {
				if b {
					out.bad[names[p]] = append(out.bad[names[p]], threads.ByThread(c, x.Threads))
				}
			}
		}
		out.levels, out.states = append(out.levels, level), append(out.states, values)
		now := l.Waiting()
		gone := slices.DeleteFunc(slices.Clone(before), func(s uint64) bool { return slices.Contains(now, s) })
		out.queues, out.removed = append(out.queues, name(before)), append(out.removed, name(gone))
		before = now
	})
	clocks := causality.New()
	for i := range x.Events {
		e := &x.Events[i]
		relevant := x.IDs[i] != ""
		s, v := clocks.Stamp(e, relevant)
		if !relevant {
			continue
		}
		threads.Add(e.Thread, s, v[s])
		before = append(before, uint64(i))
		l.Event(&lattice.Event{Slot: s, Clock: v, Variable: slices.Index(x.Objects, e.Object), Value: e.Value, Seq: uint64(i)})
	}
	l.Finish()
	out.left, out.stats = name(l.Waiting()), l.Stats()
	return out
}

// checkWitness checks that the witness begins on the observed run and ends with the violation.
func checkWitness(t *testing.T, v *lattice.Violation) {
	t.Helper()
	w, err := v.Witness()
	if err != nil {
		t.Errorf("witness at level %d: %v", v.Level(), err)
		return
	}
	ends := w.Common + len(w.Steps)
	if e, ok := v.Event(); ends > v.Level() || ok && ends == v.Level() && w.Steps[len(w.Steps)-1].Seq != e.Seq {
		t.Errorf("witness of %d steps from level %d to %d, by event %d", len(w.Steps), w.Common, v.Level(), e.Seq)
	}
	if v.Observed && len(w.Steps) > 1 {
		t.Errorf("the observed run has a witness of %d steps", len(w.Steps))
	}
	checkExcerpt(t, v, w)
}

func TestLatticesOfTheCases(t *testing.T) {
	for name, xs := range eventtest.Executions(t, "testdata/jmpax/*.json") {
		if strings.HasPrefix(name, "cone_") || name == "theorem1_random.json" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			checkLattice(t, &xs[0])
			for i := range xs[0].Variants {
				checkVariant(t, &xs[0].Variants[i])
			}
		})
	}
}

type wantedLattice struct {
	Expect struct {
		Levels []([]struct {
			Cut   []uint32         `json:"cut"`
			State map[string]int64 `json:"state"`
		}) `json:"levels"`
		CutCount   uint64 `json:"cut_count"`
		Properties map[string]struct {
			Observed bool       `json:"observed_run_violates"`
			Count    int        `json:"violating_run_count"`
			At       [][]uint32 `json:"first_violations_at_cuts"`
		} `json:"properties"`
	} `json:"expect"`
}

func checkLattice(t *testing.T, x *eventtest.Execution) {
	t.Helper()
	var want wantedLattice
	if err := json.Unmarshal(x.Case.Expect, &want); err != nil {
		t.Fatal(err)
	}
	got := explore(t, x, lattice.Options{})
	if got.stats.Cuts != want.Expect.CutCount || !got.stats.Complete() {
		t.Errorf("%d cuts, want %d", got.stats.Cuts, want.Expect.CutCount)
	}
	if len(got.levels) != len(want.Expect.Levels) {
		t.Fatalf("%d levels, want %d", len(got.levels), len(want.Expect.Levels))
	}
	for n, level := range want.Expect.Levels {
		wanted := map[string]string{}
		for _, c := range level {
			values := []int64{}
			for _, name := range x.Names {
				values = append(values, c.State[name])
			}
			wanted[fmt.Sprint(c.Cut)] = fmt.Sprint(values)
		}
		built := map[string]string{}
		for i, c := range got.levels[n] {
			values := []int64{}
			for _, v := range got.states[n][i] {
				values = append(values, int64(v))
			}
			built[fmt.Sprint(c)] = fmt.Sprint(values)
		}
		if diff := cmp.Diff(wanted, built); diff != "" {
			t.Errorf("level %d: %s", n, diff)
		}
	}
	for name, p := range want.Expect.Properties {
		if got.observed[name] != p.Observed || (len(got.bad[name]) > 0) != (p.Count > 0) {
			t.Errorf("%s: observed %v, bad at %v; want %v, %d runs", name, got.observed[name], got.bad[name], p.Observed, p.Count)
		}
		for _, at := range p.At {
			if !slices.ContainsFunc(got.bad[name], func(c []uint32) bool { return slices.Equal(c, at) }) {
				t.Errorf("%s: not bad at %v", name, at)
			}
		}
	}
}

func checkVariant(t *testing.T, v *eventtest.Variant) {
	t.Helper()
	var want struct {
		CutCount uint64 `json:"cut_count"`
	}
	if err := json.Unmarshal(v.Expect, &want); err != nil {
		t.Fatal(err)
	}
	if v.ReadClock != "write" || want.CutCount == 0 {
		return
	}
	if got := explore(t, &v.Execution, lattice.Options{}); got.stats.Cuts != want.CutCount {
		t.Errorf("%s: %d cuts, want %d", v.Label, got.stats.Cuts, want.CutCount)
	}
}

type wantedWindow struct {
	W, L        int
	Rule        string
	LevelsBuilt int `json:"levels_built"`
	Log         []struct {
		Level   int
		Cuts    [][]uint32
		Queue   []string
		Removed []string
	}
	Left     []string              `json:"left_in_queue"`
	NotBuilt [][]uint32            `json:"cuts_not_built"`
	BadAt    map[string][][]uint32 `json:"bad_at"`

	RunsInside     int        `json:"runs_inside"`
	ObservedInside bool       `json:"observed_run_inside"`
	Pruned         [][]uint32 `json:"named_run_pruned"`
}

func windowsOf(t *testing.T, x *eventtest.Execution) []wantedWindow {
	t.Helper()
	var want struct {
		Expect struct {
			Windows []wantedWindow `json:"windows"`
		} `json:"expect"`
	}
	if err := json.Unmarshal(x.Case.Expect, &want); err != nil {
		t.Fatal(err)
	}
	return want.Expect.Windows
}

func TestCones(t *testing.T) {
	rules := map[string]lattice.Rule{"repaired": lattice.Repaired, "centred": lattice.Centred}
	for name, xs := range eventtest.Executions(t, "testdata/jmpax/cone_*.json") {
		for _, w := range windowsOf(t, &xs[0]) {
			if rule, ok := rules[w.Rule]; ok {
				t.Run(fmt.Sprintf("%s w=%d l=%d %s", name, w.W, w.L, w.Rule), func(t *testing.T) {
					got := explore(t, &xs[0], lattice.Options{Width: w.W, Queue: w.L, Rule: rule})
					checkWindow(t, &w, got)
					checkPaths(t, &w, messagesOf(&xs[0]), got.levels)
				})
			}
		}
	}
}

func checkWindow(t *testing.T, want *wantedWindow, got *explored) {
	t.Helper()
	if len(got.levels)-1 != want.LevelsBuilt {
		t.Errorf("%d levels, want %d", len(got.levels)-1, want.LevelsBuilt)
	}
	for i, w := range want.Log {
		cuts := got.levels[min(i+1, len(got.levels)-1)]
		if want.W == 0 { // without a limit their order does not matter
			sortCuts(cuts)
			sortCuts(w.Cuts)
		}
		if diff := cmp.Diff(w.Cuts, cuts); diff != "" {
			t.Errorf("level %d: %s", w.Level, diff)
		}
		if diff := cmp.Diff(w.Queue, got.queues[i]); diff != "" {
			t.Errorf("queue of level %d: %s", w.Level, diff)
		}
		if diff := cmp.Diff(w.Removed, got.removed[i]); diff != "" {
			t.Errorf("removed at level %d: %s", w.Level, diff)
		}
	}
	if diff := cmp.Diff(want.Left, got.left); diff != "" {
		t.Errorf("left in the queue: %s", diff)
	}
	if (len(want.NotBuilt) == 0) != got.stats.Complete() {
		t.Errorf("complete: %v, not built %v", got.stats.Complete(), want.NotBuilt)
	}
	checkBad(t, want.BadAt, got.bad)
}

// checkBad compares the cuts that bad runs enter, by property.
func checkBad(t *testing.T, want, got map[string][][]uint32) {
	t.Helper()
	for name, at := range want {
		bad := slices.Clone(got[name])
		sortCuts(bad)
		sortCuts(at)
		if diff := cmp.Diff(at, bad); diff != "" && len(at)+len(bad) > 0 {
			t.Errorf("%s is bad at: %s", name, diff)
		}
	}
}

func sortCuts(cuts [][]uint32) {
	slices.SortFunc(cuts, func(a, b []uint32) int { return slices.Compare(a, b) })
}
