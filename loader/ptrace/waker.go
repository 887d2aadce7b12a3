package ptrace

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wakeSignal interrupts a thread's wait4. Nothing else in the tool uses it.
const wakeSignal = unix.Signal(64)

// waker wakes the thread that made it from its wait for tracees. The system calls that Go's
// signal handlers interrupt are restarted; the wait that this signal interrupts must not be. The
// alternative, to wait for SIGCHLD on a channel, would pass each stop of each thread through two
// more threads of the tool.
type waker struct{ tid int }

// kernelSigaction is struct sigaction as rt_sigaction(2) takes it.
type kernelSigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const saRestart = 0x10000000

// NewWaker returns a waker for the calling operating system thread, which must be locked to its
// goroutine.
func NewWaker() (waker, error) {
	var sa kernelSigaction
	if err := sigaction(nil, &sa); err != nil {
		return waker{}, fmt.Errorf("read the handler of signal %d: %w", int(wakeSignal), err)
	}
	if sa.handler <= 1 { // SIG_DFL, which would end the tool, or SIG_IGN
		return waker{}, fmt.Errorf("prepare to wake the tracing thread: %w", errors.New("the Go run time handles no signal 64"))
	}
	sa.flags &^= saRestart
	if err := sigaction(&sa, nil); err != nil {
		return waker{}, fmt.Errorf("change the handler of signal %d: %w", int(wakeSignal), err)
	}
	var only unix.Sigset_t
	only.Val[0] = 1 << (wakeSignal - 1)
	if err := unix.PthreadSigmask(unix.SIG_UNBLOCK, &only, nil); err != nil {
		return waker{}, fmt.Errorf("unblock signal %d: %w", int(wakeSignal), err)
	}
	return waker{tid: unix.Gettid()}, nil
}

// Wake interrupts the wait. It has no effect if it comes just before the wait, so a caller that
// needs an answer calls Wake until it has one.
func (w waker) Wake() { _ = unix.Tgkill(os.Getpid(), w.tid, wakeSignal) }

func sigaction(to, from *kernelSigaction) error {
	_, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(wakeSignal), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(from)),
		unsafe.Sizeof(kernelSigaction{}.mask), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}
