package elftest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// Run returns the standard output of a tool.
func Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	testtool.Need(t, name)
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// Build compiles a source file, by default with -O2, and returns the program's path.
func Build(t testing.TB, compiler, source string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "prog")
	args := append([]string{"-O2", "-o", out, source}, flags...)
	Run(t, compiler, append(args, "-pthread")...)
	return out
}

// Allocated returns the number of bytes that f allocates, freed ones included.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
