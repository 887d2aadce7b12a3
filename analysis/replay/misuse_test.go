package replay

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestDoubtMisuse: a lock that may have been acquired unobserved may be held.
func TestDoubtMisuse(t *testing.T) {
	for rule, doubted := range map[finding.Rule]bool{finding.UnlockNotHeld: true, finding.WaitNotHeld: true, finding.JoinTwice: false} {
		for _, unfollowed := range []uint64{0, 3} {
			found := []finding.Finding{{Kind: finding.Misuse, Rule: rule, Confidence: finding.Observed}}
			downgradeMisuse(found, run.Summary{UnreturnedCalls: unfollowed})
			if got := found[0].Confidence == finding.Likely && found[0].Reason != ""; got != (doubted && unfollowed > 0) {
				t.Errorf("%s, %d calls: %+v", rule, unfollowed, found[0])
			}
		}
	}
}
