package e2e

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// TestAttachBesideADebugger checks that a debugger that was attached before keeps its
// breakpoints, and that the observation is the same as without it. (A debugger that
// attaches later must detach first: docs/how-it-works.md.)
func TestAttachBesideADebugger(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "gdb")
	server, pid := startServer(t)
	gdb := startChild(t, childOptions{}, "gdb", "-nx", "-q", "-iex", "set debuginfod enabled off",
		"-ex", "set confirm off", "-ex", "set pagination off", "-p", fmt.Sprint(pid))
	gdb.send("break enter")
	gdb.send("continue")
	poll(t, "gdb to let the program go", func() bool { return strings.Contains(gdb.out.String(), "Continuing.") && !stopped(pid) })
	server.ask("twist") // the program runs

	tool, report := attachTo(t, pid)
	server.ask("twist")
	server.send("visit")
	for visits := 1; visits <= 2; visits++ {
		poll(t, "the debugger's breakpoint", func() bool { return strings.Count(gdb.out.String(), "Breakpoint 1, enter") == visits })
		gdb.send("continue")
	}
	server.waitLine("done visit")
	server.send("twist")
	poll(t, "the last twist", func() bool { return strings.Count(server.out.String(), "done twist\n") == 3 })
	tool.signal(unix.SIGINT)
	tool.want(66)
	wantTwist(t, readReport(t, report))
	poll(t, "the links to go", func() bool { return len(linksOf(t, pid)) == 0 })
	for _, tracer := range threadStates(pid, "TracerPid") {
		if tracer != fmt.Sprint(gdb.pid()) {
			t.Errorf("the tracer is %s, want gdb, %d", tracer, gdb.pid())
		}
	}

	server.send("join") // the breakpoint is still set
	poll(t, "the debugger's breakpoint", func() bool { return strings.Count(gdb.out.String(), "Breakpoint 1, enter") == 3 })
	gdb.send("delete")
	gdb.send("detach")
	gdb.send("quit")
	gdb.want(0)
	server.waitLine("done join")
	wantLeftAlone(t, pid)
	server.want(0)
}
