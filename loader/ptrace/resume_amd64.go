package ptrace

import (
	"golang.org/x/sys/unix"
)

const eRestartNoHand = 514 // ERESTARTNOHAND of include/linux/errno.h

// resumeCall makes the kernel restart a system call that ended with EINTR only because its
// thread, which is in a stop, was stopped: epoll_wait, semop and others end so after any stop.
// With ERESTARTNOHAND the call is restarted if no signal handler is to run, and ends with EINTR
// if one is, as it would without the tool. A call that must not be repeated keeps its EINTR.
func resumeCall(tid int) {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &regs); err != nil {
		return // the thread has been killed
	}
	call, result := int64(regs.Orig_rax), int64(regs.Rax)
	if call < 0 || result != -int64(unix.EINTR) || call == unix.SYS_CLOSE {
		return
	}
	again := int64(-eRestartNoHand)
	regs.Rax = uint64(again)
	_ = unix.PtraceSetRegs(tid, &regs)
}
