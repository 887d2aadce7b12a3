package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStringInstructions checks that what string instructions access is one side of a race, as compilers make them
// and with counts that only registers hold, and nothing that they do not access. The report of the trace is the same.
func TestStringInstructions(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, level := range []string{"-O2", "-Os"} {
		program := build(t, "gcc", "stringinsns.c", level, "-g", "-pthread")
		const race = "predicted race of "
		for way, want := range map[string]string{
			"assigned": race + "struct part.word[]", "source": race + "struct part.word[]", "cleared": race, "counted": race + "block@",
			"shifted": race + "block@", "moved": race + "block@", "searched": race + "block@", "compared": race + "block@",
			"locked": "", "joined": "", "beside": "", "behind": "", "further": "", "nothing": "", "found": "", "differing": "",
		} {
			t.Run(way+level, func(t *testing.T) {
				trace := filepath.Join(t.TempDir(), "run.trace")
				status, r := reported(t, "exec", "--watch-shared=all", "--record", trace, "--", program, way)
				if got := r.summary(); len(r.Findings) != min(1, len(want)) || !strings.HasPrefix(got, want) {
					t.Errorf("findings: %q, want one of %q (notes: %q)", got, want, r.Run.Notes)
				}
				for _, n := range r.Run.Notes {
					if strings.Contains(n, "through pointers is not seen") || strings.Contains(n, "through pointers are not seen") {
						t.Errorf("note: %s", n)
					}
				}
				if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
					t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
				}
			})
		}
	}
}
