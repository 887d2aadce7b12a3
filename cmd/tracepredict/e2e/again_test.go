package e2e

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKeyAgain checks that what belongs to a key of thread-specific data is in no race if it is used before the key
// is deleted and after another thread was given the key again, and that it is in one if it is used after the key was
// deleted, or while each thread has a key of its own. The report of the trace is the same.
func TestKeyAgain(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "keys.c", "-O1", "-g", "-pthread")
	for how, want := range map[string]string{"again": "", "c11": "", "late": "predicted race of uses", "other": "predicted race of uses"} {
		t.Run(how, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "run.trace")
			_, live := reported(t, "exec", "--watch", "uses", "--record", file, "--", program, how)
			wantSummary(t, live, want)
			_, again := reported(t, "analyze", file)
			if diff := cmp.Diff(live.Findings, again.Findings); diff != "" {
				t.Errorf("live (-), of the trace (+):\n%s", diff)
			}
		})
	}
}
