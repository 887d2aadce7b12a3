package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestThreadLocals checks that a thread's accesses of its thread-local variables are one side of a race with those of
// another thread, to which it has handed the address; and that other thread-local variables are not. The trace gives
// the same report.
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
