package verdict

import (
	"fmt"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Code says what the code of a program reads between two consecutive events of a thread, given by
// their call stacks.
type Code interface {
	// ReadsNothing reports whether the thread executes the same in any schedule, as the code depends
	// on no memory that another thread may have written; otherwise why says what it depends on.
	ReadsNothing(s event.Span) (ok bool, why string)
	// SeesRecorded reports whether the code depends on no such memory but what was recorded, so that a thread that
	// reads what it read in the run, as far as that was recorded, executes and writes the same. LeavesRecorded
	// reports whether all that the code writes was recorded, for others to read.
	SeesRecorded(s event.Span) (ok bool, why string)
	LeavesRecorded(s event.Span) (ok bool, why string)
	// DecidesNothing reports whether the thread comes from the first event to the second in any
	// schedule, even if it reads other data on the way.
	DecidesNothing(from, to event.StackID) (ok bool, why string)
	// PassesNothingOn reports whether the function that waited on a condition at a call stack notifies
	// no condition, itself or by other code.
	PassesNothingOn(wait event.StackID) (ok bool, why string)
	// Differs reports whether the code that made a read at a call stack certainly takes another branch
	// where it reads another value than the one that it has seen. If initially, that is the value which
	// the variable has when the program begins, and other is 0.
	Differs(read event.StackID, seen, other uint64, initially bool) bool
	// Branches reports whether a branch of the code that made a read at a call stack, or an address that it accesses, may
	// depend on the value.
	Branches(read event.StackID) bool
	// Course reports whether a thread that reads other values still makes the calls that it made next.
	Course(d event.Detour) event.Course
}

// RecordedCode returns what a trace says about the code of its program; nil if it is an imported
// trace, which has no process, and all accesses.
func RecordedCode(s run.Summary) Code {
	if s.PID == 0 {
		return nil
	}
	code := answers{}
	for _, r := range s.Readings {
		if r.Detour != nil {
			code[readingKey{detour: fmt.Sprint(*r.Detour)}] = r
			continue
		}
		span := event.Span{From: r.From, To: r.To, Last: r.Last, Releases: r.Releases, Since: r.Since, Until: r.Until}
		code[readingKey{span, r.Sees, r.Leaves, r.Decides, r.Passes, r.Branches, r.Differs, r.Initially, r.Seen, r.Other, ""}] = r
	}
	return code
}

// answers are the answers that a live run has recorded; Code.
type answers map[readingKey]run.Reading

type readingKey struct {
	event.Span
	sees, leaves, decides, passes bool
	branches, differs, initially  bool
	seen, other                   uint64
	detour                        string // of Course; else ""
}

// ReadsNothing implements Code.
func (a answers) ReadsNothing(s event.Span) (ok bool, why string) {
	s.Since, s.Until = 0, 0
	return a.find(readingKey{Span: s})
}

// SeesRecorded implements Code.
func (a answers) SeesRecorded(s event.Span) (ok bool, why string) {
	return a.find(readingKey{Span: s, sees: true})
}

// LeavesRecorded implements Code.
func (a answers) LeavesRecorded(s event.Span) (ok bool, why string) {
	return a.find(readingKey{Span: s, leaves: true})
}

// DecidesNothing implements Code.
func (a answers) DecidesNothing(from, to event.StackID) (ok bool, why string) {
	return a.find(readingKey{Span: event.Span{From: from, To: to}, decides: true})
}

// PassesNothingOn implements Code.
func (a answers) PassesNothingOn(wait event.StackID) (ok bool, why string) {
	return a.find(readingKey{Span: event.Span{From: wait}, passes: true})
}

// Differs implements Code.
func (a answers) Differs(read event.StackID, seen, other uint64, initially bool) bool {
	ok, _ := a.find(readingKey{Span: event.Span{From: read}, differs: true, initially: initially, seen: seen, other: other})
	return ok
}

// Branches implements Code.
func (a answers) Branches(read event.StackID) bool {
	ok, _ := a.find(readingKey{Span: event.Span{From: read}, branches: true})
	return ok
}

// Course implements Code.
func (a answers) Course(d event.Detour) event.Course {
	return a[readingKey{detour: fmt.Sprint(d)}].Course
}

func (a answers) find(key readingKey) (ok bool, why string) {
	r, known := a[key]
	if !known {
		return false, "the trace does not say what its code reads"
	}
	return r.Why == "", r.Why
}
