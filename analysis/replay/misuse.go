package replay

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/run"
)

// downgradeMisuse makes the findings likely that say that a thread does not hold a lock, if
// some calls could not be followed to their return: one of them may have acquired the lock.
func downgradeMisuse(found []finding.Finding, s run.Summary) {
	if s.UnreturnedCalls == 0 {
		return
	}
	for i := range found {
		switch f := &found[i]; f.Rule {
		case finding.UnlockNotHeld, finding.UnlockByOther, finding.WaitNotHeld:
			f.Confidence = finding.Likely
			f.Reason = plural.Sprintf("%d {call could not be followed to its return, and it|calls could not be followed to their return, and one} may have taken the lock", s.UnreturnedCalls)
		}
	}
}
