package report

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestDefinition checks that a finding about a property shows the definition of the property,
// and the meanings of the names in its steps.
func TestDefinition(t *testing.T) {
	run := Run{Summary: run.Summary{Program: "valve"}}
	run.AddProperties(&Properties{Names: []string{"high", "other"}, Definitions: []Definition{
		{Name: "high", Text: "always (q -> r)", Where: []Meaning{{"q", "w > 30"}, {"w", "wa\x1bter"}}}, {Name: "other", Text: "always q"},
	}})
	fs := []finding.Finding{{Kind: finding.Property, Confidence: finding.Observed, Property: "high", Message: "this run violates high"}}
	got := text(t, Build(run, fs, table{}), TextOptions{Width: 80})
	if !strings.Contains(got, "   high = always (q -> r)\n     where q = w > 30, w = wa") || strings.Contains(got, "always q") || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}
