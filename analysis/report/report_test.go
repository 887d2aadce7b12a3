package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestAtLeast checks that AtLeast counts what it leaves out, and does not change the whole report.
func TestAtLeast(t *testing.T) {
	for least, shown := range map[finding.Confidence]int{finding.Observed: 1, finding.Predicted: 3, finding.Potential: 4} {
		whole := reporttest.AtLeast(finding.Potential)
		r := whole.AtLeast(least)
		if len(r.Findings) != shown || r.Hidden[finding.Predicted]+r.Hidden[finding.Potential] != 4-shown {
			t.Errorf("%s: %d findings, want %d; hidden: %v", least, len(r.Findings), shown, r.Hidden)
		}
		if len(whole.Findings) != 4 || len(whole.Hidden) != 0 {
			t.Error("the whole report has changed")
		}
	}
}

func TestRaceUnderAReadLock(t *testing.T) {
	f := reporttest.Race()
	f.Evidence[1].Held, f.Evidence[1].HeldAt = []event.ObjectID{reporttest.Ledger}, []event.StackID{3}
	if got := report.Build(report.Run{}, []finding.Finding{f}, reporttest.ShopTable()).Findings[0].Message; !strings.Contains(got, "shares only a read lock with") {
		t.Error(got)
	}
}

func TestSketchAcquiresTheLocksOfTheCycle(t *testing.T) {
	f := reporttest.Deadlock(reporttest.Ledger, reporttest.Till)
	f.Witness, f.Confidence = nil, finding.Potential
	f.Evidence[0].Held = []event.ObjectID{reporttest.HeapA, reporttest.Ledger}
	f.Evidence[0].HeldAt = []event.StackID{7, 1}
	var got []string
	for _, s := range report.Build(report.Run{}, []finding.Finding{f}, reporttest.ShopTable()).Findings[0].Sketch {
		got = append(got, fmt.Sprint("T", s.Thread, " ", s.Op, " ", s.Object.Name, " ", s.Blocked))
	}
	want := []string{"T2 acquire ledger false", "T3 acquire till+0x8 false", "T2 acquire till+0x8 true", "T3 acquire ledger true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
