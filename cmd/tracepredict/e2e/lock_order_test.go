package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestProgressReportsNewLockOrders(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	tool, report := attachTo(t, pid, "--progress")
	server.ask("twist")
	poll(t, "two lock orders", func() bool { return tool.err.has("tracepredict: new lock order (2)") || tool.hasEnded() })
	server.ask("twist") // nothing new
	tool.signal(unix.SIGINT)
	tool.want(66)
	wantSummary(t, readReport(t, report), twistFound)
	text := tool.err.String()
	for _, want := range []string{"T5 left_first takes 'right_lock' in left_first at twist.h:21 while it holds 'left_lock' from twist.h:20", "takes 'left_lock' in"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "new lock order"); n != 2 {
		t.Errorf("%d lock orders, want 2:\n%s", n, text)
	}
	server.want(0)
}

func TestAttachUntilItSettles(t *testing.T) {
	needBPF(t)
	t.Parallel()
	server, pid := startServer(t)
	tool, report := attachTo(t, pid, "--settle", "10ms")
	tool.want(0)
	if notes := strings.Join(readReport(t, report).Run.Notes, "\n"); !strings.Contains(notes, "no new lock order for 10ms (--settle)") {
		t.Errorf("notes: %s", notes)
	}
	wantLeftAlone(t, pid)
	server.ask("twist")
	server.want(0)
}

// pruned runs an example with --explain-pruned, and analyses its trace likewise.
func pruned(t *testing.T, name string, flags ...string) (text string, r jsonReport) {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	live := startTool(t, childOptions{}, append(append([]string{"exec", "--watch-shared=off", "--explain-pruned", "--record", trace}, flags...), "--", example(t, name))...)
	live.wait()
	again := startTool(t, childOptions{}, append([]string{"analyze", "--explain-pruned", trace}, flags...)...)
	again.wait()
	if atTheEnd(live.err.String()) != again.err.String() {
		t.Errorf("analyze says\n%s", again.err.String())
	}
	_, r = reported(t, append(append([]string{"analyze", "--explain-pruned"}, flags...), trace)...)
	return atTheEnd(live.err.String()), r
}

func TestExplainPruned(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for name, want := range map[string][3]string{ // the reason, and parts of the text
		"gate":       {"gate-lock", "two of them hold 'gate'", "'a' at gate.c:"},
		"selfinvert": {"one-thread", "there are not enough threads", "selfinvert.c:"},
		"joined":     {"ordered", "ordered by the join of T", "in main at joined.c:"},
	} {
		t.Run(name, func(t *testing.T) {
			text, r := pruned(t, name)
			whole := strings.Join(strings.Fields(text), " ")
			for _, part := range want {
				if !strings.Contains(whole, part) {
					t.Errorf("no %q in\n%s", part, text)
				}
			}
			if len(r.Findings) != 0 || len(r.Pruned) != 1 || r.Pruned[0].Kind != "deadlock" || r.Pruned[0].Why != want[0] {
				t.Errorf("findings %v, pruned %+v", r.Findings, r.Pruned)
			}
			if !r.Run.LockOrder.Complete || r.Run.LockOrder.Nestings < 2 {
				t.Errorf("lock order: %+v", r.Run.LockOrder)
			}
		})
	}
}

// TestExplainValue checks that the value of a watched variable that decides adds an order, and is
// named; and that the value of a counter, which goes only back into the counter, adds none.
func TestExplainValue(t *testing.T) {
	needBPF(t)
	t.Parallel()
	status, r := reported(t, "exec", "--explain-pruned", "--watch", "set", "--", build(t, "gcc", "swapped.c", "-O1", "-g", "-pthread"))
	var whys []string
	for _, p := range r.Pruned {
		whys = append(whys, p.Kind+" "+p.Why)
	}
	if want := []string{"deadlock ordered", "race common-lock"}; status != 0 || len(r.Findings) != 0 || !slices.Equal(whys, want) {
		t.Fatalf("status %d, findings %v, pruned %+v", status, r.Findings, r.Pruned)
	}
	if got, want := r.Pruned[0].Message, "ordered by the value of 'set' that T3 reads in waits at swapped.c:32"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q in it", got, want)
	}
	_, r = reported(t, "exec", "--watch", "entries", "--", example(t, "shop"))
	wantSummary(t, r, "predicted deadlock of ledger, stock")
}

// TestBoundsOfLockOrder checks that the report says when a bound is reached.
func TestBoundsOfLockOrder(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for flag, want := range map[string]string{
		"--cycle-budget": "the search for deadlocks ended at its budget",
		"--max-patterns": "there was no room",
	} {
		_, r := pruned(t, "shop", flag, "1")
		if notes := strings.Join(r.Run.Notes, "\n"); !strings.Contains(notes, want) || r.Run.LockOrder.Complete {
			t.Errorf("%s: lock order %+v, notes %q", flag, r.Run.LockOrder, notes)
		}
		if len(r.Pruned) != 1 || r.Pruned[0].Why != "budget" {
			t.Errorf("%s: pruned %+v", flag, r.Pruned)
		}
	}
}

// TestBoundOfReversals checks the same for the search for schedules in which critical
// sections are reordered.
func TestBoundOfReversals(t *testing.T) {
	needBPF(t)
	t.Parallel()
	_, r := pruned(t, "errand", "--reversals", "1")
	if notes := strings.Join(r.Run.Notes, "\n"); !strings.Contains(notes, "a larger --reversals may settle them") || len(r.Findings) != 1 || r.Findings[0].Confidence != "potential" {
		t.Errorf("notes %q, findings %+v", notes, r.Findings)
	}
}

// TestReadersBehindAWriter checks that the kind of a lock, which is read from its
// memory, or else the policy determines whether readers of one lock can block each
// other.
func TestReadersBehindAWriter(t *testing.T) {
	needBPF(t)
	t.Parallel()
	readers := build(t, "gcc", "lock_order/readers.c", "-O2", "-fno-omit-frame-pointer", "-pthread")
	again := build(t, "gcc", "lock_order/read_again.c", "-O2", "-fno-omit-frame-pointer", "-pthread")
	for name, tc := range map[string]struct {
		program []string
		queues  bool
		sides   int
		shown   bool // a schedule shows it, where the lock's kind says that the reader waits
	}{
		"initialised for writers":  {[]string{readers}, true, 3, false},
		"read again":               {[]string{again}, false, 2, false},
		"read again, for writers":  {[]string{again, "2"}, true, 2, true},   // PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
		"read again, for both (1)": {[]string{again, "1"}, false, 2, false}, // PTHREAD_RWLOCK_PREFER_WRITER_NP
	} {
		t.Run(name, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "trace")
			status, live := reported(t, append([]string{"exec", "--record", trace, "--"}, tc.program...)...)
			wantQueue(t, "exec", status, live, tc.queues, tc.sides, tc.shown, "PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, as its memory said")
			for policy, queues := range map[string]bool{"auto": tc.queues, "reader": false, "writer": true} {
				status, r := reported(t, "analyze", "--rwlock-policy", policy, trace)
				why := "as its memory said"
				if policy == "writer" {
					why = "--rwlock-policy writer"
				}
				wantQueue(t, policy, status, r, queues, tc.sides, tc.shown, why)
			}
		})
	}
}

// wantQueue checks whether the report has the deadlock of a reader behind a writer, with its reason if
// no schedule shows it.
func wantQueue(t *testing.T, how string, status int, r jsonReport, queues bool, sides int, shown bool, why string) {
	t.Helper()
	if !queues {
		if status != 0 || len(r.Findings) != 0 {
			t.Errorf("%s: status %d, findings %+v", how, status, r.Findings)
		}
		return
	}
	if status != 66 || len(r.Findings) != 1 {
		t.Errorf("%s: status %d, findings %+v", how, status, r.Findings)
		return
	}
	confidence := "potential"
	if shown {
		confidence, why = "predicted", ""
	}
	if f := r.Findings[0]; f.Kind != "deadlock" || f.Confidence != confidence || len(f.Evidence) != sides || !strings.Contains(f.Reason, why) {
		t.Errorf("%s: %+v", how, f)
	}
}

// TestRAX observes the program of the paper with its 40 other threads: the race is
// found, the thread that created the two racing ones matters for it, and the others do
// not.
func TestRAX(t *testing.T) {
	needBPF(t)
	t.Parallel()
	c := startTool(t, childOptions{}, "exec", "--watch", "count of struct event", "--", example(t, "rax"))
	c.want(66)
	whole := strings.Join(strings.Fields(c.err.String()), " ")
	for _, want := range []string{"in news at rax.c:49", "other threads: T1 main thread created T2; 40 have nothing to do with it"} {
		if !strings.Contains(whole, want) {
			t.Errorf("no %q in\n%s", want, c.err.String())
		}
	}
	_, r := reported(t, "exec", "--watch", "count of struct event", "--", example(t, "rax"))
	r.Findings = slices.DeleteFunc(r.Findings, func(f jsonFinding) bool { return f.Kind == "deadlock" && f.Confidence == "likely" }) // the missed signal, which needs some luck
	if len(r.Findings) != 1 || len(r.Findings[0].Depends) != 1 || r.Findings[0].Depends[0].How != "creates" || r.Findings[0].Depends[0].Thread != 1 {
		t.Errorf("%+v", r.Findings)
	}
}

// TestDeadlockOfStaticPrograms checks that the variables by which a C library counts
// threads and keeps their stacks add no order, and that a program that contains its C library
// has the findings of one that does not.
func TestDeadlockOfStaticPrograms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, compiler, flags, want string }{
		{"glibc", "gcc", "", "likely deadlock of a, b"},
		{"glibc, static", "gcc", "-static", "likely deadlock of a, b"},
		{"musl, static", "musl-gcc", "-static", "likely deadlock of a, b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			needBPF(t)
			program := build(t, c.compiler, "apart.c", append(strings.Fields(c.flags), "-O1", "-g", "-pthread")...)
			if _, r := reported(t, "exec", "--watch-shared=off", "--", program); r.summary() != c.want {
				t.Errorf("%s, not %s", r.summary(), c.want)
			}
		})
	}
}
