package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// expected returns a column of a table of the collection, by trace.
func expected(t *testing.T, name, heading string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../predict/testdata/traces/" + name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	at := slices.IndexFunc(strings.Split(lines[0], "\t"), func(h string) bool { return strings.HasPrefix(h, heading) })
	out := map[string]string{}
	for _, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		out[strings.TrimSuffix(cells[0], filepath.Ext(cells[0]))] = cells[at]
	}
	return out
}

// predicted returns the findings of a kind that are more than potential, and their numbers by
// order. It checks the witness of each predicted one.
func predicted(t *testing.T, events []event.Event, kind finding.Kind) (found []finding.Finding, by map[finding.Order]int) {
	t.Helper()
	by = map[finding.Order]int{}
	for _, f := range findings(events, nil) {
		if f.Kind != kind || f.Confidence == finding.Potential {
			continue
		}
		if err := execution.Observe(events).Check(f.Witness, kind); err != nil && f.Confidence == finding.Predicted {
			t.Error(err)
		}
		found = append(found, f)
		by[f.Order]++
	}
	return found, by
}

// TestDeadlocksOfTheCollection checks the 22 runs, each of which has a cycle in its plain lock
// graph. 12 of them can deadlock, in 13 ways. Exactly these are predicted.
func TestDeadlocksOfTheCollection(t *testing.T) {
	cycles := expected(t, "expected_deadlocks.tsv", "lockgraph_cycles")
	preserving := expected(t, "expected_deadlocks.tsv", "sync_preserving")
	runs, ways := 0, 0
	for name, want := range expected(t, "expected_deadlocks.tsv", "true_predictable") {
		found, by := predicted(t, read(t, name), finding.Deadlock)
		if got := fmt.Sprint(len(found)); got != want || fmt.Sprint(by[finding.OrderSyncPreserving]) != preserving[name] {
			t.Errorf("%s: predicted %v, want %s, %s of them sync-preserving", name, by, want, preserving[name])
		}
		if cycles[name] == "0" {
			t.Errorf("%s: a lock graph without a cycle", name)
		}
		if ways += len(found); len(found) > 0 {
			runs++
		}
	}
	if len(cycles) != 22 || runs != 12 || ways != 13 {
		t.Errorf("of %d runs %d can deadlock, in %d ways", len(cycles), runs, ways)
	}
}

// TestRacesOfTheCollection checks the 14 runs: each observed or predicted pair races in some
// feasible interleaving, and if a run has such pairs, at least one is found.
func TestRacesOfTheCollection(t *testing.T) {
	all := expected(t, "expected_races.tsv", "true predictable")
	if len(all) != 14 {
		t.Errorf("%d runs", len(all))
	}
	for name, pairs := range all {
		events := read(t, name)
		found, by := predicted(t, events, finding.Race)
		t.Log(name, pairs, by)
		for _, f := range found {
			a, b := f.Evidence[0].Seq, f.Evidence[1].Seq
			if pair := fmt.Sprintf("(%d, %d)", min(a, b), max(a, b)); !strings.Contains(pairs, pair) {
				t.Errorf("%s: %s is predicted, the races are %s", name, pair, pairs)
			}
		}
		if len(found) == 0 && pairs != "[]" {
			t.Errorf("%s: none is predicted, the races are %s", name, pairs)
		}
	}
}
