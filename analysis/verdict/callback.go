package verdict

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// calledBack returns the reason for doubt that two threads of a finding were called back by the C library, which holds a
// lock of its own meanwhile: that of a stream whose functions are the program's, or that of the loaded libraries. Which
// lock it is does not show, nor when it is taken.
func (j *Judge) calledBack(f *finding.Finding) reason.Reason {
	if j.Run.Names == nil {
		return reason.Reason{}
	}
	for i := range f.Evidence {
		x := &f.Evidence[i]
		call, _ := lockingCall(j.Run.Names.Frames(x.Stack))
		if call == "" {
			continue
		}
		for k := range f.Evidence {
			if y := &f.Evidence[k]; y.Thread != x.Thread && j.perhapsCalledBack(j.Run.Names.Frames(y.Stack)) {
				return reason.Reason{What: reason.CalledBack, Thread: x.Thread, Other: y.Thread, Words: call}
			}
		}
	}
	return reason.Reason{}
}

// perhapsCalledBack reports whether a call stack goes, or may go, through a call of the C library that holds a lock. If
// only the innermost part of it is known, as that of what a thread did before another one came, all other stacks with
// its last function decide.
func (j *Judge) perhapsCalledBack(stack []event.Frame) bool {
	if call, _ := lockingCall(stack); call != "" || len(stack) == 0 || whole(stack) {
		return call != ""
	}
	if j.callers == nil {
		j.callers = callersOf(j.Record, j.Run.Names)
	}
	return j.callers[stack[len(stack)-1].Function] == byLibrary
}

// whole reports whether a call stack is known up to where the C library begins a thread or calls main.
func whole(stack []event.Frame) bool { return run.OfLibrary(stack[len(stack)-1]) }

// callers says through which calls a function was reached: a set of bits.
type callers uint8

const (
	byLibrary callers = 1 << iota // through one that holds a lock
	otherwise
)

// callersOf returns the callers of each function on the whole call stacks of a run.
func callersOf(record Record, names run.Namer) map[string]callers {
	all, seen := map[string]callers{}, map[event.StackID]bool{}
	for e := range record.Kept {
		if seen[e.Stack] {
			continue
		}
		seen[e.Stack] = true
		stack := names.Frames(e.Stack)
		if len(stack) == 0 || !whole(stack) {
			continue
		}
		_, inside := lockingCall(stack)
		for i, f := range stack {
			if i < len(inside) {
				all[f.Function] |= byLibrary
			} else {
				all[f.Function] |= otherwise
			}
		}
	}
	return all
}

// lockingCall returns the function of the C library, on a call stack, that called the program's code back and holds a
// lock then, and the frames inside of it; "" if there is none.
func lockingCall(stack []event.Frame) (call string, inside []event.Frame) {
	own := false // a frame so far is of the program
	for i, f := range stack {
		library := run.OfLibrary(f)
		if own && run.CallsBackLocked(f) {
			return f.Function, stack[:i]
		}
		own = (own || !library) && f.Function != signalFrame
	}
	return "", nil
}

// signalFrame is the function that a signal handler returns to: the frames outside of it were interrupted, and called
// nothing.
const signalFrame = "__restore_rt"
