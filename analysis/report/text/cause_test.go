package textreport

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

// TestStrongestOfCauseIsShown checks what the text says of a cause: the strongest pair with its
// details, and the others in brief.
func TestStrongestOfCauseIsShown(t *testing.T) {
	r := reporttest.ItemRaces()
	got := text(t, r, report.Options{Width: 200})
	for _, want := range []string{
		"tracepredict: 1 race predicted in shop", "1. RACE predicted, and 5 other pairs of accesses\n", "in f9 at item.c:90 (T2)", "2 more with --verbose",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "(likely)"); n != maxPairs || strings.Contains(got, "2. RACE") {
		t.Errorf("%d other pairs are named:\n%s", n, got)
	}
	whole := text(t, r, report.Options{Width: 200, Verbose: true})
	for _, f := range r.Findings {
		if !strings.Contains(whole, f.Fingerprint) {
			t.Errorf("the verbose report has no %s:\n%s", f.Fingerprint, whole)
		}
	}
	compare(t, "cause-100.txt", text(t, r, report.Options{Width: 100}))
	compare(t, "cause-verbose.txt", text(t, r, report.Options{Width: 100, Verbose: true}))
}
