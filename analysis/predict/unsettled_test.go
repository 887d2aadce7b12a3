package predict

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestUnsettled: a search that spends its budget is reported in the finding's Reason and counted
// by Unsettled.
func TestUnsettled(t *testing.T) {
	for steps, want := range map[int]uint64{1: 1, 0: 0, -1: 0} {
		f := newFeed(Options{Reversals: steps})
		f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
		first := f.nest(1, lockC, lockA, lockB)
		f.nest(2, lockC)
		second := f.nest(2, lockB, lockA)
		x := finding.Finding{Kind: finding.Deadlock, Confidence: finding.Potential, Evidence: []finding.Step{{Seq: first}, {Seq: second}}}
		r := f.h.Settle(&x, nil)
		if got := f.h.Unsettled(); got != want || (x.Reason.What == reason.Exhausted) != (want == 1) || (x.Confidence == finding.Predicted) != (steps == 0) {
			t.Errorf("with %d steps: %d unsettled, %s: %v, %q", steps, got, x.Confidence, r.Verdict, x.Reason)
		}
	}
}
