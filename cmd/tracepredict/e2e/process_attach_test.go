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

// attachTo starts the tool on a running program and waits until it observes the
// program.
func attachTo(t testing.TB, pid int, args ...string) (c *child, report string) {
	t.Helper()
	report = filepath.Join(t.TempDir(), "report.json")
	words := append([]string{"attach", "-p", strconv.Itoa(pid), "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", report}, args...)
	c = startTool(t, childOptions{}, words...)
	waitObserving(t, c)
	if len(args) == 0 && mapsExe(pid) && len(linksOf(t, pid)) == 0 {
		t.Error("no link for the process is to be seen in the kernel")
	}
	return c, report
}

// mapsExe reports whether /proc shows the program of a process. It does not once the
// first thread has ended; then links have no filter by process.
func mapsExe(pid int) bool {
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil
}

func waitObserving(t testing.TB, c *child) {
	t.Helper()
	poll(t, "the probes", func() bool { return c.err.has("tracepredict: observing ") || c.hasEnded() })
	if c.hasEnded() {
		t.Fatalf("it ended: %s", c.err.String())
	}
}

// startServer starts testdata/process/server.c, which carries out the commands that it
// reads.
func startServer(t testing.TB) (c *child, pid int) {
	t.Helper()
	c = startChild(t, childOptions{}, processFixture(t, "server.c"))
	return c, lineNumber(t, c, "ready ")
}

func (c *child) ask(command string) {
	c.t.Helper()
	c.send(command)
	c.waitLine("done " + command)
}

func TestAttachUntilInterrupted(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, s := range []unix.Signal{unix.SIGINT, unix.SIGTERM} {
		t.Run(s.String(), func(t *testing.T) {
			server, pid := startServer(t)
			tool, report := attachTo(t, pid)
			server.ask("twist")
			tool.signal(s)
			tool.want(66)
			r := readReport(t, report)
			wantTwist(t, r)
			if r.Run.PID != pid {
				t.Errorf("the report is about process %d, want %d", r.Run.PID, pid)
			}
			wantLeftAlone(t, pid)
			server.ask("visit") // the process continues, and its threads work
			server.want(0)
		})
	}
}

func TestAttachUntilTheProgramEnds(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	tool, report := attachTo(t, pid)
	server.ask("twist")
	server.send("quit")
	server.want(0)
	tool.want(66)
	wantTwist(t, readReport(t, report))
}

func TestAttachUntilTheProgramIsKilled(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	tool, report := attachTo(t, pid)
	server.ask("twist")
	server.signal(unix.SIGKILL)
	server.want(128 + int(unix.SIGKILL))
	tool.want(66)
	wantTwist(t, readReport(t, report))
}

func TestAttachDuration(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	tool, report := attachTo(t, pid, "--duration", "10ms")
	tool.want(0)
	wantSummary(t, readReport(t, report), "")
	wantLeftAlone(t, pid)
	server.ask("twist")
	server.want(0)
}

// TestAttachJoinsEarlierThreads checks that threads that existed before are known by
// their thread pointers: their events come before those that follow the joins.
func TestAttachJoinsEarlierThreads(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	tool, report := attachTo(t, pid, "--watch", "visits")
	server.ask("join")
	tool.signal(unix.SIGINT)
	tool.want(0)
	r := readReport(t, report)
	wantSummary(t, r, "")
	if r.Run.Threads != 4 {
		t.Errorf("%d threads, want 4", r.Run.Threads)
	}
	for _, note := range r.Run.Notes {
		if strings.Contains(note, "join") {
			t.Errorf("note: %s", note)
		}
	}
}

func TestAttachWatchesAVariable(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	tool, report := attachTo(t, pid, "--watch", "visits")
	server.ask("visit")
	tool.signal(unix.SIGINT)
	tool.want(66)
	wantSummary(t, readReport(t, report), "predicted race of visits")
	server.want(0)
}

// TestAttachWhileALockIsHeld lets a thread release, under observation, a lock that it
// acquired before.
func TestAttachWhileALockIsHeld(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	tool, report := attachTo(t, pid)
	server.ask("release")
	server.ask("twist")
	tool.signal(unix.SIGINT)
	tool.want(66)
	wantTwist(t, readReport(t, report))
	server.want(0)
}

func TestAttachTwiceAtOnce(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	first, firstReport := attachTo(t, pid)
	second, secondReport := attachTo(t, pid)
	server.ask("twist")
	first.signal(unix.SIGINT)
	first.want(66)
	server.ask("visit")
	second.signal(unix.SIGINT)
	second.want(66)
	for _, report := range []string{firstReport, secondReport} {
		wantTwist(t, readReport(t, report))
	}
	wantLeftAlone(t, pid)
	server.want(0)
}

// TestAttachToAnObservedProgram attaches to a program that runs under exec.
func TestAttachToAnObservedProgram(t *testing.T) {
	needBPF(t)
	t.Parallel()
	report := filepath.Join(t.TempDir(), "exec.json")
	c := startTool(t, childOptions{}, "exec", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", report, "--", processFixture(t, "server.c"))
	pid := lineNumber(t, c, "ready ")
	tool, attached := attachTo(t, pid)
	c.ask("twist")
	tool.signal(unix.SIGINT)
	tool.want(66)
	c.want(66)
	wantTwist(t, readReport(t, attached))
	wantTwist(t, readReport(t, report))
}

// TestAttachWithoutTheFirstThread attaches to a process whose first thread has ended while others run, and looks at
// another process of the same program: it has breakpoints only where the user allows it. The program is static, lest the
// test put probes into everybody's C library.
func TestAttachWithoutTheFirstThread(t *testing.T) {
	needBPF(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "leaderless")
	copyFile(t, processFixture(t, "leaderless.c", "-static"), path)
	for _, touch := range []bool{false, true} {
		program, bystander := startChild(t, childOptions{}, path), startChild(t, childOptions{}, path)
		program.waitLine("leaderless")
		bystander.waitLine("leaderless")
		startTool(t, childOptions{}, "hang", fmt.Sprint(program.pid())).want(0)
		var flags []string
		if touch {
			flags = append(flags, "--touch-other-processes")
		}
		tool, report := attachTo(t, program.pid(), flags...)
		if touched := !codeIntact(t, bystander.pid()); touched != touch {
			t.Errorf("flags %q: the other process has breakpoints: %v", flags, touched)
		}
		program.send("go on")
		program.want(0)
		tool.want(66)
		wantTwist(t, readReport(t, report))
		wantLeftAlone(t, bystander.pid())
		bystander.send("go on")
		bystander.want(0)
	}
}

// TestAttachUntilTheOldestThreadEnds: probes of a process without its first thread are tied to the oldest one, and the
// observation ends with it. The process goes on without breakpoints.
func TestAttachUntilTheOldestThreadEnds(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := startChild(t, childOptions{}, processFixture(t, "leaderless.c", "-static"), "-leave")
	program.waitLine("leaderless")
	tool, report := attachTo(t, program.pid())
	program.send("go on")
	program.waitLine("left")
	tool.want(66)
	r := readReport(t, report)
	wantTwist(t, r)
	if !slices.ContainsFunc(r.Run.Notes, func(n string) bool { return strings.Contains(n, "the observation with it") }) {
		t.Errorf("notes: %q", r.Run.Notes)
	}
	wantLeftAlone(t, program.pid())
	program.send("go on")
	program.want(0)
}

// TestAttachToAStoppedProgram checks that a stopped process can be observed, and stays
// stopped.
func TestAttachToAStoppedProgram(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	server.signal(unix.SIGSTOP)
	poll(t, "the stop", func() bool { return stopped(pid) })
	tool, report := attachTo(t, pid)
	if !stopped(pid) {
		t.Error("attaching made it run")
	}
	server.signal(unix.SIGCONT)
	server.ask("twist")
	tool.signal(unix.SIGINT)
	tool.want(66)
	// Where the stop met a thread between two naps, or in one that another stop had interrupted, it may have
	// returned from another call, which makes the finding likely.
	r := readReport(t, report)
	if got := strings.Replace(r.summary(), "likely", "predicted", 1); got != twistFound {
		t.Errorf("findings: %q, want %q or likely (notes: %q)", r.summary(), twistFound, r.Run.Notes)
	}
	server.want(0)
}

// TestAttachToReplacedFiles checks that the observed program and library are those that
// run, even if the files were removed or replaced since.
func TestAttachToReplacedFiles(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, replaced := range []bool{false, true} {
		t.Run(fmt.Sprintf("replaced %v", replaced), func(t *testing.T) { attachToReplaced(t, replaced) })
	}
}

func attachToReplaced(t *testing.T, replaced bool) {
	dir := t.TempDir()
	program, library := filepath.Join(dir, "server"), filepath.Join(dir, "libtwist.so")
	copyFile(t, processFixture(t, "server.c"), program)
	copyFile(t, processFixture(t, "twistlib.c", "-shared", "-fPIC"), library)
	server := startChild(t, childOptions{Env: []string{"LD_PRELOAD=" + library}}, program)
	pid := lineNumber(t, server, "ready ")
	for _, path := range []string{program, library} {
		if replaced {
			copyFile(t, path, path+".new")
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	tool, report := attachTo(t, pid, "--watch", "visits", "--sync", writeTable(t, twistTable))
	if replaced && (len(probesIn(t, program))+len(probesIn(t, library)) > 0) {
		t.Error("there are probes in a file that nobody runs")
	}
	server.ask("visit")
	server.ask("twist")
	server.ask("library")
	tool.signal(unix.SIGINT)
	tool.want(66)
	r := readReport(t, report)
	wantFound(t, r, twistFound, "predicted race of visits", "predicted deadlock of north.gate, south.gate")
	if r.Run.Program != program {
		t.Errorf("the report is about %s, want %s", r.Run.Program, program)
	}
	wantLeftAlone(t, pid)
	server.want(0)
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
}

// needUnshare skips the test if such namespaces cannot be created: by an ordinary user,
// or in a chroot whose root is no mount point.
func needUnshare(t testing.TB, flags ...string) {
	t.Helper()
	testtool.Need(t, "unshare")
	c := startChild(t, childOptions{}, append(append([]string{"unshare"}, flags...), "true")...)
	if c.wait() != 0 {
		t.Skipf("no namespaces here: %s", strings.TrimSpace(c.err.String()))
	}
}

func TestToolInAPIDNamespace(t *testing.T) {
	needBPF(t)
	t.Parallel()
	needUnshare(t, "--pid", "--fork", "--mount-proc")
	report := filepath.Join(t.TempDir(), "report.json")
	c := startChild(t, childOptions{}, "unshare", "--pid", "--fork", "--mount-proc", toolPath(t),
		"exec", "--watch", "tickets", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", report, "--", example(t, "shop"))
	c.want(66)
	r := readReport(t, report)
	wantFound(t, r, "predicted deadlock of ledger, stock", "predicted race of tickets")
	if r.Run.Threads != 3 || r.Run.PID > 100 {
		t.Errorf("%d threads, process %d: not those of the namespace", r.Run.Threads, r.Run.PID)
	}
	for _, f := range r.Findings {
		for _, th := range f.Threads {
			if th.TID < r.Run.PID || th.TID > r.Run.PID+1000 {
				t.Errorf("thread %d has the id %d, far from its process %d", th.Thread, th.TID, r.Run.PID)
			}
		}
	}
}

// TestAttachIntoNamespaces runs the program in namespaces of its own. All ids in the
// report are those that the tool sees.
func TestAttachIntoNamespaces(t *testing.T) {
	needBPF(t)
	t.Parallel()
	needUnshare(t, "--pid", "--fork", "--mount-proc")
	server := startChild(t, childOptions{}, "unshare", "--mount", "--pid", "--fork", processFixture(t, "server.c"))
	if inner := lineNumber(t, server, "ready "); inner != 1 {
		t.Fatalf("it is process %d of its namespace", inner)
	}
	pid := childOf(t, server.pid())
	tool, report := attachTo(t, pid, "--watch", "visits")
	server.ask("twist")
	server.ask("visit")
	tool.signal(unix.SIGINT)
	tool.want(66)
	r := readReport(t, report)
	wantFound(t, r, twistFound, "predicted race of visits")
	for _, f := range r.Findings {
		for _, th := range f.Threads {
			if th.TID < 100 {
				t.Errorf("thread %d has the id %d, one of the inner namespace", th.Thread, th.TID)
			}
		}
	}
	server.want(0)
}

// TestAttachIntoAnotherRoot checks that the program and its library are found, and
// named, in the program's own root directory, as in a container.
func TestAttachIntoAnotherRoot(t *testing.T) {
	needBPF(t)
	t.Parallel()
	needUnshare(t, "--pid", "--fork", "--mount-proc")
	server := startChild(t, childOptions{}, "unshare", "--mount", "--pid", "--fork", "sh", "-c",
		`mount -t tmpfs none /mnt && cp "$0" /mnt/server && cp "$1" /mnt/libtwist.so && LD_PRELOAD=/mnt/libtwist.so exec /mnt/server`,
		processFixture(t, "server.c"), processFixture(t, "twistlib.c", "-shared", "-fPIC"))
	server.waitLine("ready ")
	pid := childOf(t, server.pid())
	tool, report := attachTo(t, pid, "--watch", "visits", "--sync", writeTable(t, twistTable))
	server.ask("visit")
	server.ask("library")
	tool.signal(unix.SIGINT)
	tool.want(66)
	r := readReport(t, report)
	wantFound(t, r, "predicted race of visits", "predicted deadlock of north.gate, south.gate")
	if r.Run.Program != "/mnt/server" {
		t.Errorf("the report is about %s", r.Run.Program)
	}
	wantLeftAlone(t, pid)
	server.want(0)
}

// wantTwist checks that a report has the deadlock of the two locks of twist.h. It may be likely, and a note says why, if
// a thread of the server was looked at between two naps, or in one that a debugger had interrupted: it may have returned
// from any call then.
func wantTwist(t testing.TB, r jsonReport) {
	t.Helper()
	likely := strings.Replace(twistFound, "predicted", "likely", 1)
	doubt := func(note string) bool { return strings.Contains(note, "a call that was under way") }
	if r.summary() != likely || !slices.ContainsFunc(r.Run.Notes, doubt) {
		wantSummary(t, r, twistFound)
	}
}

// ownLibrary builds a library of testdata/process that no other test uses.
func ownLibrary(t testing.TB, source string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "library.so")
	copyFile(t, processFixture(t, source, "-shared", "-fPIC"), path)
	return path
}

// waitProbesIn waits until all probes are in a file that only this test uses. They come in several links, one
// after the other. args are the flags that determine where the probes sit.
func waitProbesIn(t testing.TB, path string, args ...string) {
	t.Helper()
	all := len(probedAddresses(t, args, path))
	poll(t, fmt.Sprintf("%d probes in %s", all, path), func() bool { return len(probesIn(t, path)) >= all })
}

// probedAddresses returns the addresses in a file of which sites says that they get probes.
func probedAddresses(t testing.TB, args []string, path string) map[string]bool {
	t.Helper()
	sites := startTool(t, childOptions{}, append(append([]string{"sites"}, args...), path)...)
	sites.want(0)
	at := map[string]bool{}
	for line := range strings.Lines(sites.out.String()) {
		if addr, _, _ := strings.Cut(line, " "); strings.HasPrefix(addr, "0x") {
			at[addr] = true
		}
	}
	return at
}
