package progress

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
)

func TestEachDeadlockIsReported(t *testing.T) {
	var out bytes.Buffer
	d := Deadlocks{Names: program{}, Out: &out}
	f := finding.Finding{
		Kind: finding.Deadlock, Confidence: finding.Predicted, Evidence: []finding.Step{edgeStep(2, 21, 1, 2), edgeStep(3, 31, 2, 1)},
	}
	d.Report(&f)
	d.Report(&f)
	want := `tracepredict: deadlock predicted: T2 and T3 can block each other for ever: T2 holds 'a' and waits for 'b' at x.c:21, while T3 holds 'b' and waits for 'a' at x.c:31 (the report at the end has its confidence and assumptions)
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
