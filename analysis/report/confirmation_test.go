package report_test

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

// TestHappened: what happened and may be harmless even so is not confirmed, and keeps only that reason; what was observed
// stays as it is.
func TestHappened(t *testing.T) {
	rep := reporttest.AtLeast(finding.Potential)
	rep.Findings = slices.Clone(rep.Findings[:2])
	for i, was := range []finding.Confidence{finding.Observed, finding.Likely} {
		f := &rep.Findings[i]
		f.Confidence, f.Reason, f.Harmless, f.Assumes = was, "something was not recorded", "a thread gives up", []string{finding.RaceFree}
		f.Confirmation = &report.Confirmation{Confirmed: true, Try: 1, Tries: 5, How: "it hung"}
	}
	rep.TakeConfirmations()
	first, f := &rep.Findings[0], &rep.Findings[1]
	if first.Confidence != finding.Observed || !first.Confirmation.Confirmed {
		t.Errorf("observed: %s, %+v", first.Confidence, first.Confirmation)
	}
	if f.Confidence != finding.Likely || f.Reason != "a thread gives up" || len(f.Assumes) > 0 {
		t.Errorf("%s: %q, assumes %q", f.Confidence, f.Reason, f.Assumes)
	}
	if c := f.Confirmation; c.Confirmed || !c.Happened || c.Was != "" {
		t.Errorf("%+v", c)
	}
	if got, want := report.ConfirmationText(f.Confirmation), "it happened (try 1 of 5, 0.0 s): it hung"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTakeConfirmations: what was predicted or likely and is confirmed is confirmed, and assumes nothing; what was
// observed, and what is not confirmed, keeps its confidence.
func TestTakeConfirmations(t *testing.T) {
	was := []finding.Confidence{finding.Observed, finding.Predicted, finding.Likely, finding.Likely}
	rep := reporttest.AtLeast(finding.Potential)
	rep.Findings = slices.Clone(rep.Findings[:len(was)])
	for i := range rep.Findings {
		f := &rep.Findings[i]
		f.Confidence, f.Reason, f.Assumes = was[i], "something was not recorded", []string{finding.RaceFree}
		f.Confirmation = &report.Confirmation{Confirmed: i != 2, Try: 1, Tries: 5}
	}
	rep.TakeConfirmations()
	var got []finding.Confidence
	for _, f := range rep.Findings {
		got = append(got, f.Confidence)
		if was := f.Confirmation.Was; (was != "") != (f.Confidence == finding.Confirmed) || was == finding.Confirmed {
			t.Errorf("%s: was %q", f.Confidence, was)
		}
		if confirmed := f.Confidence == finding.Confirmed; (f.Reason == "") != confirmed || (len(f.Assumes) == 0) != confirmed {
			t.Errorf("%s: reason %q, assumes %q", f.Confidence, f.Reason, f.Assumes)
		}
	}
	if want := []finding.Confidence{finding.Observed, finding.Confirmed, finding.Confirmed, finding.Likely}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
