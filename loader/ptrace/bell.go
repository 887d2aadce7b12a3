package ptrace

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bellSignal interrupts a thread's wait4. Nothing else of the tool uses it.
const bellSignal = unix.Signal(64)

// bell wakes the thread that made it from its wait for tracees. Go's handlers
// restart the calls that they interrupt; this signal's must not. To wait by
// SIGCHLD and a channel instead would pass each stop of each thread through two
// more threads of ours.
type bell struct{ tid int }

// kernelSigaction is struct sigaction as rt_sigaction(2) has it.
type kernelSigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const saRestart = 0x10000000

// NewBell makes a bell for the calling operating system thread, which must be
// locked to its goroutine.
func NewBell() (bell, error) {
	var sa kernelSigaction
	if err := sigaction(nil, &sa); err != nil {
		return bell{}, fmt.Errorf("read the handler of signal %d: %w", int(bellSignal), err)
	}
	if sa.handler <= 1 { // SIG_DFL, which would end us, or SIG_IGN
		return bell{}, fmt.Errorf("prepare to wake the tracing thread: %w", errors.New("the Go run time handles no signal 64"))
	}
	sa.flags &^= saRestart
	if err := sigaction(&sa, nil); err != nil {
		return bell{}, fmt.Errorf("change the handler of signal %d: %w", int(bellSignal), err)
	}
	var only unix.Sigset_t
	only.Val[0] = 1 << (bellSignal - 1)
	if err := unix.PthreadSigmask(unix.SIG_UNBLOCK, &only, nil); err != nil {
		return bell{}, fmt.Errorf("unblock signal %d: %w", int(bellSignal), err)
	}
	return bell{tid: unix.Gettid()}, nil
}

// Ring may come just before the wait and be missed: who needs an answer rings
// until there is one.
func (b bell) Ring() { _ = unix.Tgkill(os.Getpid(), b.tid, bellSignal) }

func sigaction(to, from *kernelSigaction) error {
	_, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(bellSignal), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(from)),
		unsafe.Sizeof(kernelSigaction{}.mask), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}
