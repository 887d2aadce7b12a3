package verdict

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
)

// TestKnowledgeIsDoubted: what this run shows of the knowledge of threads rests on what nothing orders, so that it is
// only likely if something may order the threads unobserved; what it shows of a property is not.
func TestKnowledgeIsDoubted(t *testing.T) {
	j := Judge{Run: Run{Doubt: func(*finding.Finding) reason.Reason { return reason.Noted("a library synchronises") }}}
	for kind, want := range map[finding.Kind]finding.Confidence{finding.Knowledge: finding.Likely, finding.Property: finding.Observed} {
		found := j.Findings([]finding.Finding{{Kind: kind, Confidence: finding.Observed, Witness: make([]finding.Step, 1)}}, nil)
		if len(found) != 1 || found[0].Confidence != want {
			t.Errorf("%s: %+v", kind, found)
		}
	}
}
