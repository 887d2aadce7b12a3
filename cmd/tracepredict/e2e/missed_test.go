package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAsleep checks threads that sleep until a signal comes, which may come before they sleep, and innocent ones: whose
// signal is blocked until they sleep, whose signal is sent until they say that it has come, whose handlers do all the
// work, and which a timer or another signal wakes in any case.
func TestAsleep(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "asleep.c", "-O1", "-g", "-pthread")
	for _, how := range []string{"flag", "once"} {
		t.Run(how, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "trace")
			status, r := reported(t, "exec", "--record", trace, "--", program, how)
			wantSummary(t, r, "likely deadlock of signal 10")
			if status != 66 || !strings.Contains(r.Findings[0].Message, "for ever: T1 sends it 'signal 10' at asleep.c:") {
				t.Errorf("status %d, %q", status, r.Findings[0].Message)
			}
			_, again := reported(t, "analyze", trace)
			wantSummary(t, again, "likely deadlock of signal 10")
		})
	}
	for _, how := range []string{"suspend", "again", "handlers", "timer", "more"} {
		t.Run(how, func(t *testing.T) {
			status, r := reported(t, "exec", "--", program, how)
			wantSummary(t, r, "")
			if status != 0 {
				t.Errorf("status %d", status)
			}
		})
	}
}

// TestPermits checks eventfds and semaphores of System V that are used as locks, nested in opposite orders, their twins, and
// innocent uses: of two permits, without waiting, and to hand over.
func TestPermits(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "permits.c", "-O1", "-g", "-pthread")
	for _, c := range []struct{ what, found, name string }{
		{"semaphore", "predicted deadlock of eventfd 3, eventfd 4", "holds 'eventfd 3' and waits for 'eventfd 4' at permits.c:"},
		{"plain", "predicted deadlock of eventfd 3, eventfd 4", "holds 'eventfd 3' and waits for 'eventfd 4' at permits.c:"},
		{"made", "predicted deadlock of eventfd 3, eventfd 4", "holds 'eventfd 3' and waits for 'eventfd 4' at permits.c:"},
		{"set", "predicted deadlock of semaphore 0 of set ", "holds 'semaphore 0 of set "},
	} {
		t.Run(c.what, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "trace")
			status, r := reported(t, "exec", "--record", trace, "--", program, c.what)
			if got := r.summary(); status != 66 || !strings.HasPrefix(got, c.found) || !strings.Contains(r.Findings[0].Message, c.name) {
				t.Errorf("status %d, %q", status, got)
			}
			if _, again := reported(t, "analyze", trace); !strings.HasPrefix(again.summary(), c.found) {
				t.Errorf("from the trace %q", again.summary())
			}
			status, r = reported(t, "exec", "--", program, c.what, "same")
			wantSummary(t, r, "")
			if status != 0 {
				t.Errorf("status %d of the twin", status)
			}
		})
	}
	for _, what := range []string{"many", "back", "hands"} {
		t.Run(what, func(t *testing.T) {
			status, r := reported(t, "exec", "--confidence", "potential", "--", program, what)
			wantSummary(t, r, "")
			if status != 0 {
				t.Errorf("status %d", status)
			}
		})
	}
}

// TestUnnotified checks stores to an atomic variable that nobody is notified of, although a thread may wait until it
// changes, and innocent ones: that are notified, by the same thread or another one, that come before the wait in every
// schedule, and that a loop looks for.
func TestUnnotified(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, level := range []string{"-O0", "-O2"} {
		program := build(t, "g++", "unnotified.cc", "-std=c++20", level, "-g", "-pthread")
		t.Run(level, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "trace")
			status, r := reported(t, "exec", "--record", trace, "--", program, "silent")
			wantSummary(t, r, "likely deadlock of opened")
			if status != 66 || !strings.Contains(r.Findings[0].Message, "T3 can wait until 'opened' changes at unnotified.cc:") {
				t.Errorf("status %d, %q", status, r.Findings)
			}
			_, again := reported(t, "analyze", trace)
			wantSummary(t, again, "likely deadlock of opened")
			for _, how := range []string{"told", "later", "joined", "poll"} {
				status, r = reported(t, "exec", "--", program, how)
				wantSummary(t, r, "")
				if status != 0 {
					t.Errorf("%s: status %d", how, status)
				}
			}
		})
	}
}
