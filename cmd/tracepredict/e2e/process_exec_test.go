package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// twistFound is the finding for the two locks of testdata/process/twist.h.
const twistFound = "predicted deadlock of left_lock, right_lock"

func TestExecPassesStreamsArgumentsAndEnvironment(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program, dir := processFixture(t, "echo.c"), t.TempDir()
	report := filepath.Join(dir, "report.txt")
	c := startTool(t, childOptions{Dir: dir, Env: []string{"E2E_MARK=here"}, Stdin: strings.NewReader("some\ninput\n")},
		"exec", "--output", report, "--", program, "7", "two words", "", "--format")
	c.want(7)
	want := fmt.Sprintf("arg 0 <%s>\narg 1 <7>\narg 2 <two words>\narg 3 <>\narg 4 <--format>\ndir %s\nmark here\nsome\ninput\n", program, dir)
	if got := c.out.String(); got != want {
		t.Errorf("standard output %q, want %q", got, want)
	}
	if got := c.err.String(); got != "a word from the program\n" {
		t.Errorf("standard error %q", got)
	}
	text, err := os.ReadFile(report)
	if err != nil || !strings.Contains(string(text), "no findings in ") {
		t.Errorf("report %q, %v", text, err)
	}
}

func TestExecFindsTheProgramAsAShellDoes(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := processFixture(t, "echo.c")
	path := "PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH")
	c := startTool(t, childOptions{Env: []string{path}, Stdin: strings.NewReader("")}, "exec", "--", filepath.Base(program))
	c.want(0)
	if got, _ := c.out.after("arg 0 "); got != "<"+filepath.Base(program)+">" {
		t.Errorf("argv[0] is %s", got)
	}
	c = startTool(t, childOptions{Dir: filepath.Dir(program), Stdin: strings.NewReader("")}, "exec", "--", "./"+filepath.Base(program))
	c.want(0)
	if got, _ := c.out.after("arg 0 "); got != "<./"+filepath.Base(program)+">" {
		t.Errorf("argv[0] is %s", got)
	}
}

func TestExecWithStandardInputClosed(t *testing.T) {
	needBPF(t)
	t.Parallel()
	c := startChild(t, childOptions{}, "/bin/sh", "-c", `exec "$0" exec -- "$1" <&-`, toolPath(t), processFixture(t, "echo.c"))
	c.want(0)
	if !c.out.has("mark none") {
		t.Error("the program did not run")
	}
}

// TestExecLeavesTheProgramsSurroundingsAlone checks that the program has the
// descriptors, signals and limits that it has without tracepredict.
func TestExecLeavesTheProgramsSurroundingsAlone(t *testing.T) {
	needBPF(t)
	t.Parallel()
	launch, program := processFixture(t, "launch.c"), processFixture(t, "descriptors.c")
	plain := startChild(t, childOptions{}, launch, program)
	plain.want(0)
	observed := startChild(t, childOptions{}, launch, toolPath(t), "exec", "--", program)
	observed.want(0)
	own := func(text string) string { // only its parent differs
		before, _, _ := strings.Cut(text, "group ")
		return before
	}
	if p, o := own(plain.out.String()), own(observed.out.String()); p != o || !strings.Contains(p, "blocked 12\n") {
		t.Errorf("plain:\n%s\nobserved:\n%s", p, o)
	}
}

func TestExecStatus(t *testing.T) {
	needBPF(t)
	t.Parallel()
	echo, die, racer := processFixture(t, "echo.c"), processFixture(t, "die.c"), processFixture(t, "racer.c")
	for _, tt := range []struct {
		name string
		want int
		args []string
	}{
		{"success", 0, []string{echo, "0"}},
		{"failure", 7, []string{echo, "7"}},
		{"the tool's own number", 125, []string{echo, "125"}},
		{"null pointer", 128 + int(unix.SIGSEGV), []string{die, "null"}},
		{"terminated", 128 + int(unix.SIGTERM), []string{die, "15"}},
		{"killed", 128 + int(unix.SIGKILL), []string{die, "9"}},
		{"findings", 66, []string{racer}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"exec", "--watch", "hits", "--"}, tt.args...)
			if tt.args[0] != racer {
				args = append(args[:1], args[3:]...)
			}
			startTool(t, childOptions{Stdin: strings.NewReader("")}, args...).want(tt.want)
		})
	}
}

func TestExecStatusWithFindings(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := processFixture(t, "execs.c")
	startTool(t, childOptions{}, "exec", "--findings-exit", "3", "--", program, "twist").want(3)
	startTool(t, childOptions{}, "exec", "--findings-exit", "0", "--", program, "twist").want(0)
}

func TestExecPassesATermination(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			c := startTool(t, childOptions{Group: true}, "exec", "--", processFixture(t, "signals.c"))
			c.waitLine("ready ")
			c.signal(s) // only to the tool
			c.waitLine(fmt.Sprintf("got %02d", s))
			c.send("enough")
			c.want(0)
			if got := c.waitLine(fmt.Sprintf("signal %d: ", s)); got != "1" {
				t.Errorf("the program got it %s times", got)
			}
			if !strings.Contains(c.err.String(), "no findings in ") {
				t.Errorf("no report: %s", c.err.String())
			}
		})
	}
}

// TestExecInterruptOfTheTerminalArrivesOnce checks that the tool does not pass on a
// Ctrl-C, which the terminal sends to the whole foreground process group, the program
// included.
func TestExecInterruptOfTheTerminalArrivesOnce(t *testing.T) {
	needBPF(t)
	t.Parallel()
	master, slave := openTerminal(t)
	c := &child{t: t, ended: make(chan struct{})}
	c.cmd = terminalCommand(t, slave, toolPath(t), "exec", "--output", filepath.Join(t.TempDir(), "report"), "--", processFixture(t, "signals.c"))
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
	c.waitLine("ready ")
	if _, err := master.Write([]byte{3}); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	poll(t, "the interrupt", func() bool { return strings.Contains(c.out.String(), "got 02") })
	if _, err := master.Write([]byte("enough\n")); err != nil {
		t.Fatal(err)
	}
	poll(t, "the program's end", c.hasEnded)
	if got := c.waitLine("signal 2: "); got != "1" {
		t.Errorf("the program got it %s times", got)
	}
}

// TestExecShellJobControl checks Ctrl-Z and fg of a shell at a terminal: the job stops,
// the shell notices, and the job continues.
func TestExecShellJobControl(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "bash")
	master, slave := openTerminal(t)
	c := &child{t: t, ended: make(chan struct{})}
	c.cmd = terminalCommand(t, slave, "bash", "--norc", "--noprofile", "--noediting", "-i")
	c.cmd.Env = append(c.cmd.Env, `PS1=$\n`) // so that the program's output begins a line
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
	write := func(text string) {
		t.Helper()
		if _, err := master.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	report := filepath.Join(t.TempDir(), "report.json")
	write(fmt.Sprintf("%s exec --format json --output %s -- %s\n", toolPath(t), report, processFixture(t, "server.c")))
	pid := lineNumber(t, c, "ready ")
	for round := 1; round <= 3; round++ {
		write("\x1a")
		poll(t, "the shell to see the stop", func() bool { return strings.Count(c.out.String(), "Stopped") == round })
		poll(t, "the program's stop", func() bool { return stopped(pid) })
		write("fg\n")
		poll(t, "the program to go on", func() bool { return !stopped(pid) })
		write(fmt.Sprintf("round %d\n", round))
		c.waitLine(fmt.Sprintf("done round %d", round))
	}
	write("twist\n")
	c.waitLine("done twist")
	write("\x04")
	write("echo status $?\n")
	if got := c.waitLine("status "); got != "66" {
		t.Errorf("exit status %s", got)
	}
	write("exit\n")
	poll(t, "the shell's end", c.hasEnded)
	wantSummary(t, readReport(t, report), twistFound)
}

// readTerminal reads until the last process at the terminal has ended.
func (c *child) readTerminal(master *os.File) {
	buf, line := make([]byte, 4096), ""
	for {
		n, err := master.Read(buf)
		line += strings.ReplaceAll(string(buf[:n]), "\r", "")
		if end := strings.LastIndexByte(line, '\n') + 1; end > 0 {
			_, _ = c.out.Write([]byte(shown(line[:end])))
			line = line[end:]
		}
		if err != nil {
			_, _ = c.out.Write([]byte(shown(line)))
			return
		}
	}
}

// shown returns what a terminal shows of lines of which the beginning may have been erased: a slow start writes what
// it does in the line where the program writes next.
func shown(lines string) string {
	const erase = "\x1b[K"
	all := strings.SplitAfter(lines, "\n")
	for i, line := range all {
		if at := strings.LastIndex(line, erase); at >= 0 {
			all[i] = line[at+len(erase):]
		}
	}
	return strings.Join(all, "")
}

// TestAttachStopIsSeenByTheParent checks that the parent of an attached program still
// sees it stop.
func TestAttachStopIsSeenByTheParent(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server := startChild(t, childOptions{}, "bash", "-c", `set -m; "$0" & wait $! ; echo "first $?"; kill -CONT $!; wait $!; echo "then $?"`, processFixture(t, "server.c"))
	server.send("hello") // the background job does not read from the terminal: standard input is a pipe
	pid := lineNumber(t, server, "ready ")
	tool, _ := attachTo(t, pid)
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	server.waitLine("first ")
	tool.signal(unix.SIGINT)
	tool.want(0)
	server.want(0)
}

func TestExecStopAndContinue(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, s := range []unix.Signal{unix.SIGTSTP, unix.SIGSTOP} {
		t.Run(s.String(), func(t *testing.T) {
			c := startTool(t, childOptions{Group: true}, "exec", "--", processFixture(t, "signals.c"))
			pid := lineNumber(t, c, "ready ")
			if err := unix.Kill(pid, s); err != nil {
				t.Fatal(err)
			}
			poll(t, "the stop", func() bool { return stopped(pid) })
			c.send("enough") // a program that runs would end now
			// The tracer lets it go on with the signal, which stops it again before it executes anything.
			for range 50 {
				poll(t, "the stop after the signal was delivered", func() bool { return stopped(pid) || c.hasEnded() })
				if c.hasEnded() || c.out.has("signal ") {
					t.Fatal("it does not stay stopped")
				}
			}
			if err := unix.Kill(pid, unix.SIGCONT); err != nil {
				t.Fatal(err)
			}
			c.want(0)
			if got := c.waitLine("signal 18: "); got != "1" {
				t.Errorf("SIGCONT arrived %s times", got)
			}
		})
	}
}

// stopped reports whether a process is stopped, by a signal or under a tracer.
func stopped(pid int) bool {
	states := threadStates(pid, "State")
	for _, s := range states {
		if !strings.HasPrefix(s, "T") && !strings.HasPrefix(s, "t") {
			return false
		}
	}
	return len(states) > 0
}

func lineNumber(t testing.TB, c *child, prefix string) int {
	t.Helper()
	n, err := strconv.Atoi(c.waitLine(prefix))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestExecAsAnotherUser(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "setpriv")
	program := processFixture(t, "ident.c")
	reference := startChild(t, childOptions{}, "setpriv", "--reuid=nobody", "--regid=nogroup", "--init-groups", program)
	if reference.wait() != 0 {
		t.Skipf("no user nobody of group nogroup here: %s", reference.err.String())
	}
	want := reference.out.String()
	uid := strings.Fields(want)[1]
	for _, tt := range []struct {
		name string
		env  []string
		args []string
	}{
		{"--user", nil, []string{"--user", "nobody"}},
		{"sudo", []string{"SUDO_UID=" + uid}, nil},
		{"--user before sudo", []string{"SUDO_UID=1"}, []string{"--user", "nobody"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append(append([]string{"exec"}, tt.args...), "--", program)
			c := startTool(t, childOptions{Env: tt.env}, args...)
			c.want(0)
			if got := c.out.String(); got != want {
				t.Errorf("it ran as %q, want %q", got, want)
			}
		})
	}
	c := startTool(t, childOptions{Env: []string{"SUDO_UID=" + uid}}, "exec", "--user", "root", "--", program)
	c.want(0)
	if !strings.HasPrefix(c.out.String(), "uid 0 0 ") {
		t.Errorf("--user root ran as %q", c.out.String())
	}
}

func TestExecObservesAnotherUsersProgram(t *testing.T) {
	needBPF(t)
	t.Parallel()
	status, r := reported(t, "exec", "--user", "nobody", "--", processFixture(t, "execs.c"), "twist")
	wantSummary(t, r, twistFound)
	if status != 66 {
		t.Errorf("exit status %d", status)
	}
}

// TestExecFollowsAnExecve checks that a program that executes another one, from any of
// its threads, is observed as that one from then on, and that what it held before does
// not count.
func TestExecFollowsAnExecve(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, mode := range []string{"leader", "thread"} {
		t.Run(mode, func(t *testing.T) {
			status, r := reported(t, "exec", "--", processFixture(t, "execs.c"), mode)
			wantSummary(t, r, twistFound)
			if status != 66 {
				t.Errorf("exit status %d", status)
			}
		})
	}
}

// TestExecDuration checks that nothing is observed after --duration, not even another
// program that is executed.
func TestExecDuration(t *testing.T) {
	needBPF(t)
	t.Parallel()
	report := filepath.Join(t.TempDir(), "report.json")
	c := startTool(t, childOptions{}, "exec", "--duration", "200ms", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", report, "--", processFixture(t, "execs.c"), "wait")
	c.waitLine("ready")
	pid := childOf(t, c.observer())
	poll(t, "the end of the observation", func() bool { return len(linksOf(t, pid)) == 0 })
	c.send("go on")
	c.want(0) // the program's own status: there are no findings
	if !c.out.has("twisted") {
		t.Error("the program did not run to its end")
	}
	wantSummary(t, readReport(t, report), "")
}

func childOf(t testing.TB, pid int) int {
	t.Helper()
	var children []int
	poll(t, fmt.Sprintf("a child of %d", pid), func() bool {
		children = childrenOf(pid)
		return len(children) > 0
	})
	return children[0]
}

// TestExecWithoutItsFirstThread lets the first thread end while others go on. It does not run beside other tests: the
// kernel takes probes of such a process out where another tracer takes out its own.
func TestExecWithoutItsFirstThread(t *testing.T) {
	needBPF(t)
	c := startTool(t, childOptions{Stdin: strings.NewReader("go on\n")}, "exec", "--", processFixture(t, "leaderless.c"))
	c.want(66)
	if !strings.Contains(c.err.String(), "left_first") {
		t.Errorf("report: %s", c.err.String())
	}
}

// twistTable names the functions of testdata/process/twistlib.c as lock functions.
const twistTable = `
[[call]]
name = "own_take"
operation = "acquire"
kind = "mutex"
[[call]]
name = "own_give"
operation = "release"
kind = "mutex"
`

// TestExecLibraryLoadedWithoutTheFirstThread lets the program load a library after its first thread has ended: the
// kernel's filter by process rejects hits in it then, so that it has probes only if those may be in all processes. It does
// not run beside other tests, as TestExecWithoutItsFirstThread does not.
func TestExecLibraryLoadedWithoutTheFirstThread(t *testing.T) {
	needBPF(t)
	for _, touch := range []bool{false, true} {
		t.Run(fmt.Sprint(touch), func(t *testing.T) { execLibraryLoadedLate(t, touch) })
	}
}

func execLibraryLoadedLate(t *testing.T, touch bool) {
	library := ownLibrary(t, "twistlib.c")
	report := filepath.Join(t.TempDir(), "report.json")
	table := writeTable(t, twistTable)
	args := []string{"exec", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", report, "--sync", table}
	if touch {
		args = append(args, "--touch-other-processes")
	}
	c := startTool(t, childOptions{}, append(args, "--", processFixture(t, "leaderless.c"), library)...)
	c.send("go on")
	c.waitLine("loaded")
	want := []string{twistFound}
	if touch {
		waitProbesIn(t, library, "--sync", table)
		want = append(want, "predicted deadlock of north.gate, south.gate")
	} else {
		poll(t, "tracepredict to open the library", func() bool {
			names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.observer()))
			return slices.ContainsFunc(names, func(n string) bool { to, _ := os.Readlink(n); return to == library })
		})
	}
	c.send("call it")
	c.want(66)
	r := readReport(t, report)
	said := func(n string) bool { return strings.Contains(n, "--touch-other-processes") }
	if !touch && (!slices.ContainsFunc(r.Run.Notes, said) || len(probesIn(t, library)) != 0) {
		t.Errorf("%d probes, notes %q", len(probesIn(t, library)), r.Run.Notes)
	}
	for i := range r.Findings {
		// A loop of the thread that goes on is not observed, nor what the library does without its probes.
		if f := &r.Findings[i]; f.Confidence == "likely" || f.Confidence == "potential" && !touch {
			f.Confidence = "predicted"
		}
	}
	wantFound(t, r, want...)
}

// wantFound compares the findings of a report, in any order.
func wantFound(t testing.TB, r jsonReport, want ...string) {
	t.Helper()
	got := map[string]bool{}
	for _, f := range r.Findings {
		got[f.String()] = true
	}
	for _, w := range want {
		if !got[w] {
			t.Errorf("not found: %s", w)
		}
		delete(got, w)
	}
	for g := range got {
		t.Errorf("found: %s", g)
	}
	if t.Failed() {
		t.Logf("notes: %q", r.Run.Notes)
	}
}

// TestExecLeavesChildrenAlone checks that forked children, which are not observed, are
// not disturbed.
func TestExecLeavesChildrenAlone(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := processFixture(t, "forks.c")
	plain := startChild(t, childOptions{}, program)
	plain.want(0)
	c := startTool(t, childOptions{}, "exec", "--", program)
	c.want(0)
	if got, want := c.out.String(), plain.out.String(); got != want || !strings.Contains(want, "system 42\n") {
		t.Errorf("under observation:\n%s\nplain:\n%s", got, want)
	}
	if !strings.Contains(c.err.String(), "no findings in ") || !strings.Contains(c.err.String(), " 1 thread,") {
		t.Errorf("report: %s", c.err.String())
	}
}

// TestExecFollowsAnExecveToTheSameAddresses checks that events of one program are not
// taken for those of the next one at the same addresses.
func TestExecFollowsAnExecveToTheSameAddresses(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "setarch")
	status, r := reported(t, "exec", "--", "setarch", "-R", processFixture(t, "execs.c"), "thread")
	wantSummary(t, r, twistFound)
	if status != 66 {
		t.Errorf("exit status %d", status)
	}
	if p := r.Run.Processes; filepath.Base(r.Run.Program) != "setarch" || len(p) != 1 || !strings.Contains(filepath.Base(p[0].Program), "execs.c") {
		t.Errorf("program %s, processes %v", r.Run.Program, p)
	}
}

// TestExecFollowsAnExecveIntoTheUnobservable checks that a program continues after it
// has executed one that cannot be observed.
func TestExecFollowsAnExecveIntoTheUnobservable(t *testing.T) {
	needBPF(t)
	t.Parallel()
	launch := processFixture(t, "launch.c")
	c := startTool(t, childOptions{Stdin: strings.NewReader("")}, "exec", "--", launch, processFixture(t, "echo.c", "-static", "-s"), "7")
	c.want(7)
	if text := strings.Join(strings.Fields(c.err.String()), " "); !strings.Contains(text, "started as "+filepath.Base(launch)) || !strings.Contains(text, "is static and stripped") {
		t.Errorf("the report does not say what cannot be observed: %s", text)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexit 5\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	startTool(t, childOptions{}, "exec", "--", launch, script).want(5)
	startTool(t, childOptions{}, "exec", "--", launch, script+"-not-there").want(127)
}

// TestExecProgramThatCannotBeLoaded checks that a program that ends while it is loaded
// has a status and a report.
func TestExecProgramThatCannotBeLoaded(t *testing.T) {
	needBPF(t)
	t.Parallel()
	dir := t.TempDir()
	library := processFixture(t, "twistlib.c", "-shared", "-fPIC")
	lib := filepath.Join(dir, "libgone.so")
	if err := os.Symlink(library, lib); err != nil {
		t.Fatal(err)
	}
	program := processFixture(t, "ident.c", "-Wl,--no-as-needed", lib)
	if err := os.Remove(lib); err != nil {
		t.Fatal(err)
	}
	c := startTool(t, childOptions{}, "exec", "--", program)
	c.want(127)
	text := c.err.String()
	if !strings.Contains(text, "error while loading shared libraries") || !strings.Contains(text, "had not begun") || strings.Contains(text, "panic") {
		t.Errorf("standard error: %s", text)
	}
}

func TestRacingAccesses(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, sites := range []string{"cheap", "entry"} {
		t.Run(sites, func(t *testing.T) {
			status, r := reported(t, "exec", "--sites", sites, "--watch", "hits", "--", processFixture(t, "racer.c"))
			wantSummary(t, r, "predicted race of hits")
			if status != 66 || r.Run.Events < 20000 || r.Run.Threads != 3 {
				t.Errorf("status %d, %d events of %d threads", status, r.Run.Events, r.Run.Threads)
			}
		})
	}
}

// TestSignalThatEndedTheProgram checks that a report begins with the signal that ended the program,
// and the report of the trace too, and that a program which ends by itself has no such line.
func TestSignalThatEndedTheProgram(t *testing.T) {
	needBPF(t)
	t.Parallel()
	die, echo := processFixture(t, "die.c"), processFixture(t, "echo.c")
	const apart = "run it without tracepredict"
	for _, c := range []struct {
		name, how string
		status    int
		advice    bool
	}{
		{"SIGSEGV", "null", 128 + int(unix.SIGSEGV), true},
		{"SIGTRAP", strconv.Itoa(int(unix.SIGTRAP)), 128 + int(unix.SIGTRAP), true},
		{"SIGTERM", strconv.Itoa(int(unix.SIGTERM)), 128 + int(unix.SIGTERM), false},
		{"SIGKILL", strconv.Itoa(int(unix.SIGKILL)), 128 + int(unix.SIGKILL), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			live, file, again := filepath.Join(dir, "live"), filepath.Join(dir, "run.trace"), filepath.Join(dir, "again")
			tool := startTool(t, childOptions{}, "exec", "--record", file, "--output", live, "--", die, c.how)
			tool.want(c.status)
			line := fmt.Sprintf("was ended by signal %d (%s)", c.status-128, c.name)
			if !strings.Contains(tool.err.String(), line) {
				t.Errorf("standard error %q", tool.err.String())
			}
			text, err := os.ReadFile(live)
			first, rest, _ := strings.Cut(string(text), "\n")
			if err != nil || !strings.HasSuffix(first, line) || strings.Contains(rest, apart) != c.advice {
				t.Errorf("report %q, %v", text, err)
			}
			startTool(t, childOptions{}, "analyze", "--output", again, file).want(0)
			wantSameFile(t, live, again)
			startTool(t, childOptions{}, "analyze", "--format", "json", "--output", again, file).want(0)
			if s := readReport(t, again).Run.Signal; s == nil || s.Name != c.name || s.Number != c.status-128 {
				t.Errorf("JSON: %+v", s)
			}
		})
	}
	c := startTool(t, childOptions{Stdin: strings.NewReader("")}, "exec", "--", echo, "3")
	c.want(3)
	if strings.Contains(c.err.String(), "signal") {
		t.Errorf("a program that ended by itself: %s", c.err.String())
	}
}

// TestExecBytes checks that names and arguments of a program that are no UTF-8 reach it as they are.
func TestExecBytes(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := filepath.Join(t.TempDir(), "b\xff")
	if err := os.Link(build(t, "gcc", "seldom.c", "-O1", "-pthread"), program); err != nil {
		t.Skip(err)
	}
	_, r := reported(t, "exec", "--watch-shared=off", "--", program)
	wantSummary(t, r, "")
	c := startTool(t, childOptions{}, "exec", "--", "/bin/echo", "a\xffb")
	if c.wait(); c.out.String() != "a\xffb\n" {
		t.Errorf("the program printed %q", c.out.String())
	}
}
