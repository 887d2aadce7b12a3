package jsonreport

import (
	"encoding/json"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

// TestCausesInJSON checks that JSON has all findings, each with the fingerprint of the one that the
// text shows.
func TestCausesInJSON(t *testing.T) {
	r := reporttest.ItemRaces()
	var got struct {
		Findings []struct{ Cause, Fingerprint, Confidence string }
	}
	if err := json.Unmarshal(writeJSON(t, r), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Findings) != 6 {
		t.Fatalf("%d findings", len(got.Findings))
	}
	for _, f := range got.Findings {
		if f.Cause != got.Findings[0].Fingerprint || got.Findings[0].Confidence != "predicted" {
			t.Errorf("the cause of %s is %s", f.Fingerprint, f.Cause)
		}
	}
}
