package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVectorInstructions checks that what vector instructions access is one side of a race, and nothing beside it;
// that a note counts those of which no register says what they access, and that what they may decide makes a finding
// potential. The report of the trace is the same.
func TestVectorInstructions(t *testing.T) {
	needBPF(t)
	t.Parallel()
	if cpu, _ := os.ReadFile("/proc/cpuinfo"); !bytes.Contains(cpu, []byte(" avx2 ")) || !bytes.Contains(cpu, []byte(" fma ")) {
		t.Skip("the processor has no AVX2 and FMA")
	}
	program := build(t, "gcc", "vectors.c", "-O3", "-g", "-pthread", "-mavx2", "-mfma", "-ffast-math")
	const race = "predicted race of "
	for way, want := range map[string]string{
		"summed": race + "struct row.f[]", "factor": "likely race of struct row.f[]", "widened": "likely race of struct row.s[]", "shifted": "likely race of ",
		"locked": "", "beside": "", "behind": "", "gathered": "", "masked": "",
		"decided": "potential race of struct row.f[]", "told": "potential race of struct row.f[]",
	} {
		t.Run(way, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "run.trace")
			status, r := reported(t, "exec", "--watch-shared=all", "--record", trace, "--", program, way)
			if got := r.summary(); len(r.Findings) != min(1, len(want)) || !strings.HasPrefix(got, want) {
				t.Errorf("findings: %q, want %q (notes: %q)", got, want, r.Run.Notes)
			}
			if !slices.ContainsFunc(r.Run.Notes, func(n string) bool {
				return strings.Contains(n, "that may access memory through pointers are not seen")
			}) {
				t.Errorf("no note counts the gathers: %q", r.Run.Notes)
			}
			if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
				t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
			}
		})
	}
}
