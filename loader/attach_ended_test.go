package loader

import (
	"errors"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/loader/target"
)

// TestProcessThatEnds checks that attaching to a process that ends meanwhile says that, and not which of its files is
// gone.
func TestProcessThatEnds(t *testing.T) {
	program := exec.Command("cat")
	in, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	pid := program.Process.Pid
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	cause := errors.New("read its mappings")
	if got := ifEnded(fd, pid, cause); got != cause {
		t.Errorf("while it runs: %v", got)
	}
	in.Close()
	_ = program.Wait()
	if got := ifEnded(fd, pid, cause); !errors.Is(got, target.ErrNoProcess) {
		t.Errorf("after its end: %v", got)
	}
	wrong := &UsageError{Err: cause}
	if got := ifEnded(fd, pid, wrong); got != error(wrong) {
		t.Errorf("wrong usage: %v", got)
	}
}
