package replay

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestDoubtMisuse: a lock that may have been acquired unobserved may be held.
func TestDoubtMisuse(t *testing.T) {
	for rule, doubted := range map[finding.Rule]bool{finding.UnlockNotHeld: true, finding.WaitNotHeld: true, finding.JoinTwice: false} {
		for _, unfollowed := range []uint64{0, 3} {
			found := []finding.Finding{{Kind: finding.Misuse, Rule: rule, Confidence: finding.Observed}}
			downgradeMisuse(found, run.Summary{UnreturnedCalls: unfollowed}, &run.Names{})
			if got := found[0].Confidence == finding.Likely && found[0].Reason != ""; got != (doubted && unfollowed > 0) {
				t.Errorf("%s, %d calls: %+v", rule, unfollowed, found[0])
			}
		}
	}
}

// TestDoubtReinit: what is initialised again may be another object in memory that was freed, unless
// it has a name.
func TestDoubtReinit(t *testing.T) {
	var names run.Names
	names.AddObject(run.Object{Name: "lock"})
	names.AddObject(run.Object{Addr: 0x5000, Member: "struct session.lock"})
	for id, doubted := range map[event.ObjectID]bool{1: false, 2: true} {
		for _, rule := range []finding.Rule{finding.ReinitHeld, finding.ReinitWaited} {
			found := []finding.Finding{{Kind: finding.Misuse, Rule: rule, Confidence: finding.Observed, Objects: []event.ObjectID{id}}}
			downgradeMisuse(found, run.Summary{}, &names)
			if got := found[0].Confidence == finding.Likely && found[0].Reason != ""; got != doubted {
				t.Errorf("%s of %d: %+v", rule, id, found[0])
			}
		}
	}
}
