package main

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
)

// tried returns a report of findings without details, of which some are confirmed.
func tried(confirmed ...bool) *report.Report {
	var r report.Report
	for i, is := range confirmed {
		r.Findings = append(r.Findings, report.Finding{
			Finding:     finding.Finding{Kind: finding.Misuse, Confidence: finding.Predicted, Message: "m" + string(rune('a'+i))},
			Fingerprint: strings.Repeat(string(rune('5'+i)), 16), Confirmation: &report.Confirmation{Confirmed: is, Try: 1, Reason: "no"},
		})
	}
	return &r
}

// TestChooseConfirmed: a finding is chosen by its number, or by the beginning of its fingerprint, or because it is the only
// one that is confirmed.
func TestChooseConfirmed(t *testing.T) {
	for _, c := range []struct {
		confirmed []bool
		which     string
		number    string // of the finding that is chosen: the first has a fingerprint of fives, the second one of sixes
		err       string
	}{
		{[]bool{false, true}, "", "2", ""},
		{[]bool{true, true}, "2", "2", ""},
		{[]bool{true, true}, "66", "2", ""},
		{[]bool{true, true}, "5", "1", ""},
		{[]bool{true, true, true, true, true}, "5", "5", ""}, // rather than the fingerprint of the first
		{[]bool{true, true}, "", "", "which finding? name one of these: 1 (ma), 2 (mb)"},
		{[]bool{false, false}, "", "", "no finding is confirmed"},
		{[]bool{false, true}, "1", "", "finding 1 is not confirmed"},
		{[]bool{true}, "7", "", "no finding has the number 7"},
		{nil, "", "", "no finding is confirmed"},
	} {
		f, number, err := chooseConfirmed(tried(c.confirmed...), c.which)
		if c.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("%v, %q: %v", c.confirmed, c.which, err)
			}
			continue
		}
		if err != nil || number != c.number || f.Fingerprint[0] != '4'+number[0]-'0' {
			t.Errorf("%v, %q: %q, %v", c.confirmed, c.which, number, err)
		}
	}
}
