package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// confirmedReport observes a program, has its findings confirmed, and returns the report in JSON.
func confirmedReport(t *testing.T, program string, flags ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "report.json")
	all := []string{"exec", "--confirm", "--fail-on=never", "--format", "json", "--output", file}
	startTool(t, childOptions{Stdin: nothing(t)}, slices.Concat(all, flags, []string{"--", program})...).want(0)
	if !slices.ContainsFunc(readConfirmed(t, file), func(f confirmed) bool { return f.Confirmation != nil && f.Confirmation.Confirmed }) {
		t.Fatalf("nothing is confirmed: %s", printed(t, readConfirmed(t, file)))
	}
	return file
}

// wantPrinted checks that a text has lines that match patterns, in this order.
func wantPrinted(t *testing.T, text string, patterns ...string) {
	t.Helper()
	rest := text
	for _, p := range patterns {
		at := regexp.MustCompile(p).FindStringIndex(rest)
		if at == nil {
			t.Fatalf("there is no %q, or it comes too early:\n%s", p, text)
		}
		rest = rest[at[1]:]
	}
}

// TestReplaySchedule: the schedule that confirmed a finding is repeated, step by step, by a program that may have been moved,
// and the error happens again. The program has the standard streams of the tool.
func TestReplaySchedule(t *testing.T) {
	needBPF(t)
	valve := filepath.Join("..", "..", "..", "examples", "socket", "socket.tps")
	for _, c := range []struct {
		example          string
		observed, replay []string
		printed          []string
		output           string
		hardware         bool // threads are stopped by hardware breakpoints
	}{
		{"shop", []string{"--watch-shared=off"}, nil, []string{
			`repeating the schedule of finding 1, as in try 1: T2 and T3 can block each other`,
			`step \d of \d: T\d requests (ledger|stock) at shop\.c:\d+ \(LWP \d+\)`, `step \d of \d: T\d requests (ledger|stock) at shop\.c:\d+ \(LWP \d+\)`,
			`the program hangs: T2 and T3`, `ending process \d+ with SIGKILL`, `the deadlock happened again`,
		}, "", false},
		{"shop", []string{"--watch", "tickets"}, []string{"RACE"}, []string{
			`T\d accesses tickets at shop\.c:\d+ \(LWP \d+\)`, `T\d accesses tickets at shop\.c:\d+ \(LWP \d+\)`,
			`both threads stand before their accesses at the same time`, `the race happened again`,
		}, "85 tickets left, 25 entries\n", true},
		{"socket", []string{"--spec", valve}, []string{"--spec", valve}, []string{`step \d+ of \d+: T\d calls \w+ at socket\.c:\d+ \(LWP \d+\)`, `the violation of \w+ happened again`}, "*", true},
	} {
		t.Run(c.example+strings.Join(c.replay, ""), func(t *testing.T) {
			t.Parallel()
			if c.hardware {
				needBreakpoints(t)
			}
			program := example(t, c.example)
			file := confirmedReport(t, program, c.observed...)
			which := []string{}
			if len(c.replay) > 0 && c.replay[0] == "RACE" { // there is a deadlock too
				c.replay, which = nil, []string{fingerprintOf(t, file, "race")[:6]}
			}
			tool := startTool(t, childOptions{Stdin: nothing(t)}, slices.Concat([]string{"replay-schedule"}, c.replay, []string{file}, which, []string{"--", copied(t, program)})...)
			tool.want(66)
			wantPrinted(t, tool.err.String(), c.printed...)
			hung := strings.Contains(tool.err.String(), "the program hangs") // as shop may behind the race
			if out := tool.out.String(); out != c.output && c.output != "*" && !hung {
				t.Errorf("the program printed %q", out)
			}
		})
	}
}

// fingerprintOf returns the fingerprint of the finding of a kind in a report.
func fingerprintOf(t *testing.T, file, kind string) string {
	t.Helper()
	for _, f := range readReport(t, file).Findings {
		if f.Kind == kind {
			return f.Fingerprint
		}
	}
	t.Fatalf("%s has no %s", file, kind)
	return ""
}

// TestReplayScheduleGDB: with --gdb the program is left stopped where the error happens, with no probe, no breakpoint and no
// tracer, so that gdb shows both threads at their lines. When gdb leaves it, it goes on, and ends as without the tool; in a
// deadlock gdb ends it.
func TestReplayScheduleGDB(t *testing.T) {
	needBPF(t)
	testtool.Need(t, "gdb")
	socket := filepath.Join("..", "..", "..", "examples", "socket", "socket.tps")
	for _, c := range []struct {
		example, kind string
		flags         []string
		shown         []string // by gdb
		ends          string   // how gdb ends the program; "": it leaves it
		output        string
	}{
		{"shop", "race", []string{"--watch", "tickets"}, []string{`sell \(seat=.*\) at .*shop\.c:`, `refund \(seat=.*\) at .*shop\.c:`}, "", "85 tickets left, 25 entries\n"},
		{"shop", "deadlock", []string{"--watch-shared=off"}, []string{`sell \(seat=.*\) at .*shop\.c:`, `refund \(seat=.*\) at .*shop\.c:`}, "kill", ""},
		{"socket", "typestate", []string{"--spec", socket}, []string{`at .*socket\.c:`}, "", "*"},
	} {
		t.Run(c.example+" "+c.kind, func(t *testing.T) {
			t.Parallel()
			if c.kind != "deadlock" {
				needBreakpoints(t)
			}
			program := example(t, c.example)
			file := confirmedReport(t, program, c.flags...)
			args := []string{"replay-schedule", "--gdb"}
			if c.kind == "typestate" {
				args = append(args, c.flags...)
			}
			tool := startTool(t, childOptions{Stdin: nothing(t)}, append(args, file, fingerprintOf(t, file, c.kind), "--", program)...)
			pid := leftStopped(t, tool)
			if links := linksOf(t, pid); len(links) > 0 {
				t.Errorf("%d links are left", len(links))
			}
			for _, tracer := range threadStates(pid, "TracerPid") {
				if tracer != "0" {
					t.Errorf("the tracer is %s", tracer)
				}
			}
			for _, state := range threadStates(pid, "State") {
				if state != "T (stopped)" {
					t.Errorf("a thread is in state %s", state)
				}
			}
			gdb := []string{"gdb", "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-p", strconv.Itoa(pid), "-ex", "thread apply all backtrace 8"}
			if c.ends != "" {
				gdb = append(gdb, "-ex", c.ends)
			}
			looks := startChild(t, childOptions{Stdin: nothing(t)}, gdb...)
			looks.want(0)
			for _, p := range c.shown {
				wantPrinted(t, looks.out.String(), p)
			}
			tool.want(66)
			hung := strings.Contains(tool.err.String(), "the program hangs") // as shop may behind the race
			if out := tool.out.String(); out != c.output && c.output != "*" && !hung {
				t.Errorf("the program printed %q", out)
			}
		})
	}
}

// leftStopped waits until the tool says which process it has left stopped for gdb, and returns that.
func leftStopped(t *testing.T, tool *child) (pid int) {
	t.Helper()
	poll(t, "a process for gdb", func() bool { return strings.Contains(tool.err.String(), "to look at it: gdb -p ") || tool.hasEnded() })
	_, rest, _ := strings.Cut(tool.err.String(), "to look at it: gdb -p ")
	if _, err := fmt.Sscan(rest, &pid); err != nil {
		t.Fatalf("no process was left for gdb: %s", tool.err.String())
	}
	return pid
}

// TestReplayScheduleInterrupted: a signal to the tool ends the program that it has left stopped, and then the tool.
func TestReplayScheduleInterrupted(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := copied(t, example(t, "shop"))
	file := confirmedReport(t, program, "--watch-shared=off")
	tool := startTool(t, childOptions{Stdin: nothing(t)}, "replay-schedule", "--gdb", file, "--", program)
	leftStopped(t, tool)
	tool.signal(unix.SIGTERM)
	tool.want(66)
	if left := runs(program); len(left) > 0 {
		t.Errorf("it still runs: %q", left)
	}
}

// TestReplayScheduleAtATerminal: at a terminal gdb is run on the program, which goes on when gdb has ended; in a deadlock gdb
// ends it.
func TestReplayScheduleAtATerminal(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "gdb")
	program := example(t, "shop")
	file := confirmedReport(t, program, "--watch-shared=off")
	master, slave := openTerminal(t)
	c := &child{t: t, ended: make(chan struct{})}
	c.cmd = terminalCommand(t, slave, toolPath(t), "replay-schedule", "--gdb", file, "--", program)
	c.cmd.Env = append(c.cmd.Env, "HOME="+t.TempDir(), "DEBUGINFOD_URLS=", "TERM=dumb")
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	go func() {
		_ = c.cmd.Wait()
		close(c.ended)
	}()
	go c.readTerminal(master)
	t.Cleanup(c.cleanUp)
	poll(t, "gdb", func() bool { return strings.Contains(c.out.String(), "to look at it: gdb -p") || c.hasEnded() })
	if _, err := master.WriteString("set pagination off\nthread apply all backtrace 8\nset confirm off\nkill\nquit\n"); err != nil {
		t.Fatal(err)
	}
	poll(t, "the end of the program", c.hasEnded)
	wantPrinted(t, c.out.String(), `(sell|refund) \(seat=.*\) at .*shop\.c:`, `(sell|refund) \(seat=.*\) at .*shop\.c:`)
	if status := c.cmd.ProcessState.ExitCode(); status != 66 {
		t.Errorf("exit status %d", status)
	}
}

// TestReplayScheduleDiverges: where the program does something else the schedule is not repeated, which is said, however often
// it is tried. Each try reads standard input from the same place.
func TestReplayScheduleDiverges(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program, dir := build(t, "gcc", "fed.c"), t.TempDir()
	file := filepath.Join(dir, "report.json")
	for _, c := range []struct {
		input   string
		status  int
		printed []string
	}{
		{"eat\n", 66, []string{`the deadlock happened again`}},
		{"starve\n", 1, []string{`trying again \(2 of 2\)`, `the deadlock did not happen again: diverged at step 1: T2 requests .*: the run ended without it`}},
	} {
		input := filepath.Join(dir, strings.TrimSpace(c.input))
		if err := os.WriteFile(input, []byte(c.input), 0o644); err != nil {
			t.Fatal(err)
		}
		stdin, err := os.Open(input)
		if err != nil {
			t.Fatal(err)
		}
		defer stdin.Close()
		if c.status == 66 {
			file = confirmedFed(t, program, stdin)
		}
		tool := startTool(t, childOptions{Stdin: stdin}, "replay-schedule", "--tries=2", file, "1", "--", program)
		tool.want(c.status)
		wantPrinted(t, tool.err.String(), c.printed...)
	}
}

// confirmedFed returns a report of the program fed whose deadlock is confirmed. The input is where it was then.
func confirmedFed(t *testing.T, program string, stdin *os.File) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "report.json")
	startTool(t, childOptions{Stdin: stdin}, "exec", "--confirm", "--watch-shared=off", "--fail-on=never", "--format", "json", "--output", file, "--", program).want(0)
	if _, err := stdin.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestReplayScheduleRefuses: a report of another build, and a finding that was not confirmed or does not exist.
func TestReplayScheduleRefuses(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := example(t, "shop")
	file := confirmedReport(t, program, "--watch-shared=off")
	plain, _ := reportOf(t, program, "--watch-shared=off")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{file, "1", "--", build(t, "gcc", "fed.c")}, "is not a report of this program"},
		{[]string{file, "none", "--", program}, "no finding has the number none"},
		{[]string{plain, "--", program}, "no finding is confirmed; tracepredict confirm"},
		{[]string{plain, "1", "--", program}, "finding 1 is not confirmed"},
	} {
		tool := startTool(t, childOptions{Stdin: nothing(t)}, append([]string{"replay-schedule"}, c.args...)...)
		tool.want(125)
		if text := tool.err.String(); !strings.Contains(text, c.want) {
			t.Errorf("%q: printed %s", c.args, text)
		}
	}
}
