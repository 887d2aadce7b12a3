package e2e

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/procfs"
)

// rareHangs are ways to hang that hide what a thread waits for: in a futex that libstdc++ or glibc does not mark as private,
// at a word of the thread's own stack, for a while, in a process whose first thread has ended.
var rareHangs = []struct {
	kind   string
	status int
	want   []string
}{
	{"future", 66, []string{"a hang in", "nobody is left to wake them"}},
	{"guard", 66, []string{"a hang in", "nobody is left to wake them"}},
	{"inherit", 66, []string{"T2 and T3 block each other for ever: T2 holds 'a' and waits for 'b'", "while T3 holds 'b' and waits for 'a'"}},
	{"timed", 66, []string{"until one gives up", "T2 holds 'a' and waits for 'b'", "while T3 holds 'b' and waits for 'a'"}},
	{"leader", 66, []string{"block each other for ever", "holds 'a' and waits for 'b'", "holds 'b' and waits for 'a'"}},
	{"destroyed", 66, []string{"a hang in", "nobody is left to wake them"}},
	{"shared", 0, []string{"no hang in"}},
}

// TestRareHangs checks that hang recognises them from outside, and attach in a process that hung before.
func TestRareHangs(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range rareHangs {
		t.Run(c.kind, func(t *testing.T) {
			child := startChild(t, childOptions{}, build(t, "g++", "hang/rare.cc", "-O2", "-std=c++20", "-pthread"), c.kind)
			pid := lineNumber(t, child, "ready ")
			awaitAsleep(t, pid)
			wantHangTold(t, pid, c.status, c.want)
			if c.kind == "timed" { // the kernel restarts the waits by another system call
				child.signal(unix.SIGSTOP)
				child.signal(unix.SIGCONT)
				awaitAsleep(t, pid)
				wantHangTold(t, pid, c.status, c.want)
			}
			child.signal(unix.SIGKILL)
			child.want(128 + int(unix.SIGKILL))
		})
	}
}

func wantHangTold(t *testing.T, pid, status int, want []string) {
	t.Helper()
	tool := startTool(t, childOptions{}, "hang", strconv.Itoa(pid))
	tool.want(status)
	printed := strings.Join(strings.Fields(tool.err.String()), " ")
	for _, want := range want {
		if !strings.Contains(printed, want) {
			t.Errorf("no %q in: %s", want, printed)
		}
	}
}

// TestRareHangsWhileObserved checks that exec says so while the program hangs, and ends it.
func TestRareHangsWhileObserved(t *testing.T) {
	needBPF(t)
	t.Parallel()
	// Of two threads that join the same one, glibc wakes one when it has ended.
	for _, kind := range []string{"future", "guard", "inherit", "leader", "twice", "destroyed"} {
		t.Run(kind, func(t *testing.T) {
			tool := startTool(t, childOptions{}, "exec", "--on-hang=kill", "--", build(t, "g++", "hang/rare.cc", "-O2", "-std=c++20", "-pthread"), kind)
			tool.want(128 + int(unix.SIGKILL))
			printed := strings.Join(strings.Fields(tool.err.String()), " ")
			if !strings.HasPrefix(printed, "tracepredict: the program hangs: ") {
				t.Errorf("told: %s", printed)
			}
		})
	}
}

// TestSpinningHang: threads that spin for each other's lock for ever are told, and ended; one that spins until the other,
// which sleeps with its lock, lets go of it is none.
func TestSpinningHang(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "hang/spins.c", "-O1", "-g", "-pthread")
	tool := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--on-hang=kill", "--", program)
	tool.want(128 + int(unix.SIGKILL))
	printed := strings.Join(strings.Fields(tool.err.String()), " ")
	if want := "the program hangs: T2 and T3 block each other for ever: T2 holds 'left' and waits for 'right' at spins.c:22, while T3 holds 'right' and waits for 'left' at spins.c:32"; !strings.Contains(printed, want) {
		t.Errorf("no %q in: %s", want, printed)
	}
	tool = startTool(t, childOptions{}, "exec", "--watch-shared=off", "--on-hang=kill", "--", program, "slow")
	tool.want(0)
	if printed := tool.err.String(); strings.Contains(printed, "hangs") {
		t.Errorf("a hang: %s", printed)
	}
}

// TestHolderThatRuns: of a thread that runs, while others wait for its lock, hang says so, with its call stack.
func TestHolderThatRuns(t *testing.T) {
	needBPF(t)
	t.Parallel()
	child := startChild(t, childOptions{}, build(t, "gcc", "hang/holds.c", "-O1", "-g", "-pthread"))
	pid := lineNumber(t, child, "ready ")
	poll(t, "two threads that wait", func() bool { return asleepIn(pid, unix.SYS_FUTEX) >= 3 }) // main joins
	wantHangTold(t, pid, 0, []string{
		"no hang in", "T3 and T4 (waiter)", "each waits for 'lock', which T2 holds",
		"runs, while T3 and T4 wait for 'lock', which it holds #0 until_told", "#1 holder",
	})
	child.signal(unix.SIGKILL)
	child.want(128 + int(unix.SIGKILL))
}

// asleepIn returns how many threads of a process sleep in a system call.
func asleepIn(pid, call int) (n int) {
	tids, err := procfs.Threads(pid)
	if err != nil {
		return 0
	}
	for _, tid := range tids {
		if number, _, ok := procfs.SystemCall(pid, tid); ok && number == call {
			n++
		}
	}
	return n
}
