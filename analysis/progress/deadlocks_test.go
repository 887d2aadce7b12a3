package progress

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
)

func TestEachDeadlockIsReported(t *testing.T) {
	var out bytes.Buffer
	var confidence finding.Confidence
	d := Deadlocks{Names: program{}, Out: &out, Least: finding.Likely, Confidence: func(*finding.Finding) finding.Confidence { return confidence }}
	f := finding.Finding{
		Kind: finding.Deadlock, Confidence: finding.Predicted, Evidence: []finding.Step{edgeStep(2, 21, 1, 2), edgeStep(3, 31, 2, 1)},
	}
	confidence = finding.Likely
	d.Report(&f)
	d.Report(&f)
	confidence = finding.Potential
	f.Evidence = []finding.Step{edgeStep(2, 22, 1, 2), edgeStep(3, 32, 2, 1)}
	d.Report(&f)
	want := `tracepredict: deadlock likely: T2 and T3 can block each other for ever: T2 holds 'a' and waits for 'b' at x.c:21, while T3 holds 'b' and waits for 'a' at x.c:31 (the report at the end says what it rests on)
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
