package verdict

import (
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
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
func guardedData(f *finding.Finding, code Code, watched bool, names run.Namer) reason.Reason {
	i := slices.Index(f.Assumes, finding.GuardedData)
	if i < 0 || !f.Confidence.AtLeast(finding.Likely) || f.Confidence == finding.Observed {
		return reason.Reason{}
	}
	var why reason.Reason
	if code != nil { // else the run has all accesses
		why = dependsOn(f, code)
	}
	if !why.Given() && code != nil && f.Kind == finding.Race && !isFixed(f, names) {
		if why = some(f.Spans, code.SeesRecorded, reason.SectionsAddress); why.Given() {
			f.Unrecorded = true
			return why
		}
	}
	if why.Given() {
		read := readUnrecorded(f, code)
		unrecorded := read
		if !read.Given() {
			unrecorded = writtenUnrecorded(f, code)
		}
		f.Unrecorded = !f.Kind.Specified() && read.Given() || f.Kind == finding.Race && unrecorded.Given()
		switch {
		case unrecorded.Given() && watched:
			return unrecorded
		case unrecorded.Given(), !isLockCycle(f): // what its threads wait for may depend on more than sections
			return why
		}
	}
	f.Assumes = slices.Delete(slices.Clone(f.Assumes), i, i+1)
	return reason.Reason{}
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

// dependsOn returns the reason that the code which a witness keeps reads what sections may have written that were left
// out or moved.
func dependsOn(f *finding.Finding, code Code) reason.Reason {
	return some(f.Spans, code.ReadsNothing, reason.SectionsDecide)
}

// readUnrecorded returns the reason that not all was recorded, from the beginning, of what decides something in the
// sections that a witness keeps.
func readUnrecorded(f *finding.Finding, code Code) reason.Reason {
	why := some(f.Spans, code.SeesRecorded, reason.SectionsDecide)
	if !why.Given() && f.MovedUnknown.Given() {
		of := f.MovedUnknown
		return reason.Reason{What: reason.SectionsUnknown, Of: &of}
	}
	return why
}

// writtenUnrecorded returns the reason that not all was recorded of what the sections write that a witness leaves out or
// moves.
func writtenUnrecorded(f *finding.Finding, code Code) reason.Reason {
	return some(f.Moved, code.LeavesRecorded, reason.SectionsUnsure)
}

// some returns a reason about the first of some spans of which a question has not the answer yes.
func some(spans []finding.Span, ask func(event.Span) (bool, string), what reason.What) reason.Reason {
	for _, s := range spans {
		if s.Thread == 0 {
			return reason.Reason{What: reason.SectionsUnexamined}
		}
		if ok, why := ask(s.Span); !ok {
			return reason.Reason{What: what, Thread: s.Thread, Words: why}
		}
	}
	return reason.Reason{}
}
