package e2e

import (
	"path/filepath"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// TestBuiltinSuppressions checks that the built-in suppressions cover all findings in
// the C library of a static program.
func TestBuiltinSuppressions(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "gcc")
	program := filepath.Join(t.TempDir(), "library")
	// Debug information would describe only the program, and the C library would not be
	// watched.
	if out, err := command(t, "gcc", "-static", "-O1", "-pthread", "-o", program, "testdata/library.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	status, all := reported(t, "exec", "--watch-shared", "--no-default-suppressions", "--", program)
	if status != 66 || len(all.Findings) == 0 {
		t.Errorf("status %d: nothing is found, so nothing is suppressed", status)
	}
	status, r := reported(t, "exec", "--watch-shared", "--", program)
	if status != 0 || len(r.Findings) > 0 {
		t.Errorf("status %d: %s", status, r.summary())
	}
}
