package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/observer/event"
)

// callStacksOf returns the distinct call stacks of a run's events of an operation,
// innermost first, as names of functions.
func callStacksOf(r *run, op event.Op) []string {
	names := r.Link
	var out []string
	for i := range r.Events {
		e := &r.Events[i]
		if e.Op != op || e.Stack == 0 {
			continue
		}
		var chain []string
		for _, f := range names.Frames(e.Stack) {
			function, _, _ := strings.Cut(f.Function, "(")
			chain = append(chain, function)
		}
		if text := strings.Join(chain, " "); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// wantCallStacks checks that there are call stacks that contain the given functions in
// order, with any others between them.
func wantCallStacks(t *testing.T, chains []string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !slices.ContainsFunc(chains, func(c string) bool { return hasSubsequence(strings.Fields(c), strings.Fields(w)) }) {
			t.Errorf("no chain passes through %s:\n%s", w, strings.Join(chains, "\n"))
		}
	}
	for _, c := range chains {
		f := strings.Fields(c)
		if hasSubsequence(f, slices.Repeat([]string{"bottomless"}, 20)) {
			continue // more than is copied of a stack
		}
		if last := f[len(f)-1]; last != "_start" && last != "main" && !strings.HasPrefix(last, "clone") && last != "__clone" {
			t.Errorf("a call stack ends in %s: %s", last, c)
		}
	}
}

// hasSubsequence reports whether a call stack contains the given functions in this order,
// perhaps with others in between.
func hasSubsequence(chain, through []string) bool {
	for _, f := range chain {
		if len(through) > 0 && f == through[0] {
			through = through[1:]
		}
	}
	return len(through) == 0
}

// withoutFramePointers returns compiler flags.
func withoutFramePointers(more ...string) []string {
	return append([]string{"-O2", "-fomit-frame-pointer", "-pthread"}, more...)
}

// TestChains checks that each call stack ends in the first function of the program or
// of the thread, through code of the C library, which has no frame pointers.
func TestChains(t *testing.T) {
	t.Parallel()
	r := observe(t, build(t, "gcc", "stacks/stacks.c", withoutFramePointers()...), options{})
	deep := strings.Repeat(" deep", 11)
	wantCallStacks(t, callStacksOf(r, event.Acquire),
		"pthread_mutex_lock nest compare qsort_r"+deep+" main _start",
		"pthread_mutex_lock nest first run start_thread",
		"pthread_mutex_lock handler raise interrupted main _start",
		"pthread_mutex_lock handler"+strings.Repeat(" bottomless", 20))
	wantCallStacks(t, callStacksOf(r, event.Fork), "main _start")
	wantCallStacks(t, callStacksOf(r, event.Join), "main _start")
}

// TestChainsCPlusPlus checks the same through the C++ library, also while an exception
// is caught.
func TestChainsCPlusPlus(t *testing.T) {
	t.Parallel()
	r := observe(t, build(t, "g++", "stacks/stacks.cc", withoutFramePointers()...), options{})
	wantCallStacks(t, callStacksOf(r, event.Acquire), "touch below sorted main _start", "touch only __pthread_once_slow start_thread", "touch thrower main _start")
}

// TestChainsStatic checks the same for a static program, which contains the C library.
func TestChainsStatic(t *testing.T) {
	t.Parallel()
	r := observe(t, build(t, "gcc", "stacks/stacks.c", withoutFramePointers("-static")...), options{})
	wantCallStacks(t, callStacksOf(r, event.Acquire), "nest compare deep main _start", "nest first run start_thread", "handler raise interrupted main _start")
}

// TestChainsThroughReturnProbes checks that return addresses that the return probes of
// others have replaced are restored.
func TestChainsThroughReturnProbes(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "bpftrace")
	program := build(t, "gcc", "stacks/stacks.c", withoutFramePointers()...)
	script := ""
	for _, f := range []string{"nest", "compare", "deep", "main", "first", "run"} {
		script += "uretprobe:" + program + ":" + f + " { @[probe] = count(); } "
	}
	foreign := command(t, "bpftrace", "-e", `BEGIN { printf("ready\n"); } `+script)
	stdout, err := foreign.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = foreign.Process.Kill()
		_ = foreign.Wait()
	}()
	waitFor(t, stdout, "ready")
	r := observe(t, program, options{})
	wantCallStacks(t, callStacksOf(r, event.Acquire),
		"pthread_mutex_lock nest compare qsort_r deep deep deep main _start",
		"pthread_mutex_lock nest first run start_thread")
}

// waitFor reads until a line contains a text.
func waitFor(t *testing.T, from io.Reader, text string) {
	t.Helper()
	for lines := bufio.NewScanner(from); lines.Scan(); {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	t.Fatalf("nobody said %q", text)
}

// TestChainsOfWrappers checks that call stacks that differ only in outer callers are
// distinct, in several threads and in one, although all frames have the same size.
func TestChainsOfWrappers(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"-O0", "-O2"} {
		t.Run(level, func(t *testing.T) {
			r := observe(t, build(t, "gcc", "stacks/wrapped.c", "-g", level, "-fno-ipa-icf", "-pthread"), options{Watch: []string{"counter"}})
			locked, written := callStacksOf(r, event.Acquire), slices.Concat(callStacksOf(r, event.Write), callStacksOf(r, event.Update))
			for _, caller := range []string{"first begin_first", "second begin_second", "first main", "second main", "third main"} {
				for _, wrappers := range []string{"lock_1", "lock_1 lock_2", "lock_1 lock_2 lock_3"} {
					wantCallStacks(t, locked, "pthread_mutex_lock "+wrappers+" "+caller)
				}
				wantCallStacks(t, written, "count "+caller)
			}
			locked = slices.DeleteFunc(locked, func(c string) bool { return !strings.Contains(c, "lock_1") }) // calls of the dynamic loader
			if len(locked) != 15 || len(written) != 5 {
				t.Errorf("there are more chains than the program has:\n%s\n%s", strings.Join(locked, "\n"), strings.Join(written, "\n"))
			}
		})
	}
}

// TestChainsThroughProbedCalls checks that call stacks are told apart by calls that have probes themselves.
func TestChainsThroughProbedCalls(t *testing.T) {
	needBPF(t)
	t.Parallel()
	report := filepath.Join(t.TempDir(), "report.json")
	startTool(t, childOptions{}, "exec", "--fail-on=never", "--format", "json", "--output", report, "--", build(t, "gcc", "stacks/pointed.c", "-O1", "-g", "-pthread")).want(0)
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Findings []struct {
			Evidence []struct {
				Thread int
				Stack  []struct{ Function string }
			}
		}
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, f := range r.Findings {
		for _, e := range f.Evidence {
			caller := e.Stack[0].Function
			if caller == "set" {
				caller = e.Stack[1].Function
				calls++
			}
			if want := []string{2: "early", 3: "late"}[e.Thread]; caller != want {
				t.Errorf("an access of T%d is in %s, want %s: %v", e.Thread, caller, want, e.Stack)
			}
		}
	}
	if calls == 0 {
		t.Errorf("no access is that of set:\n%s", text)
	}
}

// TestChainsOfPackage checks that the call stacks of a program of Debian, stripped and
// without frame pointers, reach the first function of the program or thread.
func TestChainsOfPackage(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "pbzip2")
	program, err := exec.LookPath("pbzip2")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, bytes.Repeat([]byte("some text, and more of it\n"), 20000), 0o644); err != nil {
		t.Fatal(err)
	}
	r := observe(t, program, options{Args: []string{"-p2", "-b1", "-f", file}})
	if places, whole := r.Session.CallStackCounts(); places < 20 || whole != places {
		t.Errorf("of %d chains %d reach the first function:\n%s", places, whole, strings.Join(slices.Concat(callStacksOf(r, event.Acquire), callStacksOf(r, event.Signal), callStacksOf(r, event.Fork), callStacksOf(r, event.Release)), "\n"))
	}
}
