package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestPruned checks the candidates that are no findings, and their reasons, for deadlocks and
// races.
func TestPruned(t *testing.T) {
	for name, want := range map[string][]string{
		"01_simple_ww":                nil,
		"02_locked":                   {"race common-lock"},
		"08_fork_join_safe":           {"race ordered by fork", "race ordered by join"},
		"d01_abba":                    nil,
		"d02_gatelock":                {"deadlock gate-lock"},
		"d21_bcc_example_joined":      {"deadlock ordered by join"},
		"d07_gate_in_parent":          {"deadlock parent-gate-lock"},
		"d11_single_thread_inversion": {"deadlock one-thread"},
		"d19_data_dep_blocks":         {"deadlock ordered by read"},
	} {
		s := engine.New(engine.Options{Explain: true})
		for _, e := range read(t, name) {
			s.Event(&e)
		}
		finish(s, verdict.Run{}, part.Known{})
		var got []string
		for _, p := range s.Pruned() {
			text := fmt.Sprintf("%s %s", p.Kind, p.Why)
			if p.By.Op != event.None {
				text += " by " + p.By.Op.String()
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestOtherThreads checks the paper's RAX program: the variables that race are those that race in
// some interleaving, and each race depends on the main thread, which creates the two others.
func TestOtherThreads(t *testing.T) {
	c, err := eventtest.ReadCase("../depend/testdata/cases/rax_planner_executive.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Races []string }
	if err := json.Unmarshal(c.Expect, &want); err != nil {
		t.Fatal(err)
	}
	raced := map[string]bool{}
	for _, f := range findings(c.Events, nil) {
		raced[c.Names.Objects[f.Objects[0]]] = true
		if len(f.Depends) != 1 || f.Depends[0].How != finding.Creates || c.Names.Threads[f.Depends[0].Thread] != "Main" {
			t.Errorf("%s of %v depends on %+v", f.Kind, f.Objects, f.Depends)
		}
	}
	if diff := cmp.Diff(want.Races, slices.Sorted(maps.Keys(raced))); diff != "" {
		t.Errorf("races (-want +got):\n%s", diff)
	}
}
