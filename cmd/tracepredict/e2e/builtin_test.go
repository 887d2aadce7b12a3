package e2e

import (
	"path/filepath"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// TestLibraryInStaticProgram checks that nothing is found in the C library of a static program, whose data are not
// watched, with the built-in suppressions and without them.
func TestLibraryInStaticProgram(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "gcc")
	program := filepath.Join(t.TempDir(), "library")
	if out, err := command(t, "gcc", "-static", "-O1", "-pthread", "-o", program, "testdata/library.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, flags := range [][]string{{"--no-default-suppressions"}, nil} {
		status, r := reported(t, append(append([]string{"exec", "--watch-shared"}, flags...), "--", program)...)
		if status != 0 || len(r.Findings) > 0 {
			t.Errorf("%v: status %d: %s", flags, status, r.summary())
		}
	}
}
