package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// guardedData settles the assumption of a finding with a witness that the sections which the witness leaves
// out or moves decide nothing by unrecorded data. Where the code shows that, whatever it reads, the assumption
// goes. It goes too where all was recorded that these sections write, and all that decides something in those
// that the witness keeps: then the checker has decided by what was read and written. Otherwise the result is the
// reason for doubt. The finding is Unrecorded if what decides in the sections that the witness keeps was not
// recorded, or not from the beginning; of a race, whose accesses may be at addresses that threads have read in their
// sections, also if something was not recorded of what the others write. No property is: nothing examines the sections
// of its schedules, but the user has said what matters in them. watched reports that what threads share was
// watched, so that the reason is what was not recorded.
func guardedData(f *finding.Finding, code Code, watched bool, names run.Namer) string {
	i := slices.Index(f.Assumes, finding.GuardedData)
	if i < 0 || !f.Confidence.AtLeast(finding.Likely) || f.Confidence == finding.Observed {
		return ""
	}
	why := ""
	if code != nil { // else the run has all accesses
		why = dependsOn(f, code)
	}
	if why == "" && code != nil && f.Kind == finding.Race && !isFixed(f, names) {
		if why = some(f.Spans, code.SeesRecorded, keepsAddress); why != "" {
			f.Unrecorded = true
			return why
		}
	}
	if why != "" {
		read, written := readUnrecorded(f, code), ""
		if read == "" {
			written = writtenUnrecorded(f, code)
		}
		f.Unrecorded = f.Kind != finding.Property && read != "" || f.Kind == finding.Race && written != ""
		switch unrecorded := read + written; {
		case unrecorded != "" && watched:
			return unrecorded
		case unrecorded != "", !isLockCycle(f): // what its threads wait for may depend on more than sections
			return why
		}
	}
	f.Assumes = slices.Delete(slices.Clone(f.Assumes), i, i+1)
	return ""
}

// isFixed reports whether the code of a program has the address of what a race is about: it is a variable of static
// storage, and no element of an array.
func isFixed(f *finding.Finding, names run.Namer) bool {
	o := names.Object(f.Objects[0])
	return o.Kind == event.KindVariable && o.Name != "" && !strings.Contains(o.Name, "[")
}

// isLockCycle reports whether all threads of a finding wait for locks.
func isLockCycle(f *finding.Finding) bool {
	return !slices.ContainsFunc(f.Evidence, func(e finding.Step) bool { return !e.Op.IsAcquire() })
}

const keepsAddress = "the schedule leaves critical sections out or moves them, and T%d may have the address of what it accesses from what they wrote (%s)"

const leavesOut = "the schedule leaves critical sections out or moves them, and what they wrote may decide what "

// dependsOn returns a sentence on what the code that a witness keeps reads, that sections which were left out or
// moved may have written; "" if that is nothing.
func dependsOn(f *finding.Finding, code Code) string {
	return some(f.Spans, code.ReadsNothing, leavesOut+"T%d does in its own (%s)")
}

// readUnrecorded returns a sentence on what was not recorded of what decides something in the sections that a witness
// keeps; "" if all was, from the beginning.
func readUnrecorded(f *finding.Finding, code Code) string {
	why := some(f.Spans, code.SeesRecorded, leavesOut+"T%d does in its own (%s)")
	if why == "" && f.MovedUnknown != "" {
		return "the schedule leaves critical sections out or moves them, and what others wrote in theirs may decide what threads do (" + f.MovedUnknown + ")"
	}
	return why
}

// writtenUnrecorded returns a sentence on what was not recorded of what the sections that a witness leaves out or
// moves write; "" if all was.
func writtenUnrecorded(f *finding.Finding, code Code) string {
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
