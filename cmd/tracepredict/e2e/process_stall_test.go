package e2e

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/need"
)

// stalled is a tool whose output is blocked: it records into a pipe that nobody reads
// until drain is called. The program locks at full speed.
type stalled struct {
	t             testing.TB
	tool, program *child // the same child under exec
	pid           int
	report        string
	drain         func()
}

func stall(t testing.TB, attach bool, threads, pairs string, flags ...string) *stalled {
	t.Helper()
	dir := t.TempDir()
	s := &stalled{t: t, report: filepath.Join(dir, "report.json")}
	fifo := filepath.Join(dir, "trace")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(fifo, os.O_RDWR, 0) // both ends, so that no open blocks
	if err != nil {
		t.Fatal(err)
	}
	drained := make(chan struct{})
	s.drain = func() {
		go func() {
			defer close(drained)
			_, _ = io.Copy(io.Discard, f)
		}()
		s.drain = func() {}
	}
	t.Cleanup(func() {
		s.drain()
		f.Close()
		<-drained
	})
	flags = append([]string{"--record", fifo, "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", s.report}, flags...)
	program := []string{processFixture(t, "locks.c"), threads, pairs}
	if attach {
		s.program = startChild(t, childOptions{}, append(program, "wait")...)
		s.pid = lineNumber(t, s.program, "pid ")
		s.tool = startTool(t, childOptions{}, append([]string{"attach", "-p", fmt.Sprint(s.pid)}, flags...)...)
		waitObserving(t, s.tool)
		s.program.send("go")
		return s
	}
	s.tool = startTool(t, childOptions{}, append(append(append([]string{"exec"}, flags...), "--"), program...)...)
	s.program = s.tool
	s.pid = lineNumber(t, s.tool, "pid ")
	return s
}

func (s *stalled) waitHeld() {
	s.t.Helper()
	poll(s.t, "the program's wait", func() bool { return isHeld(s.pid) })
}

// wantSum lets the program end and compares the sum that it prints with the expected
// one.
func (s *stalled) wantSum() {
	s.t.Helper()
	s.program.in.Close()
	poll(s.t, "the program's end", s.program.hasEnded)
	all := 0
	for _, n := range pairsMade(s.t, s.program.out.String()) {
		all += (n + 15) / 16 // the number of each thread's pairs that add to the sum
	}
	if want := fmt.Sprintf("sum %d", all); all == 0 || !s.program.out.has(want) {
		s.t.Errorf("the program said %q, want %q", s.program.out.String(), want)
	}
}

func bothModes(t *testing.T, f func(t *testing.T, attach bool)) {
	needBPF(t)
	t.Parallel()
	t.Run("exec", func(t *testing.T) { f(t, false) })
	t.Run("attach", func(t *testing.T) { f(t, true) })
}

// TestKillDuringAHold kills the tool while the program is made to wait.
func TestKillDuringAHold(t *testing.T) {
	bothModes(t, func(t *testing.T, attach bool) {
		s := stall(t, attach, "3", "0")
		s.waitHeld()
		s.tool.signal(unix.SIGKILL)
		wantLeftAlone(t, s.pid)
		s.wantSum()
	})
}

// TestProgramKilledDuringAHold kills the program while it is made to wait.
func TestProgramKilledDuringAHold(t *testing.T) {
	bothModes(t, func(t *testing.T, attach bool) {
		s := stall(t, attach, "3", "0")
		s.waitHeld()
		if err := unix.Kill(s.pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if attach {
			s.program.want(128 + int(unix.SIGKILL)) // its parent sees the end although the tool's output is still blocked
		}
		s.drain()
		if attach {
			s.tool.want(0)
		} else {
			s.tool.want(128 + int(unix.SIGKILL))
		}
		if r := readReport(t, s.report); r.Run.PID != s.pid {
			t.Errorf("the report is about process %d, want %d", r.Run.PID, s.pid)
		}
	})
}

// TestProgramStoppedDuringAHold stops the program by SIGSTOP while it is made to wait,
// and continues it later. Once it runs again it is not traced, so that a debugger could
// attach.
func TestProgramStoppedDuringAHold(t *testing.T) {
	bothModes(t, func(t *testing.T, attach bool) {
		s := stall(t, attach, "3", "0")
		s.waitHeld()
		if err := unix.Kill(s.pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		s.drain()
		want := "t"
		if attach {
			want = "T"
		}
		poll(t, "the program's stop", func() bool {
			for _, state := range threadStates(s.pid, "State") {
				if state[:1] != want {
					return false
				}
			}
			return true
		})
		if err := unix.Kill(s.pid, unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		poll(t, "the program to go on", func() bool {
			states := strings.Join(threadStates(s.pid, "State"), " ")
			tracers := strings.Trim(strings.Join(threadStates(s.pid, "TracerPid"), ""), "0")
			return strings.Contains(states, "R") && (tracers == "" || !attach)
		})
		if attach {
			s.wantSum()
			s.tool.want(0)
		} else {
			s.wantSum()
		}
		readReport(t, s.report) // fails if events were lost
	})
}

// wantLoss checks the report of a run whose program could not be made to wait.
func wantLoss(t testing.TB, path, why string) {
	t.Helper()
	r := readLossy(t, path)
	if r.Run.Lost == 0 || r.Run.LostThreads == 0 {
		t.Errorf("%d events lost in %d threads, want some", r.Run.Lost, r.Run.LostThreads)
	}
	if notes := strings.Join(r.Run.Notes, "\n"); !strings.Contains(notes, why) {
		t.Errorf("notes %q, want one that says %q", notes, why)
	}
	for _, f := range r.Findings {
		if f.Confidence != "potential" {
			t.Errorf("%s, in spite of the loss", f)
		}
	}
}

// TestTracedProgramLosesEvents observes a program that another tool or a debugger
// traces.
func TestTracedProgramLosesEvents(t *testing.T) {
	needBPF(t)
	t.Parallel()
	tracer := startTool(t, childOptions{}, "exec", "--lossy", "--watch-shared=off", "--", processFixture(t, "locks.c"), "2", "1000000", "wait")
	pid := lineNumber(t, tracer, "pid ")
	report := filepath.Join(t.TempDir(), "report.json")
	fifo := filepath.Join(t.TempDir(), "trace")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tool := startTool(t, childOptions{}, "attach", "--ring", "16", "--record", fifo, "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", report, "-p", fmt.Sprint(pid))
	waitObserving(t, tool)
	observer := tracer.observer()
	tracer.send("go")
	tracer.waitLine("sum ")
	go func() { _, _ = io.Copy(io.Discard, f) }()
	tracer.want(0)
	tool.want(0)
	wantLoss(t, report, fmt.Sprintf("process %d is traced by tracepredict (process %d), so it could not be made to wait", pid, observer))
}

// TestStoppedToolLosesEvents stops the tool itself.
func TestStoppedToolLosesEvents(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := startChild(t, childOptions{}, processFixture(t, "locks.c"), "2", "500000", "wait")
	pid := lineNumber(t, program, "pid ")
	tool, report := attachTo(t, pid, "--ring", "16")
	tool.signal(unix.SIGSTOP)
	program.send("go")
	program.waitLine("sum ")
	tool.signal(unix.SIGCONT)
	program.want(0)
	tool.want(0)
	wantLoss(t, report, "tracepredict itself was stopped, or kept from running, for ")
}

// TestLeavesAtOnce ends the observation of threads that lock at full speed. The program goes on without probes, the tool
// says so before its report, and how to end the analysis; none of its events is lost. The tool's thread that watches the
// ring buffer has the highest priority, though the tool has dropped CAP_SYS_NICE.
func TestLeavesAtOnce(t *testing.T) {
	needRoot(t)
	t.Parallel()
	program := startChild(t, childOptions{}, processFixture(t, "locks.c"), "8", "0")
	pid := lineNumber(t, program, "pid ")
	tool, report := attachTo(t, pid, "--watch-shared=off", "--ring", "16")
	if caps, err := need.OwnCapabilities(); err == nil && caps.C.Get(capability.EFFECTIVE, capability.CAP_SYS_NICE) && !slices.Contains(priorities(t, tool.observer()), -20) {
		t.Error("no thread of the tool has the priority that it needs")
	}
	tool.signal(unix.SIGINT)
	tool.want(0)
	want := fmt.Sprintf("tracepredict: process %d goes on without probes; analysing; Ctrl-C reports at once\n", pid)
	if !strings.Contains(tool.err.String(), want) {
		t.Errorf("the tool said %q, want %q", tool.err.String(), want)
	}
	wantLeftAlone(t, pid)
	readReport(t, report) // fails if events were lost
	program.in.Close()
	program.want(0)
}

// priorities returns the nice values of the threads of a process.
func priorities(t testing.TB, pid int) (all []int) {
	t.Helper()
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		n, err := strconv.Atoi(fields[16])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}
