package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/observer/event"
)

// libcs are the ways to build a fixture. The test of an operation runs with each of
// them.
var libcs = []struct {
	name     string
	compiler string
	flags    []string
}{
	{"glibc", "gcc", []string{"-pthread"}},
	{"glibc-O2", "gcc", []string{"-pthread", "-O2"}},
	{"glibc-static", "gcc", []string{"-pthread", "-static"}},
	{"musl", "musl-gcc", nil},
	{"musl-static", "musl-gcc", []string{"-static"}},
}

// expectLogs runs a fixture with each libc, with the two main ones at both placements of
// the probes, and compares the events with the program's log.
func expectLogs(t *testing.T, source string) {
	t.Helper()
	t.Parallel()
	for _, libc := range libcs {
		t.Run(libc.name, func(t *testing.T) {
			program := build(t, libc.compiler, source, libc.flags...)
			if libc.name != "glibc" && libc.name != "musl" {
				observe(t, program, options{}).expectLog(t)
				return
			}
			eachSites(t, func(t *testing.T, opts options) {
				observe(t, program, opts).expectLog(t)
			})
		})
	}
}

func TestMutex(t *testing.T)   { expectLogs(t, "mutex.c") }
func TestKinds(t *testing.T)   { expectLogs(t, "kinds.c") }
func TestRWLock(t *testing.T)  { expectLogs(t, "rwlock.c") }
func TestCond(t *testing.T)    { expectLogs(t, "cond.c") }
func TestBarrier(t *testing.T) { expectLogs(t, "barrier.c") }
func TestSpin(t *testing.T)    { expectLogs(t, "spin.c") }
func TestSem(t *testing.T)     { expectLogs(t, "sem.c") }
func TestOnce(t *testing.T)    { expectLogs(t, "once.c") }
func TestC11(t *testing.T)     { expectLogs(t, "c11.c") }
func TestJoin(t *testing.T)    { expectLogs(t, "join.c") }
func TestExit(t *testing.T)    { expectLogs(t, "exits.c") }

// TestOwnerDead checks that the next thread that locks a robust mutex whose owner died
// acquires it.
func TestOwnerDead(t *testing.T) {
	t.Parallel()
	for _, libc := range libcs {
		t.Run(libc.name, func(t *testing.T) {
			program := build(t, libc.compiler, "ownerdead.c", libc.flags...)
			eachSites(t, func(t *testing.T, opts options) {
				r := observe(t, program, opts)
				r.expectExit(t, 0)
				want := map[string]int{
					"init plain": 1, "acquire plain": 2, "release plain": 1,
					"init tried": 1, "acquire tried": 1, "acquire tried try": 1, "release tried": 1,
					"init recursive": 1, "acquire recursive": 2, "release recursive": 1,
					"init lost": 1, "acquire lost": 2, "acquire-failed lost": 1, "release lost": 1, "release-inconsistent lost": 1,
				}
				got := r.tally(t)
				for name := range got {
					if strings.HasSuffix(name, " inferred") { // release by the thread that died
						delete(got, name)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("did (-), observed (+):\n%s", diff)
				}
			})
		})
	}
}

// TestHundredThreads checks that threads that have the same pthread_t one after the
// other are different threads, and that each join finds the right one.
func TestHundredThreads(t *testing.T) { expectLogs(t, "hundred.c") }

const inNamespace = "TRACEPREDICT_TEST_IN_NAMESPACE"

// TestThreadIDsUsedAgain checks that threads that have the same id one after the
// other are different threads. It runs, with the tool, in a PID namespace of
// its own, so as not to use up the machine's ids.
func TestThreadIDsUsedAgain(t *testing.T) {
	needBPF(t)
	t.Parallel()
	if os.Getenv(inNamespace) == "" {
		runInNamespace(t)
		return
	}
	r := observe(t, build(t, "gcc", "hundred.c", "-pthread"), options{Args: []string{"again"}})
	r.expectLog(t)
	if ids := len(parseLog(t, r.Output).threads); ids > 80 {
		t.Errorf("101 threads had %d ids: the test shows little", ids)
	}
}

// runInNamespace runs the calling test alone in a new PID namespace.
func runInNamespace(t *testing.T) {
	t.Helper()
	needUnshare(t, "--pid", "--fork", "--mount-proc")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "unshare", "--pid", "--fork", "--mount-proc", self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	text, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "--- PASS: "+t.Name()) {
		t.Errorf("in a namespace: %v\n%s", err, text)
	}
}

// tally returns the number of events of each operation on each named object.
func (r *run) tally(t *testing.T) map[string]int {
	t.Helper()
	n := r.names(parseLog(t, r.Output))
	counts := map[string]int{}
	for i := range r.Events {
		if e := &r.Events[i]; e.Object != 0 && !strings.HasPrefix(n.objects[e.Object], "?") {
			counts[n.line(e)]++
		}
	}
	return counts
}

// TestCounts checks that no event is missing from the first lock, in a constructor, to
// the last one, in a destructor.
func TestCounts(t *testing.T) {
	t.Parallel()
	testtool.Need(t, "gcc")
	library := build(t, "gcc", "countlib.c", "-shared", "-fPIC", "-pthread")
	program := build(t, "gcc", "count.c", "-pthread", "-DWITH_LIBRARY", library)
	eachSites(t, func(t *testing.T, opts options) {
		r := observe(t, program, opts)
		r.expectExit(t, 0)
		want := map[string]int{
			"acquire m": 4001, "release m": 4001,
			"acquire early": 2, "release early": 2,
			"acquire library": 1, "release library": 1,
		}
		if diff := cmp.Diff(want, r.tally(t)); diff != "" {
			t.Errorf("did (-), observed (+):\n%s", diff)
		}
		if r.count(event.Fork) != 2 || r.count(event.Join) != 2 || r.count(event.Begin) != 3 || r.count(event.End) != 3 {
			t.Errorf("forks %d, joins %d, begins %d, ends %d", r.count(event.Fork), r.count(event.Join), r.count(event.Begin), r.count(event.End))
		}
	})
}

// TestCountsMusl checks that each lock is one event although musl's lock function calls
// its public timed lock function under contention.
func TestCountsMusl(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"-static"}} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			program := build(t, "musl-gcc", "count.c", flags...)
			eachSites(t, func(t *testing.T, opts options) {
				r := observe(t, program, opts)
				r.expectExit(t, 0)
				want := map[string]int{"acquire m": 4001, "release m": 4001, "acquire early": 2, "release early": 2}
				if diff := cmp.Diff(want, r.tally(t)); diff != "" {
					t.Errorf("did (-), observed (+):\n%s", diff)
				}
			})
		})
	}
}
