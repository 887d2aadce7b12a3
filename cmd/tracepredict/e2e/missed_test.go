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
