package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestLockout checks deadlocks of a wait while holding what another thread needs before it can end
// the wait, perhaps by way of a third thread, and their twins, in which it needs another mutex; and a wait that can miss its signal, and
// its twin, which looks whether there was one; and a signal that another thread may take, and its twin, a
// broadcast.
func TestLockout(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "lockout.c", "-O1", "-g", "-pthread")
	for _, c := range []struct{ name, argument, found, sentence string }{
		{"join", "join", "likely deadlock of config", "T1 holds 'config' and waits for T2 to end"},
		{"third", "third", "likely deadlock of config, journal", "T1 holds 'config' and waits for T2 to end"},
		{"post", "post", "likely deadlock of config, loaded", "T1 holds 'config' and waits for 'loaded'"},
		{"signal", "signal", "likely deadlock of changed", "T2 can wait on 'changed' at lockout.c:47 for ever: T1 signals 'changed'"},
		{"kinds", "kinds", "likely deadlock of changed", "T1 waits for T2 to end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "trace")
			status, r := reported(t, "exec", "--record", trace, "--", program, c.argument)
			wantSummary(t, r, c.found)
			if status != 66 || !strings.Contains(r.Findings[0].Message, c.sentence) {
				t.Errorf("status %d, %q, want %q in it", status, r.Findings[0].Message, c.sentence)
			}
			_, again := reported(t, "analyze", trace)
			wantSummary(t, again, c.found)
			status, r = reported(t, "exec", "--", program, c.argument, "another")
			wantSummary(t, r, "")
			if status != 0 {
				t.Errorf("status %d of the twin", status)
			}
		})
	}
}
