package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFlagByUse checks that a race on a variable of a plain type is likely at most if the threads use it as a flag, each
// looking at it once, that a trace says the same, and that what is no such flag is as certain as ever.
func TestFlagByUse(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, level := range []string{"-O0", "-O2"} {
		program := build(t, "gcc", "flag_by_use.c", level, "-g", "-pthread")
		for _, c := range []struct {
			way  string
			flag bool
		}{{"built-in", true}, {"pointer", true}, {"early", false}, {"late", false}, {"sums", false}} {
			t.Run(c.way+level, func(t *testing.T) {
				file := t.TempDir() + "/run.trace"
				_, r := reported(t, "exec", "--record", file, "--", program, c.way)
				certain := false
				for _, f := range r.Findings {
					certain = certain || f.Confidence != "likely"
					if c.flag && !strings.Contains(f.Reason, "the threads use it as a flag") {
						t.Errorf("%s: the reason is %q", f, f.Reason)
					}
				}
				if certain == c.flag || len(r.Findings) == 0 {
					t.Errorf("found %v", r.Findings)
				}
				_, again := reported(t, "analyze", file)
				if diff := cmp.Diff(r.Findings, again.Findings); diff != "" {
					t.Errorf("live (-), of the trace (+):\n%s", diff)
				}
			})
		}
	}
}
