package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestThreadLocals checks that a thread-local variable can race if its thread has passed the variable's address to
// another thread, which accesses it; and that no other thread-local variable can. The report of the trace is the
// same.
func TestThreadLocals(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, level := range []string{"-O0", "-O2"} {
		program := build(t, "gcc", "threadlocal.c", level, "-g", "-pthread")
		const race = "predicted race of 0x"
		for way, want := range map[string]string{"counted": race, "looked": race, "element": race, "locked": "", "before": "", "joined": "", "beside": "", "own": ""} {
			t.Run(way+level, func(t *testing.T) {
				trace := filepath.Join(t.TempDir(), "run.trace")
				status, r := reported(t, "exec", "--watch-shared=all", "--record", trace, "--", program, way)
				if got := r.summary(); len(r.Findings) != min(1, len(want)) || !strings.HasPrefix(got, want) {
					t.Errorf("findings: %q, want %q (notes: %q)", got, want, r.Run.Notes)
				}
				if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
					t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
				}
			})
		}
	}
}
