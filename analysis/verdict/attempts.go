package verdict

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Attempt makes a finding potential that rests on what a thread would only do if an attempt failed: wait, and
// release the lock of an interpreter before (event.MayWait).
func Attempt(f *finding.Finding) {
	if f.Confidence != finding.Predicted && f.Confidence != finding.Likely {
		return
	}
	if why := restsOnAttempt(f); why.Given() {
		f.Confidence, f.Reason = finding.Potential, why
	}
}

// restsOnAttempt returns the reason why a finding rests on such an attempt.
func restsOnAttempt(f *finding.Finding) reason.Reason {
	for i := range f.Evidence {
		if s := &f.Evidence[i]; s.Flags&event.MayWait != 0 {
			return reason.Reason{What: reason.TriesOnly, Thread: s.Thread}
		}
	}
	if t := interrupted(f.Witness); t != 0 {
		return reason.Reason{What: reason.GoesOnWaiting, Thread: t}
	}
	return reason.Reason{}
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
