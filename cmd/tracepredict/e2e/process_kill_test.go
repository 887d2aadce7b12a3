package e2e

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// busyDone is what testdata/process/busy.c says in the end, whatever happens
// to the tool.
const busyDone = "sum 32000"

// The program's own affairs must not suffer when the tool is killed: it ends
// as it would have, no thread of it stays stopped, no probe stays in it.
func TestKillDuringExec(t *testing.T) {
	needBPF(t)
	for i := range 10 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := startTool(t, childOptions{}, "exec", "--watch", "sum", "--", processFixture(t, "busy.c"))
			atRandom(c, i)
			c.signal(unix.SIGKILL)
			// The program holds the other ends of the pipes, if it ever ran.
			poll(t, "the program's last line, or the end of all", func() bool { return c.out.has(busyDone) || c.over() })
			if c.out.String() == "" {
				return // killed before the program was one
			}
			pid := lineNumber(t, c, "pid ")
			if !c.out.has(busyDone) {
				t.Fatalf("the program ended early")
			}
			wantLeftAlone(t, pid)
			c.in.Close()
			poll(t, "the program's end", c.over)
		})
	}
}

// atRandom waits for a random moment: of the start for even i, else of the run.
func atRandom(c *child, i int) {
	if i%2 == 0 {
		for range rand.IntN(200_000) {
			runtime.Gosched()
		}
		return
	}
	rounds := rand.IntN(40)
	poll(c.t, "a moment of the run", func() bool { return strings.Count(c.out.String(), "round\n") >= rounds })
}

func TestKillDuringAttach(t *testing.T) {
	needBPF(t)
	for i := range 10 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			program := startChild(t, childOptions{}, processFixture(t, "busy.c"))
			pid := lineNumber(t, program, "pid ")
			tool := startTool(t, childOptions{}, "attach", "--watch", "sum", "-p", fmt.Sprint(pid))
			if i%2 == 0 {
				atRandom(tool, i)
			} else {
				poll(t, "the probes", func() bool { return tool.err.has("tracepredict: observing ") })
				atRandom(program, i)
			}
			tool.signal(unix.SIGKILL)
			tool.want(128 + int(unix.SIGKILL))
			program.waitLine(busyDone)
			wantLeftAlone(t, pid)
			program.want(0)
		})
	}
}

// After a kill another run works as if nothing had been.
func TestObserveAfterAKill(t *testing.T) {
	needBPF(t)
	server, pid := startServer(t)
	tool, _ := attachTo(t, pid)
	tool.signal(unix.SIGKILL)
	tool.want(128 + int(unix.SIGKILL))
	wantLeftAlone(t, pid)
	tool, report := attachTo(t, pid)
	server.ask("twist")
	tool.signal(unix.SIGINT)
	tool.want(66)
	wantSummary(t, readReport(t, report), twistFound)
	server.want(0)
}

// The program may be killed in the middle of its start.
func TestProgramKilledDuringItsStart(t *testing.T) {
	needBPF(t)
	for i := range 5 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := startTool(t, childOptions{}, "exec", "--", processFixture(t, "busy.c"))
			pid := childOf(t, c.pid())
			for range rand.IntN(50_000) {
				runtime.Gosched()
			}
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Skipf("it was over: %v", err)
			}
			status, text := c.wait(), c.err.String()
			if status == 0 && c.out.has(busyDone) {
				t.Skip("another child of the tool was killed, which tries what the kernel can do")
			}
			early := status == 125 && strings.Contains(text, "process") // it was not the program yet
			if status != 128+int(unix.SIGKILL) && !early || text == "" || strings.Contains(text, "panic") {
				t.Errorf("exit status %d", status)
			}
		})
	}
}
