package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWider checks that a race with a load of more bytes than the source reads is likely at most, in whatever order
// the accesses come, and that the reason says so. A race with a load of just what another thread writes is more than
// that. The report of the trace is the same.
func TestWider(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program, untold := build(t, "gcc", "wider.c", "-O3", "-pthread"), build(t, "gcc", "wider.c", "-O3", "-pthread", "-g0")
	for _, c := range []struct {
		way, name string
		flags     []string
		program   string // "": with debug information
	}{
		{"joined", "struct task.arg", nil, ""},
		{"second", "", nil, ""},
		{"bits", "struct packet.data", nil, ""},
		{"vector", "", nil, ""},
		{"locked", "", nil, ""},
		{"array", "fixed[1].y", nil, ""},
		{"static", "only.arg", nil, ""},
		{"static", "only+1", []string{"--watch-shared"}, untold},
		{"static", "only.arg", []string{"--watch-shared=static"}, ""},
		{"static", "only.arg", []string{"--watch", "only.arg"}, ""},
		{"static", "only.arg", []string{"--watch-hw", "only.arg"}, ""},
		{"joined", "arg of struct task", []string{"--watch", "arg of struct task"}, ""},
	} {
		if c.program == "" {
			c.program = program
		}
		for _, reads := range []bool{false, true} {
			args, want := []string{c.program, c.way}, "likely"
			if reads {
				args, want = append(args, "reads"), "predicted"
			}
			if reads && c.program == untold {
				continue // nothing shows what is atomic, so that it is likely too
			}
			t.Run(strings.Join(append(append([]string{filepath.Base(c.program)}, args[1:]...), c.flags...), " "), func(t *testing.T) {
				trace := filepath.Join(t.TempDir(), "run.trace")
				status, r := reported(t, append(append(append([]string{"exec"}, c.flags...), "--record", trace, "--"), args...)...)
				checkWider(t, r, want, c.name)
				if again, fromTrace := reported(t, "analyze", trace); again != status || cmp.Diff(r, fromTrace) != "" {
					t.Errorf("the trace gives another report (-run +trace), status %d, want %d:\n%s", again, status, cmp.Diff(r, fromTrace))
				}
			})
		}
	}
}

// checkWider checks that the report has one race of a variable, as confident as wanted, and with the reason if that
// is likely. Predicted stands for observed too.
func checkWider(t *testing.T, r jsonReport, confidence, name string) {
	t.Helper()
	if len(r.Findings) != 1 || !strings.Contains(r.summary(), name) {
		t.Fatalf("findings: %q, want one race of %q (notes: %q)", r.summary(), name, r.Run.Notes)
	}
	f := r.Findings[0]
	if f.Confidence != confidence && (confidence == "likely" || f.Confidence != "observed") {
		t.Errorf("%q is %s, want %s: %s", r.summary(), f.Confidence, confidence, f.Reason)
	}
	if says := strings.Contains(f.Reason, "loads more bytes at once"); says != (confidence == "likely") {
		t.Errorf("the reason of a finding that is %s: %q", f.Confidence, f.Reason)
	}
}
