package verdict

import (
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// misuseDoubt returns the reason why a misuse may be none.
func misuseDoubt(f *finding.Finding, s run.Summary, names run.Namer) reason.Reason {
	switch f.Rule {
	case finding.UnlockNotHeld, finding.UnlockByOther, finding.WaitNotHeld:
		if s.UnreturnedCalls > 0 {
			return reason.Reason{What: reason.CallsNotFollowed, Count: s.UnreturnedCalls}
		}
	case finding.ReinitHeld, finding.ReinitWaited:
		if o := names.Object(f.Objects[0]); o.Name == "" {
			return reason.Reason{What: reason.LifeUnknown, Object: f.Objects[0]}
		}
	}
	return reason.Reason{}
}

// quitsInside reports whether a finding is about the locks that a thread holds when it calls exit, rather
// than when main returns: a program that has failed may end anywhere.
func quitsInside(f *finding.Finding, names run.Namer) bool {
	return f.Rule == finding.ExitHolding && f.Evidence[0].Op == event.QuitHolding && !mainReturned(names.Frames(f.Evidence[0].Stack))
}

// mainReturned reports whether exit was called at a call stack by the C library, which does so when main
// has returned: all callers up to the program's entry point are then the C library's own.
func mainReturned(stack []event.Frame) bool {
	for i, f := range stack {
		switch {
		case f.Function == "exit":
		case strings.HasPrefix(f.Function, "__libc_start"):
			return true
		case i == len(stack)-1:
			return i > 0
		case !run.OfLibrary(f):
			return false
		}
	}
	return false
}
