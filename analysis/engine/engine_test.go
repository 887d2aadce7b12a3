package engine_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// read returns a run of the collection of package predict.
func read(t *testing.T, name string) []event.Event {
	t.Helper()
	events, _, err := eventtest.ReadSTD("../predict/testdata/traces/" + name + ".std")
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func findings(events []event.Event, doubt func(*finding.Finding) reason.Reason) []finding.Finding {
	s := engine.New(engine.Options{})
	for i := range events {
		e := events[i] // an analysis must not keep a pointer to it
		s.Event(&e)
		e = event.Event{}
	}
	return finish(s, verdict.Run{Doubt: doubt}, part.Known{})
}

func brief(fs []finding.Finding) []string {
	var out []string
	for _, f := range fs {
		out = append(out, fmt.Sprintf("%s %s", f.Confidence, f.Kind))
	}
	return out
}

// TestFinish checks the findings of the lockset and the lock-order analysis, and their verdicts.
func TestFinish(t *testing.T) {
	for name, want := range map[string][]string{
		"01_simple_ww":                 {"observed race"},
		"05_ww_cs_syncp_not_wcp":       {"predicted race"},
		"12_eraser_fp_handoff":         nil,
		"06_open_cs_wcp_osr_not_syncp": {"predicted race"},
		"02_locked":                    nil,
		"08_fork_join_safe":            nil,
		"d01_abba":                     {"predicted deadlock"},
		"d02_gatelock":                 nil,
		"d11_single_thread_inversion":  nil,
	} {
		events := read(t, name)
		fs := findings(events, nil)
		if diff := cmp.Diff(want, brief(fs)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, f := range fs {
			if err := execution.Observe(events).Check(f.Witness, f.Kind); f.Confidence != finding.Potential && err != nil {
				t.Errorf("%s: the witness leads nowhere: %v", name, err)
			}
		}
	}
}

// TestDoubt checks that a doubted finding with a schedule is likely and has the doubt as its reason, and that
// doubt is called only for findings that are more than potential.
func TestDoubt(t *testing.T) {
	for _, name := range []string{"01_simple_ww", "d01_abba"} {
		events := read(t, name)
		for _, f := range findings(events, func(*finding.Finding) reason.Reason { return reason.Noted("because") }) {
			if f.Confidence != finding.Likely || f.Reason.Words != "because" {
				t.Errorf("%s: %s, %+v", name, f.Confidence, f.Reason)
			}
		}
		for _, f := range findings(events, func(*finding.Finding) reason.Reason { return reason.Reason{} }) {
			if f.Confidence == finding.Potential || f.Reason.Given() {
				t.Errorf("%s without a doubt: %s, %+v", name, f.Confidence, f.Reason)
			}
		}
	}
	findings(read(t, "12_eraser_fp_handoff"), func(f *finding.Finding) reason.Reason {
		if f.Confidence == finding.Potential {
			t.Errorf("asked about a finding that is %s", f.Confidence)
		}
		return reason.Reason{}
	})
}

// TestNothing checks that a run without events has no findings.
func TestNothing(t *testing.T) {
	if fs := finish(engine.New(engine.Options{}), verdict.Run{}, part.Known{}); len(fs) != 0 {
		t.Error(fs)
	}
}
