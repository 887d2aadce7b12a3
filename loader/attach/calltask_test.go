package attach

import (
	"errors"
	"os"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/loader/ptrace"
)

func TestCallInTask(t *testing.T) {
	if _, err := callInTask(unix.SYS_CLOSE, []uintptr{1 << 30}); !errors.Is(err, unix.EBADF) {
		t.Errorf("close of no descriptor: %v", err)
	}
	pid, err := callInTask(unix.SYS_GETPPID, nil)
	if err != nil || int(pid) != os.Getpid() {
		t.Errorf("its parent is %d, want %d: %v", pid, os.Getpid(), err)
	}
	sid, err := callInTask(unix.SYS_GETSID, []uintptr{0})
	if own, _ := unix.Getsid(0); err != nil || int(sid) == own {
		t.Errorf("its session is %d, ours %d: %v", sid, own, err)
	}
}

// TestCallInTaskShares: the task works on the memory and the descriptors of the caller,
// even while Go moves the caller's stack.
func TestCallInTaskShares(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				shareOnce(t)
			}
		})
	}
	wg.Wait()
}

func shareOnce(t *testing.T) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		t.Error(err)
		return
	}
	defer unix.Close(fds[0])
	text := []byte("through a pipe")
	n, err := callInTask(unix.SYS_WRITE, []uintptr{uintptr(fds[1]), uintptr(unsafe.Pointer(&text[0])), uintptr(len(text))}, unsafe.Pointer(&text[0]))
	if err != nil || int(n) != len(text) {
		t.Errorf("write: %d, %v", n, err)
	}
	if err := (&Link{[]int{fds[1]}}).Close(); err != nil {
		t.Error(err)
	}
	got := make([]byte, 64)
	if n, err := unix.Read(fds[0], got); err != nil || string(got[:n]) != string(text) {
		t.Errorf("read %q, %v", got[:max(n, 0)], err)
	}
	if n, err := unix.Read(fds[0], got); n != 0 || err != nil {
		t.Errorf("the descriptor is open: read %d, %v", n, err)
	}
}

// TestCallInTaskSignals: callInTask leaves the caller's signal mask as it was.
func TestCallInTaskSignals(t *testing.T) {
	var before, after unix.Sigset_t
	done := make(chan struct{})
	ptrace.OnOneThread(func() {
		defer close(done)
		_ = unix.PthreadSigmask(unix.SIG_SETMASK, nil, &before)
		_, _ = callInTask(unix.SYS_GETPID, nil)
		_ = unix.PthreadSigmask(unix.SIG_SETMASK, nil, &after)
	}, func(p *safely.Panic) { panic(p) })
	<-done
	if before != after {
		t.Errorf("signal mask %x, was %x", after, before)
	}
}
