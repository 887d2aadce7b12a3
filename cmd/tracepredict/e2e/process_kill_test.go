package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// killRounds is how often the tool is killed, one time in four under exec, and deathRounds
// how often the program dies. The core has few of them.
func killRounds() int {
	if testing.Short() {
		return 24
	}
	return 200
}

func deathRounds() int {
	if testing.Short() {
		return 12
	}
	return 36
}

// seed selects the random times of a test. A failed test logs it; TRACEPREDICT_SEED in
// the environment sets it.
func seed(t testing.TB) *rand.Rand {
	t.Helper()
	n := rand.Uint64()
	if text := os.Getenv("TRACEPREDICT_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("TRACEPREDICT_SEED: %v", err)
		}
	}
	t.Logf("to repeat: TRACEPREDICT_SEED=%d", n)
	return rand.New(rand.NewPCG(n, 0))
}

// TestKill checks that a program is not disturbed when the tool is killed: it continues
// and ends as it would have, none of its threads stays stopped, and no probe stays in
// it. The time of the kill is anywhere from the tool's start to well into the run.
func TestKill(t *testing.T) {
	needBPF(t)
	t.Parallel()
	atMost(t, 10*time.Minute, "200 kills, each at a time of its own within a second")
	random, deaths := seed(t), deathTimes{}
	server := startChild(t, childOptions{}, processFixture(t, "steady.c"))
	pid := lineNumber(t, server, "pid ")
	for i := range killRounds() {
		if i%4 == 3 {
			killDuringExec(t, random, &deaths)
		} else {
			tool := startTool(t, childOptions{}, "attach", "--watch", "sum", "-p", fmt.Sprint(pid))
			killAtRandom(tool, random, &deaths)
			wantLeftAlone(t, pid)
			wantRight(server, fmt.Sprintf("check %d", i))
		}
		if t.Failed() {
			t.Fatalf("round %d", i)
		}
	}
	server.send("quit")
	server.want(0)
	t.Log(deaths.String())
}

func killDuringExec(t *testing.T, random *rand.Rand, deaths *deathTimes) {
	t.Helper()
	c := startTool(t, childOptions{}, "exec", "--watch", "sum", "--", processFixture(t, "steady.c"))
	killAtRandom(c, random, deaths)
	// The program, if the process became one, has the other ends of the pipes.
	poll(t, "the program's first line, or the end of all", func() bool { return c.out.has("pid ") || c.hasEnded() })
	if c.out.String() == "" {
		return
	}
	wantLeftAlone(t, lineNumber(t, c, "pid "))
	wantRight(c, "check")
	c.send("quit")
	if got := c.waitLine("end: "); got != "right, 4 threads" {
		t.Errorf("the program ended with %q", got)
	}
	c.in.Close()
	poll(t, "the program's end", c.hasEnded)
}

// TestObserverDies checks that the program goes on when the process that observes it dies, of the kernel's killer or in
// a way that Go cannot recover from, and that the tool says so and ends when the program does.
func TestObserverDies(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for signal, why := range map[unix.Signal]string{
		unix.SIGKILL: "SIGKILL ended the process that observes",
		unix.SIGABRT: "Go's run-time system ended the process that observes", // as after concurrent writes of a map
	} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			c := startTool(t, childOptions{}, "exec", "--watch", "sum", "--", processFixture(t, "steady.c"))
			pid := lineNumber(t, c, "pid ")
			poll(t, "probes", func() bool { return len(linksOf(t, pid)) > 0 })
			if err := unix.Kill(c.observer(), signal); err != nil {
				t.Fatal(err)
			}
			poll(t, "word of it", func() bool { return strings.Contains(c.err.String(), "goes on without probes") })
			wantLeftAlone(t, pid)
			wantRight(c, "check")
			c.send("quit")
			c.want(125)
			if got := c.waitLine("end: "); got != "right, 4 threads" {
				t.Errorf("the program ended with %q", got)
			}
			for _, want := range []string{why, fmt.Sprintf("the program (pid %d) has ended", pid)} {
				if !strings.Contains(c.err.String(), want) {
					t.Errorf("no %q", want)
				}
			}
		})
	}
}

// killAtRandom kills the tool within the second after its start, most of which it
// spends attaching probes, and waits until it has ended.
func killAtRandom(tool *child, random *rand.Rand, deaths *deathTimes) {
	tool.t.Helper()
	<-time.After(time.Duration(random.Int64N(int64(900 * time.Millisecond))))
	deaths.kill(tool)
}

// wantRight lets testdata/process/steady.c check itself.
func wantRight(c *child, line string) {
	c.t.Helper()
	c.send(line)
	if got := c.waitLine("done " + line + ": "); got != "right" {
		c.t.Errorf("the program counts %s", got)
	}
}

// deathTimes are the times that killed processes needed to end.
type deathTimes []time.Duration

// deathLimit is the longest time that a killed tool may need to end.
const deathLimit = 2 * time.Second

func (d *deathTimes) kill(c *child) {
	c.t.Helper()
	pid := c.observer()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		c.t.Fatalf("the tool ended before it was killed: %v", err)
	}
	defer unix.Close(fd)
	c.signal(unix.SIGKILL)
	begin := time.Now()
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for n := 0; n == 0 || errors.Is(err, unix.EINTR); {
		if n, err = unix.Poll(fds, 20_000); n == 0 && err == nil {
			c.t.Fatalf("killed, and there after 20 s:\n%s", kernelWaits(pid))
		}
	}
	*d = append(*d, time.Since(begin))
	if took := time.Since(begin); took > deathLimit {
		c.t.Errorf("killed, it was gone after %v", took)
	}
}

// kernelWaits returns what the threads of a process wait for in the kernel.
func kernelWaits(pid int) string {
	var text strings.Builder
	for _, name := range []string{"status", "wchan", "stack"} {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", pid, name))
		for _, file := range files {
			is, err := os.ReadFile(file)
			fmt.Fprintf(&text, "%s: %v\n%s\n", file, err, is)
		}
	}
	return text.String()
}

func (d deathTimes) String() string {
	slices.Sort(d)
	if len(d) == 0 {
		return "none killed"
	}
	return fmt.Sprintf("%d killed, gone after %v in the median, %v at most", len(d), d[len(d)/2], d[len(d)-1])
}

// TestProgramDies checks that the program may end in any way, at any time: the tool
// reports it, passes its status on, and ends too.
func TestProgramDies(t *testing.T) {
	needBPF(t)
	t.Parallel()
	atMost(t, 5*time.Minute, "36 deaths, each at a time of its own within a second")
	random := seed(t)
	deaths := []struct {
		word   string
		signal unix.Signal
	}{{"kill", unix.SIGKILL}, {"segv", unix.SIGSEGV}, {"abort", unix.SIGABRT}}
	for i := range deathRounds() {
		way := deaths[i%3]
		if i%4 == 3 {
			c := startTool(t, childOptions{}, "exec", "--watch", "sum", "--", processFixture(t, "steady.c"))
			c.waitLine("pid ")
			<-time.After(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
			c.send(way.word)
			c.want(128 + int(way.signal))
			wantReported(c)
			continue
		}
		server := startChild(t, childOptions{}, processFixture(t, "steady.c"))
		pid := lineNumber(t, server, "pid ")
		tool := startTool(t, childOptions{}, "attach", "--watch", "sum", "-p", fmt.Sprint(pid))
		<-time.After(time.Duration(random.Int64N(int64(900 * time.Millisecond))))
		server.send(way.word)
		server.want(128 + int(way.signal))
		observed := tool.err.has("tracepredict: observing ")
		switch status := tool.wait(); {
		case observed && (status == 0 || status == 66):
			wantReported(tool)
		case status != 0 && status != 125 || strings.Contains(tool.err.String(), "panic"):
			t.Errorf("exit status %d", status)
		}
		if n := len(linksOf(t, pid)); n != 0 {
			t.Errorf("%d links are left", n)
		}
		if t.Failed() {
			t.Fatalf("round %d, %s", i, way.word)
		}
	}
}

// wantReported checks that a tool whose program has ended made a report. That a thread
// may have held a lock from before the observation, which makes a likely race, is no
// error.
func wantReported(c *child) {
	c.t.Helper()
	text := c.err.String()
	if !strings.Contains(text, "no findings in ") && !strings.Contains(text, "1 race likely in ") || strings.Contains(text, "panic") {
		c.t.Errorf("no report: %s", text)
	}
}

// TestObserveAfterAKill checks that another run works after a kill.
func TestObserveAfterAKill(t *testing.T) {
	needBPF(t)
	t.Parallel()
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

// TestProgramKilledDuringItsStart kills the program while it starts.
func TestProgramKilledDuringItsStart(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for i := range 5 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := startTool(t, childOptions{}, "exec", "--", processFixture(t, "steady.c"))
			pid := childOf(t, c.observer())
			for range rand.IntN(50_000) {
				runtime.Gosched()
			}
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Skipf("it was over: %v", err)
			}
			status, text := c.wait(), c.err.String()
			if status == 0 && c.out.has("end: ") {
				t.Skip("another child of the tool was killed, which tries what the kernel can do")
			}
			early := status == 125 && strings.Contains(text, "process") // the process had not become the program yet
			if status != 128+int(unix.SIGKILL) && !early || text == "" || strings.Contains(text, "panic") {
				t.Errorf("exit status %d", status)
			}
		})
	}
}
