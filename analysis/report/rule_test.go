package report_test

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestRule checks that another rule at the same source location is another finding, and that the wrong operation
// comes first although it happened last.
func TestRule(t *testing.T) {
	both := report.Build(report.Run{}, []finding.Finding{reporttest.Misuse(finding.UnlockByOther), reporttest.Misuse(finding.UnlockNotHeld), reporttest.Misuse("")}, nil)
	if len(both.Findings) != 3 {
		t.Errorf("%d findings of three rules", len(both.Findings))
	}
	one := report.Build(report.Run{}, []finding.Finding{reporttest.Misuse(finding.UnlockByOther)}, nil)
	if first := one.Findings[0].Evidence[0]; first.Op != event.Release {
		t.Errorf("the evidence begins with %s", first.Op)
	}
}
