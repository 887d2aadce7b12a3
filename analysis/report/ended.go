package report

import (
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/observer/run"
)

// This file reports a program that a signal ended. The kernel sends some signals where code does
// what it must not, and probes change how code runs: a user has to know of such an end before
// anything else, and how to find out whose doing it is.

// Signal is the signal that ended the program.
type Signal = run.Signal

// faults are the signals that a program's own code brings about. The others come from people, from
// jobs that end, or from the kernel where memory runs out.
var faults = []string{"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGABRT", "SIGSYS"}

// EndedBySignal returns a line that says which signal ended the program; "" if none did.
func EndedBySignal(r Run) string {
	s := r.Signal
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("tracepredict: %s was ended by signal %d", observed(r), s.Number)
	if s.Name != "" {
		text += fmt.Sprintf(" (%s)", s.Name)
	}
	if s.Requested {
		text += ", which tracepredict sent as it was asked to"
	}
	return text
}

// SignalAdvice returns sentences on how to find out who ended the program, where probes may be the cause; nil elsewhere.
func SignalAdvice(r Run) []string {
	if r.Signal == nil || r.Signal.Requested || !slices.Contains(faults, r.Signal.Name) {
		return nil
	}
	advice := []string{"The program itself may do so, or tracepredict's probes may be the cause. " + howToFindOut(r)}
	if r.Signal.Name == "SIGTRAP" {
		advice = append(advice, "A breakpoint of a probe may have been executed outside of the file that it was put into: in code that the program copied or mapped elsewhere.")
	}
	return advice
}

// howToFindOut returns how a user finds out whether probes ended the program.
func howToFindOut(r Run) string {
	text := "To find out, run it without tracepredict"
	if r.Pointers != nil || len(r.Watched) > 0 || r.Untouched > 0 {
		return text + ", and with --watch-shared=off, which puts no probes at accesses."
	}
	return text + "."
}
