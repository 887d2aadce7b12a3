package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProbableOrders checks that a race is only potential if the second thread waited until a system call of the
// first, or a process that this has woken, let it go on; that what the first did after that call is a race all
// the same; and that the race is likely if other calls let the second go on, or if the threads do the same again,
// unordered. The report of the trace is the same.
func TestProbableOrders(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "asks.c", "-O1", "-g", "-pthread")
	for _, c := range []struct{ how, before, reason string }{
		{"fifo", "potential", "openat(2) of T3, which probably ended its wait (the open of a FIFO"},
		{"inotify", "potential", "openat(2) of T3, which probably ended its wait (news by inotify"},
		{"child", "potential", "kill(2) of T3, which probably ended its wait (a wait for a child process"},
		{"pidfd", "potential", "which probably ended its wait (a wait for a descriptor of a kind that is not observed)"},
		{"filter", "potential", "write(2) of T3, which probably ended its wait (a receive from a process"},
		{"removed", "potential", "unlink(2) of T3, which changed what it asked for (loop that waits in waits at asks.c:"},
		{"size", "potential", "write(2) of T3, which changed what it asked for (loop"},
		{"closed", "potential", "close(2) of T3, which changed what it asked for (loop"},
		{"unrelated", "likely", "a wait for a child process that is not observed"},
		{"again", "likely", "loop that waits in waits at asks.c:"},
		{"look", "likely", "loop that waits in waits at asks.c:"},
		{"other", "likely", "loop that waits in waits at asks.c:"},
	} {
		t.Run(c.how, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "run.trace")
			_, live := reported(t, "exec", "--watch-shared=off", "--watch", "before", "--watch", "after", "--record", file, "--", program, c.how)
			confidences := map[string]string{}
			for _, f := range live.Findings {
				confidences[f.Objects[0]] = f.Confidence
				if f.Objects[0] == "before" && !strings.Contains(f.Reason, c.reason) {
					t.Errorf("the reason is %q, want %q", f.Reason, c.reason)
				}
			}
			want := map[string]string{"before": c.before, "after": "observed"}
			if diff := cmp.Diff(want, confidences); diff != "" {
				t.Errorf("expected (-), found (+):\n%s", diff)
			}
			_, again := reported(t, "analyze", file)
			if diff := cmp.Diff(live.Findings, again.Findings); diff != "" {
				t.Errorf("live (-), of the trace (+):\n%s", diff)
			}
		})
	}
}

// TestAnswersDecide checks that a loop which waits for what it computes of the kernel's answers keeps two threads
// apart, so that their deadlock is likely at most, or their race, also of what is accessed where the loop is left; and
// that a loop which asks, but counts its rounds, does not.
func TestAnswersDecide(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, level := range []string{"-O0", "-O2"} {
		program := build(t, "gcc", "answered.c", level, "-g", "-pthread")
		for way, want := range map[string]string{"status": "likely", "tasks": "likely", "kept": "likely", "rounds": "predicted", "skipped": "predicted"} {
			t.Run(level+" "+way, func(t *testing.T) {
				_, r := reported(t, "exec", "--watch-shared=off", "--", program, way)
				wantSummary(t, r, want+" deadlock of left, right")
			})
		}
		for way, want := range map[string]string{"status-tally": "likely", "rounds-tally": "predicted"} {
			t.Run(level+" "+way, func(t *testing.T) {
				_, r := reported(t, "exec", "--watch", "tally", "--", program, way)
				wantSummary(t, r, want+" race of tally")
			})
		}
	}
}

// TestRecordLocks checks that record locks of open files order threads in a program that makes no other channel.
func TestRecordLocks(t *testing.T) {
	needBPF(t)
	t.Parallel()
	_, report := reported(t, "exec", "--watch-shared=off", "--watch", "counter", "--", build(t, "gcc", "recordlocks.c", "-O1", "-g", "-pthread"), "locked")
	wantSummary(t, report, "")
	_, report = reported(t, "exec", "--watch-shared=off", "--watch", "counter", "--", build(t, "gcc", "recordlocks.c", "-O1", "-g", "-pthread"))
	if len(report.Findings) != 1 || report.Findings[0].Confidence == "potential" {
		t.Errorf("without locks: found %v", report.Findings)
	}
}

// TestAsksOnce checks that a thread which asks the kernel once whether something is there is taken to depend on whom has made
// it, so that a deadlock behind it is likely at most; and that it is predicted where no other thread has, or where the call
// succeeds in any case.
func TestAsksOnce(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "asks_once.c", "-O1", "-g", "-pthread")
	for way, want := range map[string]string{"there": "likely", "named": "likely", "own": "predicted", "before": "predicted", "shared": "predicted"} {
		t.Run(way, func(t *testing.T) {
			_, r := reported(t, "exec", "--", program, way)
			if got := r.summary(); !strings.HasPrefix(got, want+" deadlock") || len(r.Findings) != 1 {
				t.Errorf("findings: %q, want a %s deadlock (%q)", got, want, r.Run.Notes)
			}
		})
	}
}
