package ptrace

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Yields reports whether the tracer can make way for a program that traces.
const Yields = true

const eRestartNoIntr = 513 // ERESTARTNOINTR of include/linux/errno.h

// traceRequest returns the call of ptrace by which a thread, which is in a stop for SIGURG, asked to trace or to be
// traced, and whether it has failed because somebody traces already; ok is false if there was none.
func traceRequest(tid int) (r request, failed, ok bool) {
	var info trapInfo
	var regs unix.PtraceRegs
	if ptrace(unix.PTRACE_GETSIGINFO, tid, 0, uintptr(unsafe.Pointer(&info))) != nil || info.code != siKernel || unix.PtraceGetRegs(tid, &regs) != nil {
		return r, false, false
	}
	if regs.Orig_rax != unix.SYS_PTRACE {
		return r, false, false
	}
	switch regs.Rdi {
	case unix.PTRACE_TRACEME:
		r = request{traceMe: true, target: tid}
	case unix.PTRACE_ATTACH, unix.PTRACE_SEIZE:
		r = request{target: int(int32(regs.Rsi))}
	default:
		return r, false, false
	}
	return r, int64(regs.Rax) == -int64(unix.EPERM), true
}

// repeatCall makes the kernel execute the system call again that a thread, which is in a stop for a signal, has made.
func repeatCall(tid int) {
	var regs unix.PtraceRegs
	if unix.PtraceGetRegs(tid, &regs) != nil {
		return // the thread has been killed
	}
	again := int64(-eRestartNoIntr)
	regs.Rax = uint64(again)
	_ = unix.PtraceSetRegs(tid, &regs)
}
