package verdict

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestCalledBack checks which call stacks of two threads go through calls of the C library that hold a lock.
func TestCalledBack(t *testing.T) {
	frames := func(text string) (stack []event.Frame) {
		for f := range strings.FieldsSeq(text) {
			if name, library := strings.CutPrefix(f, "c:"); library {
				stack = append(stack, event.Frame{Module: "/lib/libc.so.6", Function: name})
			} else {
				stack = append(stack, event.Frame{Module: "/bin/p", Function: name, File: "p.c"})
			}
		}
		return stack
	}
	const begin = " work c:start_thread c:clone3"
	for _, c := range []struct{ name, first, second, other, want string }{
		{"both", "sink c:_IO_cookie_write c:_IO_fwrite" + begin, "sink c:_IO_cookie_write c:fputs" + begin, "", "_IO_fwrite"},
		{"fortified", "show c:__printf_chk" + begin, "show c:__fprintf_chk" + begin, "", "__printf_chk"},
		{"one alone", "sink c:fwrite" + begin, "sink" + begin, "", ""},
		{"under no lock", "less c:qsort" + begin, "less c:qsort" + begin, "", ""},
		{"sorted within", "less c:qsort sink c:fwrite" + begin, "sink c:fwrite" + begin, "", "fwrite"},
		{"a function of the program", "sink fwrite" + begin, "sink fwrite" + begin, "", ""},
		{"the library's own access", "c:fwrite" + begin, "c:fwrite" + begin, "", ""},
		{"a signal handler", "handler c:__restore_rt c:fwrite" + begin, "handler c:__restore_rt c:fwrite" + begin, "", ""},
		{"cut short", "sink c:fwrite" + begin, "step", "step sink c:fwrite" + begin, "fwrite"},
		{"cut short, and called otherwise too", "sink c:fwrite" + begin, "step", "step" + begin, ""},
		{"cut short, and not known", "sink c:fwrite" + begin, "step", "", ""},
	} {
		var names run.Names
		for i, text := range []string{c.first, c.second, c.other} {
			names.SetFrames(event.StackID(i+1), frames(text))
		}
		j := Judge{Run: Run{Names: &names}, Record: someStacks{3}}
		f := finding.Finding{Evidence: []finding.Step{{Thread: 2, Stack: 1}, {Thread: 3, Stack: 2}}}
		if got := j.calledBack(&f).Words; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// someStacks is a Record of an event at each call stack up to a number.
type someStacks struct{ n event.StackID }

func (s someStacks) HandedUnseen(*finding.Finding) (r reason.Reason) { return r }

func (s someStacks) Whole() bool { return true }

func (s someStacks) Kept(yield func(*event.Event) bool) {
	for id := range s.n {
		if !yield(&event.Event{Stack: id + 1}) {
			return
		}
	}
}
