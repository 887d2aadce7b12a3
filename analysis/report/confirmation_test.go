package report_test

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

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
