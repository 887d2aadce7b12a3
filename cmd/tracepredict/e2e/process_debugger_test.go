package e2e

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// A debugger that was there first keeps its breakpoints, and we see what we
// would without it. (One that comes later must leave first: docs/how-it-works.md.)
func TestAttachBesideADebugger(t *testing.T) {
	needBPF(t)
	testtool.Need(t, "gdb")
	server, pid := startServer(t)
	gdb := startChild(t, childOptions{}, "gdb", "-nx", "-q", "-iex", "set debuginfod enabled off",
		"-ex", "set confirm off", "-ex", "set pagination off", "-p", fmt.Sprint(pid))
	gdb.tell("break enter")
	gdb.tell("continue")
	poll(t, "gdb to let the program go", func() bool { return strings.Contains(gdb.out.String(), "Continuing.") && !stopped(pid) })
	server.ask("twist") // it runs

	tool, report := attachTo(t, pid)
	server.ask("twist")
	server.tell("visit")
	for visits := 1; visits <= 2; visits++ {
		poll(t, "the debugger's breakpoint", func() bool { return strings.Count(gdb.out.String(), "Breakpoint 1, enter") == visits })
		gdb.tell("continue")
	}
	server.waitLine("done visit")
	server.tell("twist")
	poll(t, "the last twist", func() bool { return strings.Count(server.out.String(), "done twist\n") == 3 })
	tool.signal(unix.SIGINT)
	tool.want(66)
	wantFound(t, readReport(t, report), twistFound)
	poll(t, "the links to go", func() bool { return len(linksOf(t, pid)) == 0 })
	for _, tracer := range threadStates(pid, "TracerPid") {
		if tracer != fmt.Sprint(gdb.pid()) {
			t.Errorf("the tracer is %s, want gdb, %d", tracer, gdb.pid())
		}
	}

	server.tell("join") // the breakpoint is there still
	poll(t, "the debugger's breakpoint", func() bool { return strings.Count(gdb.out.String(), "Breakpoint 1, enter") == 3 })
	gdb.tell("delete")
	gdb.tell("detach")
	gdb.tell("quit")
	gdb.want(0)
	server.waitLine("done join")
	wantLeftAlone(t, pid)
	server.want(0)
}
