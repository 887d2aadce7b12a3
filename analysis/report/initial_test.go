package report_test

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestSubjectOfProperty checks that a finding of a property of an object names the object, and that its fingerprint does not depend on
// which one it is.
func TestSubjectOfProperty(t *testing.T) {
	of := func(address uint64) report.Report {
		return report.Build(reporttest.ShopRun(), []finding.Finding{{
			Kind: finding.Property, Confidence: finding.Observed, Property: "p", Message: "this run violates p", Count: 1,
			Subject:  &finding.Subject{Value: address, First: finding.Step{Thread: 2, Op: event.Call, Stack: 5}},
			Evidence: []finding.Step{{Seq: 9, Thread: 2, Op: event.Call, Stack: 5}},
		}}, reporttest.ShopTable())
	}
	a, b := of(0x1000), of(0x2000)
	if a.Findings[0].Fingerprint != b.Findings[0].Fingerprint {
		t.Error("the fingerprint depends on the address")
	}
	if text := a.Names().SubjectText(&a.Findings[0]); !strings.HasPrefix(text, "It is of the object 0x1000, first seen in ") || !strings.HasSuffix(text, "(T2)") {
		t.Errorf("%q", text)
	}
}
