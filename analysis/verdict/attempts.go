package verdict

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Attempt makes a finding potential that rests on what a thread would only do if an attempt failed: wait, and
// release the lock of an interpreter before (event.MayWait).
func Attempt(f *finding.Finding) {
	if f.Confidence != finding.Predicted && f.Confidence != finding.Likely {
		return
	}
	if why := restsOnAttempt(f); why != "" {
		f.Confidence, f.Reason = finding.Potential, why
	}
}

// restsOnAttempt returns a sentence why a finding rests on such an attempt, "" if it does not.
func restsOnAttempt(f *finding.Finding) string {
	for i := range f.Evidence {
		if s := &f.Evidence[i]; s.Flags&event.MayWait != 0 {
			return fmt.Sprintf("T%d only tries here, with an interpreter's lock held: whether it waits if that fails, as Python's acquire() does and "+
				"acquire(blocking=False) does not, was not recorded", s.Thread)
		}
	}
	if t := interrupted(f.Witness); t != 0 {
		return fmt.Sprintf("in this schedule another thread goes on while T%d has released an interpreter's lock to wait, but T%d only does so "+
			"if it has to wait", t, t)
	}
	return ""
}

// interrupted returns a thread within whose attempt another one acquires the interpreter's lock in a witness; 0 if
// there is none.
func interrupted(witness []finding.Step) event.ThreadID {
	attempts := map[event.ObjectID]event.ThreadID{}
	for i := range witness {
		switch s := &witness[i]; {
		case s.Op == event.Release && s.Flags&event.MayWait != 0:
			attempts[s.Object] = s.Thread
		case s.Op != event.Acquire || s.Blocked:
		case s.Flags&event.MayWait != 0:
			delete(attempts, s.Object)
		case attempts[s.Object] != 0:
			return attempts[s.Object]
		}
	}
	return 0
}
