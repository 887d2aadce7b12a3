package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestThreadsOfStdThread checks the names of threads that all start in one function of the C++
// library, which does not distinguish them.
func TestThreadsOfStdThread(t *testing.T) {
	library := event.Frame{Module: "/usr/lib/libstdc++.so.6", Offset: 0xd4490}
	invoke := event.Frame{Function: "void std::__invoke_impl<void, f>(f)", File: "/usr/include/c++/12/bits/invoke.h", Line: 61}
	stack := func(outer ...event.Frame) []event.Frame {
		return append([]event.Frame{src("sell", "/src/desk.cc", 26), src("serve", "/src/desk.cc", 40)}, outer...)
	}
	for _, c := range []struct {
		start, want string
		frames      []event.Frame
	}{
		{"libstdc++.so.6+0xd4490", "serve", stack(invoke, library)},
		{"execute_native_thread_routine", "serve", stack(invoke, library)},
		{"asan_thread_start(void*)", "serve", stack(event.Frame{Function: "asan_thread_start(void*)", File: "asan_interceptors.cpp", Line: 225, Module: "/usr/lib/libasan.so.8.0.0"})},
		{"execute_native_thread_routine_of_mine", "execute_native_thread_routine_of_mine", stack(invoke, library)},
		{"libstdc++.so_tools.so+0x10", "libstdc++.so_tools.so+0x10", stack(invoke, library)},
		{"libstdc++.so.6+0xd4490", "libstdc++.so.6+0xd4490", stack()}, // cut short: serve may be called by another
		{"libstdc++.so.6+0xd4490", "libstdc++.so.6+0xd4490", []event.Frame{invoke, library}},
		{"work", "work", stack(invoke, library)},
	} {
		f := Finding{Evidence: []Step{{Step: finding.Step{Thread: 2}, Stack: newStack(c.frames)}}, Mentioned: []Thread{{ID: 2, Thread: run.Thread{Start: c.start}}, {ID: 1, Thread: run.Thread{Main: true}}}}
		f.nameThreads()
		if d := cmp.Diff([]string{c.want, ""}, []string{f.Mentioned[0].Start, f.Mentioned[1].Start}); d != "" {
			t.Errorf("%s: %s", c.start, d)
		}
	}
}

// TestAccessByLibrary checks that a sentence names the library function that makes an access, and the code that
// calls it.
func TestAccessByLibrary(t *testing.T) {
	memcpy := event.Frame{Function: "memcpy", Module: event.LibraryModule}
	inlined := event.Frame{Function: "memcpy", File: "/usr/include/x86_64-linux-gnu/bits/string_fortified.h", Line: 29, Inlined: true}
	for _, c := range []struct {
		step finding.Step
		from []event.Frame
		want string
	}{
		{finding.Step{Op: event.Write}, []event.Frame{memcpy, src("fill", "/src/q.c", 12)}, "write by memcpy in fill at /src/q.c:12"},
		{finding.Step{Op: event.Read}, []event.Frame{memcpy, inlined, src("fill", "/src/q.c", 12)}, "read by memcpy in fill at /src/q.c:12"},
		{finding.Step{Op: event.Read}, []event.Frame{memcpy, {Module: "/bin/q", Offset: 0x1180}}, "read by memcpy in q+0x1180"},
		{finding.Step{Op: event.Write}, []event.Frame{src("memcpy", "/src/q.c", 12)}, "write in memcpy at /src/q.c:12"},
		{finding.Step{Op: event.Write}, nil, "write"},
	} {
		s := Step{Step: c.step, Stack: newStack(c.from)}
		if got := access(s) + (Names{}).in(s.Stack); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestAccessWithoutLine checks that a sentence names the frame that makes an access, also if only a frame
// further out has a source line, and that the fingerprint does not depend on it.
func TestAccessWithoutLine(t *testing.T) {
	fill := src("fill", "/src/q.c", 12)
	push := event.Frame{Function: "push", Module: "/opt/libqueue.so", Offset: 0x40}
	bare := event.Frame{Module: "/opt/libqueue.so", Offset: 0x40}
	libc := event.Frame{Function: "memcpy", Module: "/lib/libc.so.6", Offset: 0x1a}
	called := event.Frame{Function: "memcpy", Module: event.LibraryModule}
	kernel := event.Frame{Function: "read(2)", Module: event.KernelModule}
	header := event.Frame{Function: "std::swap", File: "/usr/include/c++/12/bits/move.h", Line: 7, Inlined: true}
	for _, c := range []struct {
		from []event.Frame
		want string
		at   int // the first frame that is shown
	}{
		{[]event.Frame{push, fill}, " in push of libqueue.so, called from fill at /src/q.c:12", 0},
		{[]event.Frame{bare, fill}, " in libqueue.so+0x40, called from fill at /src/q.c:12", 0},
		{[]event.Frame{libc, fill}, " in memcpy of libc.so.6, called from fill at /src/q.c:12", 0},
		{[]event.Frame{libc, push}, " in memcpy of libc.so.6, called from push of libqueue.so", 0},
		{[]event.Frame{called, push, fill}, " in push of libqueue.so, called from fill at /src/q.c:12", 1},
		{[]event.Frame{called, fill}, " in fill at /src/q.c:12", 1},
		{[]event.Frame{kernel, fill}, " in fill at /src/q.c:12", 1},
		{[]event.Frame{header, fill}, " in fill at /src/q.c:12", 1},
		{[]event.Frame{header, push, fill}, " in fill at /src/q.c:12", 2},
		{[]event.Frame{{Addr: 0x7f01}, fill}, " in fill at /src/q.c:12", 1},
		{[]event.Frame{fill}, " in fill at /src/q.c:12", 0},
		{nil, "", 0},
	} {
		s := Step{Step: finding.Step{Op: event.Write}, Stack: newStack(c.from)}
		if got := (Names{}).inAccess(s); got != c.want || s.Stack.accessed().At != c.at {
			t.Errorf("%v: %q, want %q; from frame %d on, want %d", c.from, got, c.want, s.Stack.accessed().At, c.at)
		}
		s.Flags = event.Freed
		if got := (Names{}).inAccess(s); got != (Names{}).in(s.Stack) {
			t.Errorf("a free is %q", got)
		}
		s.Op, s.Flags = event.Acquire, 0
		if got := (Names{}).inAccess(s); got != (Names{}).in(s.Stack) {
			t.Errorf("an acquire is %q", got)
		}
	}
}

func src(function, file string, line int) event.Frame {
	return event.Frame{Function: function, File: file, Line: line, Module: "/opt/shop/shop", Offset: 0x20}
}
