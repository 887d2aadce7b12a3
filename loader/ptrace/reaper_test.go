package ptrace

import (
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

// TestReap: a thread that ends while its tracer handles another stop, for as long as that takes, is no thread of the
// process any more, and the tracer learns of its end.
func TestReap(t *testing.T) {
	testtool.Need(t, "gcc")
	program := filepath.Join(t.TempDir(), "ends")
	if out, err := exec.Command("gcc", "-pthread", "-o", program, "testdata/ends.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(program)
	begin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	tracee := NewTracee(pid, true)
	ended := &ends{}
	tracee.Steer = ended
	alone := false
	tracee.OnFork = func(int, int, bool) {
		for deadline := time.Now().Add(20 * time.Second); !alone && time.Now().Before(deadline); {
			tids, err := procfs.Threads(pid)
			alone = err == nil && len(tids) == 1
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil) // it looks at another process
		}
	}
	if err := tracee.SeizeThreads(); errors.Is(err, unix.EPERM) {
		t.Skip(err) // nobody may trace here
	} else if err != nil {
		t.Fatal(err)
	}
	if _, err := begin.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	exit, err := tracee.Run()
	if err != nil || exit != (Exit{}) {
		t.Errorf("the program ended with %+v: %v", exit, err)
	}
	if !alone || ended.threads != 2 {
		t.Errorf("alone while the tracer was busy: %v; the tracer learned of %d ends, want those of a thread and a process", alone, ended.threads)
	}
}

// ends counts the ends of threads.
type ends struct {
	Steerer
	threads int
}

func (e *ends) Ended(int)                  { e.threads++ }
func (e *ends) Tick()                      {}
func (e *ends) Created(int, int)           {}
func (e *ends) Begins(int) bool            { return false }
func (e *ends) Came(int, unix.Signal) bool { return false }
