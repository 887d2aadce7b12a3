package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/loader"
)

// wantProcesses checks that each thread of each finding is in one of the processes that
// the report lists, and returns these.
func wantProcesses(t testing.TB, r jsonReport) []int {
	t.Helper()
	var pids []int
	known := map[int]bool{}
	for _, p := range r.Run.Processes {
		pids = append(pids, p.PID)
		known[p.PID] = true
	}
	for _, f := range r.Findings {
		for _, th := range f.Threads {
			if !known[th.PID] {
				t.Errorf("thread %d is of process %d, which is none of %v", th.Thread, th.PID, pids)
			}
		}
	}
	return pids
}

// TestFollowForks checks that forked children are held and observed from their first
// instruction on.
func TestFollowForks(t *testing.T) {
	needBPF(t)
	t.Parallel()
	report := filepath.Join(t.TempDir(), "report.json")
	c := startTool(t, childOptions{}, "exec", "--follow", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", report, "--", processFixture(t, "forks.c"))
	c.want(66)
	r := readReport(t, report)
	wantFound(t, r, twistFound)
	if r.Findings[0].Count != 2 { // one finding in each of two children
		t.Errorf("found %d times, want 2", r.Findings[0].Count)
	}
	if pids := wantProcesses(t, r); len(pids) < 7 || pids[0] != r.Run.PID {
		t.Errorf("processes %v of %d", pids, r.Run.PID)
	}
}

// TestUnobservedChildrenAreNoted checks that children are not observed without --follow, nor those
// that the program had before the observation, and that notes say so.
func TestUnobservedChildrenAreNoted(t *testing.T) {
	needBPF(t)
	t.Parallel()
	report := filepath.Join(t.TempDir(), "report.json")
	startTool(t, childOptions{}, "exec", "--format", "json", "--output", report, "--", processFixture(t, "forks.c")).want(0)
	const want = "6 processes that the program started were not observed: --follow observes such too"
	if notes := readReport(t, report).Run.Notes; !slices.Contains(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	server, pid := startServer(t)
	server.send("fork")
	child := lineNumber(t, server, "child ")
	tool, report := attachTo(t, pid)
	tool.signal(unix.SIGINT)
	tool.want(0)
	told := fmt.Sprintf("process %d, which it had started before, is not observed: attach to it", child)
	if notes := readReport(t, report).Run.Notes; !slices.Contains(notes, told) {
		t.Errorf("notes %q, want %q", notes, told)
	}
	server.send("go")
	server.waitLine("done fork")
	server.want(0)
}

// TestFollowPrograms checks that what children execute is observed as a program of its
// own: two programs, at the same addresses.
func TestFollowPrograms(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "setarch")
	report := filepath.Join(t.TempDir(), "report.json")
	c := startTool(t, childOptions{}, "exec", "--follow", "--watch", "hits", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", report, "--",
		"setarch", "-R", "sh", "-c", `"$0" thread & "$1"; wait`, processFixture(t, "execs.c"), processFixture(t, "racer.c"))
	c.want(66)
	r := readReport(t, report)
	wantFound(t, r, twistFound, "predicted race of hits")
	wantProcesses(t, r)
	programs := map[string]bool{}
	for _, p := range r.Run.Processes {
		programs[filepath.Base(p.Program)] = true
	}
	for _, source := range []string{"execs.c", "racer.c"} {
		if !programs[filepath.Base(processFixture(t, source))] {
			t.Errorf("%s is none of the programs %v", source, programs)
		}
	}
	for _, f := range r.Findings {
		for _, step := range f.Evidence {
			if len(step.Stack) == 0 || !strings.HasSuffix(step.Stack[0].File, ".c") && !strings.HasSuffix(step.Stack[0].File, ".h") {
				t.Errorf("%s: a step at %+v", f, step.Stack)
			}
		}
	}
}

// TestFollowAttached checks that a note says what is missed: the children of an
// attached program are not held, so that what they do first is not observed.
func TestFollowAttached(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	tool, report := attachTo(t, pid, "--follow")
	server.send("fork")
	child := lineNumber(t, server, "child ")
	poll(t, "probes in the child", func() bool { return len(linksOf(t, child)) >= len(linksOf(t, pid)) })
	server.send("go")
	server.waitLine("done fork")
	tool.signal(unix.SIGINT)
	tool.want(66)
	r := readReport(t, report)
	wantFound(t, r, strings.Replace(twistFound, "predicted", "likely", 1)) // what it did first is not known
	if pids := wantProcesses(t, r); fmt.Sprint(pids) != fmt.Sprint([]int{pid, child}) {
		t.Errorf("processes %v, want %d and %d", pids, pid, child)
	}
	if notes := strings.Join(r.Run.Notes, "\n"); !strings.Contains(notes, fmt.Sprintf("process %d was forked", child)) {
		t.Errorf("notes: %s", notes)
	}
	wantLeftAlone(t, pid)
	server.want(0)
}

// TestFollowLeavesTheRest checks that the observation ends with the first process,
// which children may outlive.
func TestFollowLeavesTheRest(t *testing.T) {
	needBPF(t)
	t.Parallel()
	dir := t.TempDir()
	report, end := filepath.Join(dir, "report.json"), filepath.Join(dir, "end")
	if err := unix.Mkfifo(end, 0o600); err != nil {
		t.Fatal(err)
	}
	c := startTool(t, childOptions{}, "exec", "--follow", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", report, "--",
		"sh", "-c", `{ echo "child $(exec sh -c 'echo $PPID')"; cat <"$0" >/dev/null; "$1" twist; } & while ! [ -e "$0.go" ]; do sleep 0.01; done`, end, processFixture(t, "execs.c"))
	pid := lineNumber(t, c, "child ")
	if err := os.WriteFile(end+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	poll(t, "the report", func() bool { return !exists(c.pid()) || c.hasEnded() })
	notes := strings.Join(readReport(t, report).Run.Notes, "\n")
	if !strings.Contains(notes, "no longer observed") {
		t.Errorf("notes: %s", notes)
	}
	wantLeftAlone(t, pid)
	if err := os.WriteFile(end, []byte("go"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.waitLine("twisted")
}

func exists(pid int) bool { return unix.Kill(pid, 0) == nil }

// TestAccountingOfAFamily lets several processes fill the ring buffer: all wait, and no
// event of any is lost.
func TestAccountingOfAFamily(t *testing.T) {
	needBPF(t)
	const children, threads, pairs = 3, 2, 120_000 // no process ends before half of the ring buffer is full
	y := newTally()
	r := startObserving(t, false, loader.Options{Handler: y, Follow: true},
		processFixture(t, "family.c"), fmt.Sprint(children), fmt.Sprint(threads), fmt.Sprint(pairs))
	await(t, "a reader that blocks", y.blocking, nil)
	poll(t, "the wait of all", func() bool {
		family := append(childrenOf(r.pid), r.pid)
		return len(family) == 1+children && !slices.ContainsFunc(family, func(pid int) bool { return !isHeld(pid) })
	})
	close(y.unblock)
	wantAllAccounted(t, y, r, r.end(t), (1+children)*threads, pairs)
	if r.result.Lost != (loader.Lost{}) {
		t.Errorf("lost: %+v (%q)", r.result.Lost, r.session.Notes())
	}
}

// childrenOf returns the children of a process that have not ended.
func childrenOf(pid int) (children []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		raw, err := os.ReadFile(name)
		if err != nil {
			continue // the process has ended
		}
		var child, parent int
		var state string
		after := string(raw[strings.LastIndexByte(string(raw), ')')+1:])
		fmt.Sscan(after, &state, &parent)
		fmt.Sscan(string(raw), &child)
		if parent == pid && state != "Z" {
			children = append(children, child)
		}
	}
	return children
}

// TestFollowSharedMemory checks that a lock in memory that processes share is one lock, and that its copies
// in memory of their own are several. The end of the child orders those who wait for it.
func TestFollowSharedMemory(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := processFixture(t, "shared.c")
	status, r := reported(t, "exec", "--follow", "--confidence", "potential", "--", program)
	if status != 66 || len(r.Findings) != 1 {
		t.Fatalf("status %d, findings %+v", status, r.Findings)
	}
	if f := r.Findings[0]; f.Kind != "deadlock" || f.Confidence != "likely" || !strings.Contains(f.Reason, "several processes") {
		t.Errorf("%s %s: %s (%s)", f.Confidence, f.Kind, f.Message, f.Reason)
	}
	for _, mode := range []string{"private", "waited"} {
		if status, r := reported(t, "exec", "--follow", "--confidence", "potential", "--fail-on", "potential", "--", program, mode); status != 0 || len(r.Findings) != 0 {
			t.Errorf("%s: status %d, findings %+v", mode, status, r.Findings)
		}
	}
}
