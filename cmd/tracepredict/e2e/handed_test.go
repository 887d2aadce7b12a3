package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHandedByLibrary checks that what a library without debug information may hand over is likely at most, with the load
// named, where its plain moves look at what another thread has stored; and that what does not go through it is as certain as ever.
func TestHandedByLibrary(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "handed.c", "-O1", "-g", "-pthread")
	library := filepath.Join(t.TempDir(), "libbox.so")
	if out, err := command(t, "gcc", "-O2", "-shared", "-fPIC", "-o", library, "testdata/handed_library.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, how := range []string{"letter", "locks"} {
		t.Run(how, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "run.trace")
			_, r := reported(t, "exec", "--record", file, "--", program, library, how)
			for _, f := range r.Findings {
				if f.Confidence != "likely" || !strings.Contains(f.Reason, "load that may be an atomic one in box_") {
					t.Errorf("%s: the reason is %q", f, f.Reason)
				}
			}
			if len(r.Findings) == 0 {
				t.Error("nothing was found")
			}
			_, again := reported(t, "analyze", file)
			if diff := cmp.Diff(r.Findings, again.Findings); diff != "" {
				t.Errorf("live (-), of the trace (+):\n%s", diff)
			}
			_, r = reported(t, "exec", "--", program, library, how, "apart")
			for _, f := range r.Findings {
				if f.Confidence == "likely" || f.Confidence == "potential" {
					t.Errorf("apart: %s: the reason is %q", f, f.Reason)
				}
			}
			if len(r.Findings) == 0 {
				t.Error("apart: nothing was found")
			}
		})
	}
}
