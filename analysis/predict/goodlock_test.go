package predict_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// predictedBy runs the lock graph analysis, settles its findings and counts the
// predicted ones.
func predictedBy(t *testing.T, events []event.Event) int {
	t.Helper()
	a, h := goodlock.New(goodlock.Options{}), predict.New(predict.Options{})
	for i := range events {
		e := events[i]
		h.Event(&e)
		a.Event(&e)
	}
	n := 0
	found := a.Finish()
	for i, candidates := range a.Candidates() {
		f := &found[i]
		r := h.Settle(f, candidates)
		if f.Confidence != finding.Predicted {
			if !f.Reason.Given() || r.Verdict == predict.Unknown {
				t.Errorf("%v: %q", r.Verdict, f.Reason)
			}
			continue
		}
		n++
		if err := execution.Observe(events).Check(f.Witness, finding.Deadlock); err != nil {
			t.Error(err)
		}
	}
	return n
}

// TestGoodlockTraces: cycles of the lock graph are predicted as deadlocks where the published
// counts have a deadlock, and nowhere else.
func TestGoodlockTraces(t *testing.T) {
	paths, err := filepath.Glob("testdata/traces/d*.std")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	deadlocks := map[string]bool{
		"d01_abba": true, "d03_false_middle_gate": true, "d05_abc_cycle": true, "d08_gate_in_parent_early_release": true,
		"d09_gate_in_parent_late_acquire": true, "d10_gate_in_parent_relock": true, "d13_stoller_p27": true, "d14_transitive_abc_ca": true,
		"d17_agarwal_ibm2010": true, "d18_dining3": true, "d20_guarded_read_dep": true, "d22_needs_reversal": true,
	}
	for _, path := range paths {
		name := filepath.Base(path[:len(path)-len(".std")])
		events, _, err := eventtest.ReadSTD(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := predictedBy(t, events) > 0; got != deadlocks[name] {
			t.Errorf("%s: predicted %v", name, got)
		}
	}
}

// TestGoodlockRandomPrograms: a deadlock is predicted only of programs of which
// exploration finds one.
func TestGoodlockRandomPrograms(t *testing.T) {
	c, err := eventtest.ReadCase("testdata/goodlock_random.json")
	if err != nil {
		t.Fatal(err)
	}
	with, predicted := 0, 0
	for i, x := range c.Executions {
		var want struct {
			Deadlocks int `json:"deadlocks"`
		}
		if err := json.Unmarshal(x.Expect, &want); err != nil {
			t.Fatal(err)
		}
		n := predictedBy(t, x.Events)
		if want.Deadlocks > 0 {
			with++
		}
		if n > 0 {
			predicted++
		}
		if n > 0 && want.Deadlocks == 0 {
			t.Errorf("execution %d: %d predicted, exploration finds none", i, n)
		}
	}
	t.Logf("%d of %d programs can deadlock, %d are predicted", with, len(c.Executions), predicted)
	if predicted == 0 {
		t.Error("none is predicted: the test shows nothing")
	}
}
