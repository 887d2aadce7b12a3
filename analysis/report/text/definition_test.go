package textreport

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestDefinition checks that a finding about a property shows the definition of the property,
// and the meanings of the names in its steps.
func TestDefinition(t *testing.T) {
	valve := report.Run{Summary: run.Summary{Program: "valve"}}
	valve.AddProperties(&run.Properties{Names: []string{"high", "other"}, Definitions: []run.Definition{
		{Name: "high", Text: "always (q -> r)", Where: []run.Meaning{{Name: "q", Text: "w > 30"}, {Name: "w", Text: "wa\x1bter"}}}, {Name: "other", Text: "always q"},
	}})
	fs := []finding.Finding{{Kind: finding.Property, Confidence: finding.Observed, Property: "high", Message: "this run violates high"}}
	got := text(t, report.Build(valve, fs, reporttest.Table{}), report.Options{Width: 80})
	if !strings.Contains(got, "   high = always (q -> r)\n     where q = w > 30, w = wa") || strings.Contains(got, "always q") || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}
