package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// usualBound is how long a test or a subtest may take, unless it calls atMost. The tests
// share a machine, which may be loaded: alone, most need a second or two.
const usualBound = time.Minute

// bound is the time by which a test must have ended. It begins when the test first
// starts a program or waits for one, so that the wait of a parallel test for its turn
// does not count. At its end the test fails with what it waited for and with what its
// processes do. It fails by t.Fatal, since after the panic of a package's time limit
// nothing is known of the other tests.
type bound struct {
	end     time.Time
	allowed time.Duration
	mu      sync.Mutex // guards what follows; no other lock is acquired while it is held
	started []int      // the processes that the test has started
}

// bounds has the *bound of each testing.TB that runs.
var bounds sync.Map

func boundOf(t testing.TB) *bound {
	known, there := bounds.Load(t) // first, since most calls find it
	if !there {
		known, there = bounds.LoadOrStore(t, &bound{end: time.Now().Add(usualBound), allowed: usualBound})
		if !there {
			t.Cleanup(func() { bounds.Delete(t) })
		}
	}
	return known.(*bound)
}

// atMost allows a test more than usualBound; why says what takes so long.
func atMost(t testing.TB, allowed time.Duration, why string) {
	t.Helper()
	if allowed <= usualBound || why == "" {
		t.Fatalf("atMost wants more than %v and a reason, not %v, %q", usualBound, allowed, why)
	}
	b := boundOf(t)
	b.end, b.allowed = b.end.Add(allowed-b.allowed), allowed
}

// owns notes a process that the test has started.
func (b *bound) owns(pid int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started = append(b.started, pid)
}

// kill ends the processes that the test has started.
func (b *bound) kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, pid := range b.started {
		_ = unix.Kill(pid, unix.SIGKILL) // if it has ended meanwhile, that is as good
	}
}

// fail ends the test, whose bound is over.
func (b *bound) fail(t testing.TB, what string) {
	t.Helper()
	b.mu.Lock()
	started := slices.Clone(b.started)
	b.mu.Unlock()
	t.Fatalf("waited in vain for %s: the test may take %v (see atMost)\n%s", what, b.allowed, describeProcesses(started))
}

// poll waits for something that another process does: it calls cond until that returns
// true, or the test's bound is over.
func poll(t testing.TB, what string, cond func() bool) {
	t.Helper()
	b := boundOf(t)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for ; !cond(); <-tick.C {
		if time.Now().After(b.end) {
			b.fail(t, what)
		}
	}
}

// await waits until done is closed, or the test's bound is over. Then it calls stop, if
// that is not nil, before it fails.
func await(t testing.TB, what string, done <-chan struct{}, stop func()) {
	t.Helper()
	b := boundOf(t)
	timer := time.NewTimer(time.Until(b.end))
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		if stop != nil {
			defer stop()
		}
		b.fail(t, what)
	}
}

// command returns a command that is killed when the test's bound is over.
func command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	b := boundOf(t)
	ctx, cancel := context.WithDeadlineCause(context.Background(), b.end, fmt.Errorf("the test may take %v (see atMost)", b.allowed))
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	return cmd
}

// describeProcesses says what the processes and their descendants do: of programs, what
// each thread waits for, as the tool's own hang reports it. A tool is told to print its
// goroutines on its standard error, which ends it.
func describeProcesses(pids []int) string {
	var text strings.Builder
	tool, _ := buildTool()
	families := descendants(pids)
	var tools []int
	for _, pid := range families {
		path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err != nil {
			continue // it has ended
		}
		if path == tool {
			tools = append(tools, pid)
			continue
		}
		fmt.Fprintf(&text, "process %d, %s:\n%s\n", pid, path, hangReport(tool, pid))
	}
	for _, pid := range tools {
		fmt.Fprintf(&text, "process %d is the tool: its goroutines are in its standard error\n", pid)
		_ = unix.Kill(pid, unix.SIGABRT) // if it has ended meanwhile, that is as good
	}
	if text.Len() == 0 {
		return "none of the test's processes is left"
	}
	return text.String()
}

func hangReport(tool string, pid int) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, "hang", "--findings-exit", "0", strconv.Itoa(pid))
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%shang: %v\n%s", out, err, kernelWaits(pid))
	}
	return string(out)
}

// descendants returns the processes and all that they have started, directly or not,
// without those that have ended.
func descendants(pids []int) []int {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		pid, parent, ok := parseStat(string(text))
		if ok {
			children[parent] = append(children[parent], pid)
		}
	}
	var all []int
	for todo := slices.Clone(pids); len(todo) > 0; todo = todo[1:] {
		if !slices.Contains(all, todo[0]) {
			all = append(all, todo[0])
			todo = append(todo, children[todo[0]]...)
		}
	}
	return all
}

// parseStat returns the first and the fourth field of a /proc/PID/stat. The second one,
// a name in parentheses, may hold anything.
func parseStat(text string) (pid, parent int, ok bool) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return 0, 0, false
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) < 2 {
		return 0, 0, false
	}
	pid, err1 := strconv.Atoi(strings.TrimSpace(text[:open]))
	parent, err2 := strconv.Atoi(fields[1])
	return pid, parent, err1 == nil && err2 == nil
}

// failing is a testing.TB that records how a test fails instead of failing.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Helper()        {}
func (f *failing) Cleanup(func()) {}
func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	panic(f)
}

// TestBound checks that a test whose bound is over says what it waited for, and what
// its processes do.
func TestBound(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := startChild(t, childOptions{}, hangsFixture(t, "gcc"), "abba")
	awaitAsleep(t, lineNumber(t, program, "ready "))
	f := &failing{TB: t}
	b := boundOf(f)
	b.end = time.Now()
	b.owns(program.pid())
	func() {
		defer func() {
			if r := recover(); r != f {
				panic(r)
			}
		}()
		await(f, "what never comes", nil, nil)
	}()
	for _, want := range []string{"waited in vain for what never comes: the test may take 1m0s", "waits for 'a'", "waits for 'b'"} {
		if !strings.Contains(f.text, want) {
			t.Errorf("no %q in %s", want, f.text)
		}
	}
	program.signal(unix.SIGKILL)
}
