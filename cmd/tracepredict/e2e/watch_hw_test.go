package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/observer"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/probes"
)

// accesses returns the observed accesses of a variable by thread, in the form in which
// the fixtures of watchpoints print them.
func (r *run) accesses(s programLog, variable string) map[string][]string {
	n := r.names(s)
	frames := r.Link.Frames
	seen := map[string][]string{}
	for i := range r.Events {
		e := &r.Events[i]
		if info, _ := r.Observer.ObjectInfo(e.Object); !e.Op.IsAccess() || info.Name != variable {
			continue
		}
		line := fmt.Sprintf("%s %d", e.Op, int64(e.Value))
		if e.Flags&event.HasValue == 0 {
			line = fmt.Sprintf("%s ?", e.Op)
		}
		if e.Flags&event.Atomic != 0 {
			line += " atomic"
		}
		if e.Flags&event.Kernel != 0 {
			line += " by " + frames(e.Stack)[0].Function
		}
		name := n.threads[e.Thread]
		seen[name] = append(seen[name], line)
	}
	return seen
}

// TestWatchpointSeesAll checks that one access by each means, all through pointers, in
// threads created before and after, is one event with its value.
func TestWatchpointSeesAll(t *testing.T) {
	needBreakpoints(t)
	t.Parallel()
	for _, flags := range []string{"-O0", "-O2", "-O2 -static", "-O2 -no-pie"} {
		t.Run(flags, func(t *testing.T) {
			program := build(t, "gcc", "watched.c", append(strings.Fields(flags), "-pthread")...)
			r := observe(t, program, options{Hardware: []string{"shared"}})
			r.expectExit(t, 0)
			s := parseLog(t, r.Output)
			if diff := cmp.Diff(s.did, r.accesses(s, "shared")); diff != "" {
				t.Errorf("the program did (-), observed were (+):\n%s", diff)
			}
			if st := r.Observer.Stats(); st.Unclassified != 0 || st.Contradicted != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// TestWatchpointSystemCalls checks that the accesses by the kernel in one system call
// are one event.
func TestWatchpointSystemCalls(t *testing.T) {
	needBreakpoints(t)
	wantWatched(t, "syscalls.c", "shared")
}

// TestWatchpointSystemCallsThereAndBack checks that a system call that accesses two
// variables several times, or one that reads and writes, is one event for each
// variable.
func TestWatchpointSystemCallsThereAndBack(t *testing.T) {
	needBreakpoints(t)
	t.Parallel()
	wantWatched(t, "iovecs.c", "page.shared", "page.neighbour")
}

// TestWatchpointPacked checks a variable that needs two watchpoints.
func TestWatchpointPacked(t *testing.T) {
	needBreakpoints(t)
	wantWatched(t, "packed.c", "packed.value")
}

// wantWatched compares the accesses of a fixture's variable with those that the fixture
// prints, whichever others are watched.
func wantWatched(t *testing.T, source, variable string, others ...string) {
	t.Helper()
	r := observe(t, build(t, "gcc", source, "-O2", "-pthread"), options{Hardware: append(others, variable)})
	r.expectExit(t, 0)
	s := parseLog(t, r.Output)
	if diff := cmp.Diff(s.did, r.accesses(s, variable)); diff != "" {
		t.Errorf("the program did (-), observed were (+):\n%s", diff)
	}
	if st := r.Observer.Stats(); st.Unclassified != 0 {
		t.Errorf("of %d accesses it is not told what they were", st.Unclassified)
	}
}

// accessesIn counts the reads and writes of variables in a trace.
func accessesIn(t testing.TB, path string) (reads, writes int) {
	t.Helper()
	out := startTool(t, childOptions{}, "convert", "--to", "std", path, "-")
	out.want(0)
	text := out.out.String()
	return strings.Count(text, "|r("), strings.Count(text, "|w(")
}

func wantAccesses(t testing.TB, path string, n int) {
	t.Helper()
	if reads, writes := accessesIn(t, path); reads != n || writes != n {
		t.Errorf("%d reads and %d writes, want %d each", reads, writes, n)
	}
}

// startPointed starts the fixture without the tool.
func startPointed(t testing.TB) (c *child, pid int) {
	t.Helper()
	c = startChild(t, childOptions{}, processFixture(t, "pointed.c"))
	return c, lineNumber(t, c, "ready ")
}

// order sends the fixture a line and waits until it is carried out.
func order(c *child, line string) {
	c.t.Helper()
	c.send(line)
	c.waitLine("done " + line)
}

// freeRegisters returns how many watchpoints a thread can still have.
func freeRegisters(t testing.TB, tid int) int {
	t.Helper()
	const all = 4
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_BREAKPOINT, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: 1, Bp_type: 3, Ext1: 0x1000, Ext2: 1, Bits: unix.PerfBitDisabled}
	n := 0
	for ; n < all; n++ {
		fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			break
		}
		defer unix.Close(fd)
	}
	return n
}

func wantRegistersFree(t testing.TB, pid int) {
	t.Helper()
	poll(t, "four watchpoints to be free", func() bool { return freeRegisters(t, pid) == 4 })
}

// TestWatchpointAttached checks threads that exist before, threads that are created
// later, and those created while the watchpoints are set.
func TestWatchpointAttached(t *testing.T) {
	needBreakpoints(t)
	needBPF(t)
	t.Parallel()
	server, pid := startPointed(t)
	server.send("storm")
	server.waitLine("begun")
	path := filepath.Join(t.TempDir(), "trace")
	tool, _ := attachTo(t, pid, "--watch-hw", "shared", "--record", path)
	order(server, "release")
	order(server, "touch 20")
	order(server, "spawn 30")
	order(server, "fork 40") // from another process
	tool.signal(unix.SIGINT)
	tool.want(0)
	wantAccesses(t, path, 400+20+30)
	wantLeftAlone(t, pid)
	wantRegistersFree(t, pid)
	server.want(0)
}

// TestWatchpointsGoWithTheTool checks that the watchpoints are removed when the tool is
// killed while it sets them.
func TestWatchpointsGoWithTheTool(t *testing.T) {
	needBreakpoints(t)
	needBPF(t)
	t.Parallel()
	server, pid := startPointed(t)
	tool, _ := attachTo(t, pid, "--watch-hw", "shared")
	if n := freeRegisters(t, pid); n != 3 {
		t.Errorf("%d watchpoints are free, want 3", n)
	}
	server.send("spawn 2000")
	tool.signal(unix.SIGKILL)
	tool.want(128 + int(unix.SIGKILL))
	server.waitLine("done spawn 2000")
	wantLeftAlone(t, pid)
	wantRegistersFree(t, pid)
	server.want(0)
}

// TestWatchpointExecve checks that the watchpoints of a program end with it, and that
// the next program of the process has its own.
func TestWatchpointExecve(t *testing.T) {
	needBreakpoints(t)
	needBPF(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace")
	tool := startTool(t, childOptions{}, "exec", "--watch-hw", "shared", "--record", path, "--", processFixture(t, "pointed.c"))
	pid := lineNumber(t, tool, "ready ")
	order(tool, "touch 10")
	tool.send("exec 5")
	tool.waitLine("executed")
	if n := freeRegisters(t, pid); n != 3 {
		t.Errorf("%d watchpoints are free, want 3", n)
	}
	order(tool, "spawn 3")
	tool.send("quit")
	tool.want(0)
	wantAccesses(t, path, 10+5+3)
}

// TestWatchpointFollow checks that children have watchpoints of their own from their
// first instruction on.
func TestWatchpointFollow(t *testing.T) {
	needBreakpoints(t)
	needBPF(t)
	t.Parallel()
	for _, follow := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "trace")
		args := []string{"exec", "--watch-hw", "shared", "--record", path}
		want := 10
		if follow {
			args, want = append(args, "--follow"), want+7
		}
		tool := startTool(t, childOptions{}, append(args, "--", processFixture(t, "pointed.c"))...)
		tool.waitLine("ready ")
		order(tool, "fork 7")
		order(tool, "touch 10")
		tool.send("quit")
		tool.want(0)
		wantAccesses(t, path, want)
	}
}

// TestWatchpointThreads creates very many threads, each with one access.
func TestWatchpointThreads(t *testing.T) {
	needBreakpoints(t)
	needBPF(t)
	t.Parallel()
	for _, flags := range [][]string{{"--ring", "16"}, {"--ring", "1", "--lossy"}} {
		path := filepath.Join(t.TempDir(), "trace")
		tool := startTool(t, childOptions{}, slices.Concat([]string{"exec", "--watch-hw", "shared", "--record", path}, flags, []string{"--", processFixture(t, "pointed.c")})...)
		pid := lineNumber(t, tool, "ready ")
		order(tool, "spawn 2000")
		if n := freeRegisters(t, pid); n != 3 {
			t.Errorf("%d watchpoints are free, want 3", n)
		}
		tool.send("quit")
		tool.want(0)
		if reads, writes := accessesIn(t, path); (reads != 2000 || writes != 2000) && strings.Contains(tool.err.String(), "nothing lost") {
			t.Errorf("%s: %d reads and %d writes, want 2000 each", flags, reads, writes)
		}
	}
}

// TestWatchpointUnexplainedTrap checks that a debug exception for which the kernel found no cause
// does not end a program that has watchpoints, and that a SIGTRAP of its own does.
func TestWatchpointUnexplainedTrap(t *testing.T) {
	needBreakpoints(t)
	needBPF(t)
	t.Parallel()
	const trap = 128 + int(unix.SIGTRAP)
	for _, c := range []struct {
		reason  string
		watched bool
		want    int
	}{
		{"unexplained", true, 0},
		{"unexplained", false, trap},
		{"raise", true, trap},
		{"int1", true, trap},
		{"int3", true, trap},
		{"step", true, trap},
	} {
		t.Run(fmt.Sprint(c.reason, " ", c.watched), func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "report")
			args := []string{"exec", "--format", "json", "--output", report}
			if c.watched {
				args = append(args, "--watch-hw", "shared")
			}
			tool := startTool(t, childOptions{}, append(args, "--", processFixture(t, "trapped.c"))...)
			tool.waitLine("ready ")
			tool.send(c.reason)
			tool.send("quit")
			tool.want(c.want)
			wantLost := 0
			if c.watched && c.want == 0 {
				wantLost = 1
			}
			if r := readLossy(t, report); r.Run.Lost != wantLost {
				t.Errorf("%d events are lost, want %d", r.Run.Lost, wantLost)
			}
		})
	}
}

// TestWatchpointUnexplainedTrapAttached checks the same for an attached program, which is traced
// only in a virtual machine.
func TestWatchpointUnexplainedTrapAttached(t *testing.T) {
	needBreakpoints(t)
	needBPF(t)
	t.Parallel()
	server := startChild(t, childOptions{}, processFixture(t, "trapped.c"))
	pid := lineNumber(t, server, "ready ")
	tool, report := attachTo(t, pid, "--watch-hw", "shared")
	if threadStates(pid, "TracerPid")[0] == "0" {
		t.Skip("not in a virtual machine: the program is not traced")
	}
	order(server, "unexplained")
	tool.signal(unix.SIGINT)
	tool.want(0)
	if r := readLossy(t, report); r.Run.Lost != 1 {
		t.Errorf("%d events are lost, want 1", r.Run.Lost)
	}
	wantLeftAlone(t, pid)
	server.send("quit")
	server.want(0)
}

// TestWatchpointTraced checks that a program that a debugger traces gets no watchpoint in a
// virtual machine.
func TestWatchpointTraced(t *testing.T) {
	needBreakpoints(t)
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "gdb")
	server, pid := startPointed(t)
	gdb := startChild(t, childOptions{}, "gdb", "-nx", "-q", "-iex", "set debuginfod enabled off",
		"-ex", "set confirm off", "-ex", "set pagination off", "-p", fmt.Sprint(pid))
	gdb.send("continue")
	poll(t, "gdb to let the program go", func() bool { return strings.Contains(gdb.out.String(), "Continuing.") && !stopped(pid) })
	tool := startTool(t, childOptions{}, "attach", "--watch-hw", "shared", "--duration", "1s", "-p", fmt.Sprint(pid))
	if status := tool.wait(); status == 0 {
		t.Skip("not in a virtual machine: the watchpoint is set")
	}
	tool.want(125)
	if text := tool.err.String(); !strings.Contains(text, "is traced by gdb") || !strings.Contains(text, "detach the debugger") {
		t.Errorf("it says %s", text)
	}
	wantChoice(t, pid, "shared is watched by probes, though they do not see all its accesses: process")
	gdb.cmd.Process.Kill()
	gdb.wait()
	server.send("quit")
	server.want(0)
}

// TestWatchpointCapabilities checks that CAP_PERFMON suffices.
func TestWatchpointCapabilities(t *testing.T) {
	needBreakpoints(t)
	t.Parallel()
	needRoot(t)
	tool := toolWithFileCapabilities(t, "cap_bpf,cap_perfmon,cap_sys_ptrace+ep")
	program := processFixture(t, "pointed.c")
	dir := nobodysDir(t)
	path := filepath.Join(dir, "trace")
	x := startChild(t, childOptions{}, append(asNobody(""), tool, "exec", "--watch-hw", "shared", "--record", path, "--", program)...)
	x.waitLine("ready ")
	order(x, "touch 9")
	x.send("quit")
	x.want(0)
	wantAccesses(t, path, 9)
}

// TestWatchpointLibrary checks the variable of a library that is unloaded, whose memory
// may be reused, and loaded again.
func TestWatchpointLibrary(t *testing.T) {
	needBreakpoints(t)
	needBPF(t)
	t.Parallel()
	library := processFixture(t, "hidden.c", "-shared", "-fPIC")
	server := startChild(t, childOptions{Env: []string{"LIBRARY=" + library}}, processFixture(t, "pointed.c"))
	pid := lineNumber(t, server, "ready ")
	order(server, "load")
	path := filepath.Join(t.TempDir(), "trace")
	tool, _ := attachTo(t, pid, "--watch-hw", "hidden", "--record", path)
	order(server, "touch 3")
	server.send("unload")
	wantRegistersFree(t, pid)
	order(server, "touch 4") // the program's own variable
	server.send("load")
	poll(t, "the watchpoint", func() bool { return freeRegisters(t, pid) == 3 })
	order(server, "spawn 5")
	tool.signal(unix.SIGINT)
	tool.want(0)
	wantAccesses(t, path, 3+5)
	server.want(0)
}

// TestWatchpointTaken checks that, where another tool uses the processor's watchpoints,
// --watch uses probes and reports the reason, and --watch-hw fails with it.
func TestWatchpointTaken(t *testing.T) {
	needBreakpoints(t)
	needBPF(t)
	t.Parallel()
	server, pid := startPointed(t)
	var fds []int
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_BREAKPOINT, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: 1, Bp_type: 3, Ext1: 0x1000, Ext2: 1, Bits: unix.PerfBitDisabled}
	for range 4 {
		fd, err := unix.PerfEventOpen(&attr, pid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		fds = append(fds, fd)
	}
	tool := startTool(t, childOptions{}, "attach", "--watch-hw", "shared", "-p", fmt.Sprint(pid))
	tool.want(125)
	if text := tool.err.String(); !strings.Contains(text, "no hardware watchpoint left") || !strings.Contains(text, "a debugger?") {
		t.Errorf("it says %s", text)
	}
	wantLeftAlone(t, pid)
	wantChoice(t, pid, "shared is watched by probes, though they do not see all its accesses: thread")
	for _, fd := range fds {
		unix.Close(fd)
	}
	wantChoice(t, pid, "shared is watched by a hardware watchpoint, since probes do not see all its accesses")
	wantChoice(t, pid, "pointers are not seen", "--no-watch-hw")
	wantRegistersFree(t, pid)
	server.want(0)
}

// wantChoice checks the note on how --watch watches the fixture's variable.
func wantChoice(t testing.TB, pid int, note string, args ...string) {
	t.Helper()
	tool, report := attachTo(t, pid, append([]string{"--watch", "shared"}, args...)...)
	tool.signal(unix.SIGINT)
	tool.want(0)
	if notes := strings.Join(readReport(t, report).Run.Notes, "\n"); !strings.Contains(notes, note) {
		t.Errorf("notes: %s\nwant: %s", notes, note)
	}
}

// TestWatchpointCrossCheck checks that probes and watchpoints observe, in one run, the
// same reads and writes of each thread, with the same values in the same order.
func TestWatchpointCrossCheck(t *testing.T) {
	needBreakpoints(t)
	t.Parallel()
	for _, flags := range []string{"-O0", "-O2", "-O3 -no-pie"} {
		for _, entry := range []bool{false, true} {
			t.Run(fmt.Sprint(flags, entry), func(t *testing.T) { crossCheck(t, flags, entry) })
		}
	}
}

func crossCheck(t *testing.T, flags string, entry bool) {
	program := build(t, "gcc", "plainly.c", append(strings.Fields(flags), "-pthread")...)
	var seen [2]recordLog
	var split *splitter
	for tries := 0; split == nil || split.run.Result.Lost.Records > 0; tries++ {
		if tries == 5 {
			t.Fatal("each of five runs lost records")
		}
		seen = [2]recordLog{}
		split = &splitter{logs: &seen}
		split.run = observe(t, program, options{Watch: []string{"plain"}, Hardware: []string{"plain"}, EntrySites: entry, Tap: split.record, MayLose: true})
		split.run.expectExit(t, 0)
	}
	if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
		t.Errorf("probes (-), watchpoints (+):\n%s", diff)
	}
	var want int
	if _, err := fmt.Sscanf(split.run.Output, "accesses %d", &want); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, lines := range seen[0] {
		n += len(lines)
	}
	if n != want {
		t.Errorf("%d accesses seen, the program made %d", n, want)
	}
}

// recordLog has the accesses of each thread.
type recordLog map[uint32][]string

// splitter separates the records of probes from those of watchpoints.
type splitter struct {
	run  *run
	logs *[2]recordLog
}

func (s *splitter) record(r *run, rec *bpf.Record) {
	site := r.Session.Site(rec.Site)
	if site == nil || site.Variable != "plain" {
		return
	}
	i, op := 0, bpf.Op(rec.Op).String()
	if site.Program == probes.ProgramWatch {
		i = 1
		op = r.Link.Touch(observer.Trap{TGID: rec.Tgid, Site: rec.Site, IP: rec.Extra, Object: rec.Object,
			Source: rec.Result&bpf.TouchSource != 0, Dest: rec.Result&bpf.TouchDest != 0}).Op.String()
	}
	line := op + " ?"
	if rec.Flags&bpf.RecValue != 0 {
		line = fmt.Sprintf("%s %d", op, rec.Value)
	}
	if s.logs[i] == nil {
		s.logs[i] = recordLog{}
	}
	s.logs[i][rec.Tid] = append(s.logs[i][rec.Tid], line)
}
