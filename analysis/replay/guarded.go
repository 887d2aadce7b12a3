package replay

import (
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// guardedData settles the assumption of a predicted finding that the sections which its witness leaves
// out or moves decide nothing by unrecorded data. Where the code shows that, whatever it reads, the assumption
// goes. It goes too where all was recorded that these sections write, and all that decides something in those
// that the witness keeps: then the checker has decided by what was read and written. Otherwise the result is the
// reason for doubt. watched reports that what threads share was watched, so that the reason is what was not
// recorded.
func guardedData(f *finding.Finding, code Code, watched bool) string {
	i := slices.Index(f.Assumes, finding.GuardedData)
	if i < 0 || f.Confidence != finding.Predicted {
		return ""
	}
	if code == nil { // the run has all accesses
		f.Assumes = slices.Delete(slices.Clone(f.Assumes), i, i+1)
		return ""
	}
	if why := dependsOn(f, code); why != "" {
		if !isLockCycle(f) {
			return why // what its threads wait for may depend on more than sections
		}
		switch unrecorded := notRecorded(f, code); {
		case unrecorded == "":
		case watched:
			return unrecorded
		default:
			return why
		}
	}
	f.Assumes = slices.Delete(slices.Clone(f.Assumes), i, i+1)
	return ""
}

// isLockCycle reports whether all threads of a finding wait for locks.
func isLockCycle(f *finding.Finding) bool {
	return !slices.ContainsFunc(f.Evidence, func(e finding.Step) bool { return !e.Op.IsAcquire() })
}

const leavesOut = "the schedule leaves critical sections out or moves them, and what they wrote may decide what "

// dependsOn returns a sentence on what the code that a witness keeps reads, that sections which were left out or
// moved may have written; "" if that is nothing.
func dependsOn(f *finding.Finding, code Code) string {
	return some(f.Spans, code.ReadsNothing, leavesOut+"T%d does in its own (%s)")
}

// notRecorded returns a sentence on what was not recorded of what the sections that a witness leaves out or moves
// write, or of what decides something in those that it keeps; "" if all was.
func notRecorded(f *finding.Finding, code Code) string {
	why := some(f.Spans, code.SeesRecorded, leavesOut+"T%d does in its own (%s)")
	if why != "" {
		return why
	}
	if f.MovedUnknown != "" {
		return "the schedule leaves critical sections out or moves them, and what others wrote in theirs may decide what threads do (" + f.MovedUnknown + ")"
	}
	return some(f.Moved, code.LeavesRecorded,
		"the schedule leaves critical sections out or moves them, and what T%d wrote in its own may decide what others do in theirs (%s)")
}

// some returns a sentence about the first of some spans of which a question has not the answer yes; "" if there is
// none.
func some(spans []finding.Span, ask func(event.Span) (bool, string), sentence string) string {
	for _, s := range spans {
		if s.Thread == 0 {
			return leavesOut + "threads do in theirs (not examined)"
		}
		if ok, why := ask(s.Span); !ok {
			return fmt.Sprintf(sentence, s.Thread, why)
		}
	}
	return ""
}
