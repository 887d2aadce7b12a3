package eraser

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

const casesPattern = "testdata/cases/*.json"

type wantAccess struct {
	Event      int      `json:"event"`
	State      string   `json:"state"`
	Candidates []string `json:"candidates"`
	Warning    bool     `json:"warning"`
}

type wantVariant struct {
	Leave    string       `json:"virgin"`
	Seed     string       `json:"seed"`
	Warned   []string     `json:"warned_variables"`
	Accesses []wantAccess `json:"accesses"`
}

type wantCase struct {
	Accesses []wantAccess  `json:"accesses"`
	Eraser   []wantAccess  `json:"eraser"` // of whole programs
	Warned   []string      `json:"warned_variables"`
	Variants []wantVariant `json:"variants"`
	Races    []string      `json:"races_over_all_interleavings"`
}

func expectation(t *testing.T, c *eventtest.Case) wantCase {
	var w wantCase
	if err := json.Unmarshal(c.Expect, &w); err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	w.Accesses = append(w.Accesses, w.Eraser...)
	return w
}

// TestCasesPlain checks the verdicts of the paper's algorithm, in each of its variants.
func TestCasesPlain(t *testing.T) {
	leaves := map[string]leave{"any": leaveOnAny, "write": leaveOnWrite}
	seeds := map[string]seed{"shared": seedShared, "first": seedFirst}
	for _, c := range eventtest.Cases(t, casesPattern) {
		w := expectation(t, c)
		t.Run(c.Name, func(t *testing.T) {
			if len(w.Accesses) == 0 {
				t.Fatal("nothing expected")
			}
			checkPlain(t, c, Options{}, w.Accesses, w.Warned)
			for _, v := range w.Variants {
				checkPlain(t, c, Options{leave: leaves[v.Leave], seed: seeds[v.Seed]}, v.Accesses, v.Warned)
			}
		})
	}
}

func checkPlain(t *testing.T, c *eventtest.Case, opts Options, accesses []wantAccess, warned []string) {
	t.Helper()
	opts.Plain = true
	fileIndex := map[uint64]int{}
	for i, at := range c.Index {
		if at >= 0 {
			fileIndex[c.Events[at].Seq] = i
		}
	}
	var got []wantAccess
	opts.onAccess = func(v *verdict) {
		got = append(got, wantAccess{fileIndex[v.seq], v.state.String(), candidateNames(v, c.Names), v.warning})
	}
	variables := warnedVariables(opts, c)
	if accesses != nil {
		if d := cmp.Diff(accesses, got); d != "" {
			t.Errorf("%+v: accesses (-want +got):\n%s", opts, d)
		}
	}
	if d := cmp.Diff(warned, variables); d != "" {
		t.Errorf("leave %d seed %d: warned (-want +got):\n%s", opts.leave, opts.seed, d)
	}
}

func candidateNames(v *verdict, names *eventtest.Names) []string {
	if !v.seeded {
		return nil
	}
	out := []string{}
	for _, l := range v.candidates {
		out = append(out, names.Objects[l])
	}
	slices.Sort(out)
	return out
}

func warnedVariables(opts Options, c *eventtest.Case) []string {
	a := New(opts)
	for i := range c.Events {
		a.Event(&c.Events[i])
	}
	out := []string{}
	for _, f := range a.Finish() {
		out = append(out, c.Names.Objects[f.Objects[0]])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// hidden are races that occur only after another race of the same case had the other outcome: the
// racy read of v1.x orders what comes after it.
var hidden = map[string]string{"fig1_value_race": "v2.x"}

// TestCasesPruned checks that with the must-order no case has a false finding, and that no correct
// warning of the paper's algorithm is lost.
func TestCasesPruned(t *testing.T) {
	for _, c := range eventtest.Cases(t, casesPattern) {
		w := expectation(t, c)
		if w.Races == nil {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			got := warnedVariables(Options{}, c)
			for _, v := range got {
				if !slices.Contains(w.Races, v) {
					t.Errorf("%s is reported and cannot race", v)
				}
			}
			for _, v := range w.Warned {
				if slices.Contains(w.Races, v) && !slices.Contains(got, v) && hidden[c.Name] != v {
					t.Errorf("the race of %s is lost", v)
				}
			}
		})
	}
}

// TestCasesEveryPair checks that with EveryPair all races of the cases are reported that the
// must-order M leaves unordered, and no others.
func TestCasesEveryPair(t *testing.T) {
	for _, c := range eventtest.Cases(t, casesPattern) {
		w := expectation(t, c)
		if w.Races == nil {
			continue
		}
		want := slices.DeleteFunc(slices.Clone(w.Races), func(v string) bool { return hidden[c.Name] == v })
		if d := cmp.Diff(want, warnedVariables(Options{EveryPair: true}, c)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.Name, d)
		}
	}
}

func analyse(opts Options, events []event.Event) *Analysis {
	a := New(opts)
	for i := range events {
		a.Event(&events[i])
	}
	return a
}
