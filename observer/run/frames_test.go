package run

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

func TestOwnFrame(t *testing.T) {
	libc := event.Frame{Function: "pthread_mutex_lock", File: "./nptl/pthread_mutex_lock.c", Line: 80, Module: "/lib/libc.so.6"}
	gthr := event.Frame{Function: "__gthread_mutex_lock", File: "/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h", Line: 749, Module: "bank", Inlined: true}
	user := event.Frame{Function: "transfer", File: "/src/bank.cc", Line: 8, Module: "bank"}
	bare := event.Frame{Function: "transfer", Module: "bank"}
	static := event.Frame{Function: "pthread_mutex_lock", Module: "bank"}
	stripped := event.Frame{Module: "/usr/bin/bank", Offset: 0x118d}
	readv := event.Frame{Function: "readv(2)", Module: event.KernelModule}
	memcpy := event.Frame{Function: "memcpy", Module: event.LibraryModule}
	mine := event.Frame{Function: "clone_table", File: "/src/t.c", Line: 3, Module: "bank"}
	for i, c := range []struct {
		stack []event.Frame
		want  int
	}{
		{nil, 0}, {[]event.Frame{libc, gthr, user}, 2}, {[]event.Frame{libc, bare}, 1}, {[]event.Frame{static, bare}, 1},
		{[]event.Frame{libc}, 0}, {[]event.Frame{{Addr: 1}, libc}, 1}, {[]event.Frame{mine, user}, 0},
		{[]event.Frame{readv, static, bare}, 2}, {[]event.Frame{readv, static}, 1}, {[]event.Frame{readv}, 0},
		{[]event.Frame{memcpy, user}, 1}, {[]event.Frame{memcpy, bare}, 1}, {[]event.Frame{memcpy, static}, 1}, {[]event.Frame{memcpy}, 0},
		{[]event.Frame{libc, stripped}, 1}, {[]event.Frame{libc, stripped, user}, 2},
	} {
		if got := OwnIndex(c.stack); got != c.want {
			t.Errorf("%d: %d, want %d", i, got, c.want)
		}
	}
}

// TestOfLibrary checks frames of libraries beside frames whose module or function only begins like
// one.
func TestOfLibrary(t *testing.T) {
	for _, c := range []struct {
		frame event.Frame
		want  bool
	}{
		{event.Frame{Module: "/lib/x86_64-linux-gnu/libc.so.6"}, true},
		{event.Frame{Module: "/usr/lib/libc-client.so.2007e"}, false},
		{event.Frame{Module: "/lib/libpthread-2.31.so"}, true},
		{event.Frame{Module: "/usr/lib/libpthreadpool.so"}, false},
		{event.Frame{Module: event.KernelModule}, true},
		{event.Frame{Module: event.KernelModule + "x"}, false},
		{event.Frame{Module: "/bin/static", Function: "sem_wait"}, true},
		{event.Frame{Module: "/bin/static", Function: "sem_wait", File: "/src/sem.c"}, false},
		{event.Frame{Module: "/bin/p", Function: "sem_pool_take"}, false},
		{event.Frame{Module: "/bin/p", Function: "clone_buffer"}, false},
		{event.Frame{Module: "/bin/p", Function: "_start_worker"}, false},
	} {
		if got := OfLibrary(c.frame); got != c.want {
			t.Errorf("%+v: %v", c.frame, got)
		}
	}
}
