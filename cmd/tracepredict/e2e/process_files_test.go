package e2e

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// runWithFiles runs the tool with a limit on the number of its file descriptors. It returns what the
// tool writes to standard error, and its exit status.
func runWithFiles(t *testing.T, limit int, args ...string) (string, int) {
	t.Helper()
	words := append([]string{"-c", `ulimit -n "$0" && exec "$@"`, strconv.Itoa(limit), toolPath(t)}, args...)
	cmd := command(t, "/bin/sh", words...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(stderr.String()), " "), cmd.ProcessState.ExitCode()
}

// TestFileDescriptorsRunOut checks that a run with too few descriptors says so, wherever it fails,
// and that the first run that does not fail has observed the program.
func TestFileDescriptorsRunOut(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := processFixture(t, "racer.c")
	failed := 0
	for limit := 16; limit <= 200; limit += 2 {
		out, status := runWithFiles(t, limit, "exec", "--watch", "hits", "--", program)
		switch {
		case status == 125 && strings.Contains(out, "file descriptors ran out (at most "+strconv.Itoa(limit)+")") && strings.Contains(out, "raise the limit: ulimit -n 4096"):
			failed++
		case status == 66 && strings.Contains(out, "1 race observed") && !strings.Contains(out, "descriptor"):
			if failed < 20 {
				t.Errorf("only %d runs failed", failed)
			}
			return
		default:
			t.Errorf("ulimit -n %d: status %d: %s", limit, status, out)
		}
	}
	t.Error("no run succeeded")
}
