package ptrace

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The causes of a SIGTRAP by which the kernel reports a debug exception to the program, see
// get_si_code in arch/x86/include/asm/traps.h.
const (
	trapBrkpt  = 1 // TRAP_BRKPT: no watchpoint and no single step; the instruction int1
	trapTrace  = 2 // TRAP_TRACE: a single step
	trapHwbkpt = 4 // TRAP_HWBKPT: a watchpoint of a debugger, which a traced thread cannot have
)

// siKernel is the cause of a SIGTRAP for a breakpoint, SI_KERNEL.
const siKernel = 0x80

const (
	trapFlag = 1 << 8 // of the flags register: single step
	int1     = 0xf1   // the instruction
	int3     = 0xcc   // the instruction of a breakpoint
)

// trapInfo is what siginfo_t says of a SIGTRAP.
type trapInfo struct {
	signo, errno, code, _ int32
	addr                  uint64
	_                     [104]byte
}

// signalInfo returns why a thread, which is in a stop for SIGTRAP, has the signal.
func signalInfo(tid int) (info trapInfo, err error) {
	err = ptrace(unix.PTRACE_GETSIGINFO, tid, 0, uintptr(unsafe.Pointer(&info)))
	return info, err
}

// breakpointAt returns the address of the breakpoint that a thread, which is in a stop for SIGTRAP, has executed, and
// whether it is still there; ok is false if the signal has another cause.
func breakpointAt(tid int) (at uint64, there, ok bool) {
	info, err := signalInfo(tid)
	var regs unix.PtraceRegs
	if err != nil || info.code != siKernel || unix.PtraceGetRegs(tid, &regs) != nil {
		return 0, false, false
	}
	var b [1]byte
	_, err = unix.PtracePeekText(tid, uintptr(regs.Rip-1), b[:])
	return regs.Rip - 1, b[0] == int3, err == nil
}

// stepBack makes a thread execute the instruction at an address next.
func stepBack(tid int, at uint64) bool {
	var regs unix.PtraceRegs
	if unix.PtraceGetRegs(tid, &regs) != nil {
		return false
	}
	regs.Rip = at
	return unix.PtraceSetRegs(tid, &regs) == nil
}

// unexplainedTrap reports whether a thread, which is in a stop for SIGTRAP, had a debug exception
// that it did not cause itself, by single steps or by int1.
func unexplainedTrap(tid int) bool {
	info, err := signalInfo(tid)
	if err != nil {
		return false // the thread has been killed
	}
	var regs unix.PtraceRegs
	if unix.PtraceGetRegs(tid, &regs) != nil {
		return false
	}
	switch info.code {
	case trapHwbkpt:
		return true
	case trapTrace:
		return regs.Eflags&trapFlag == 0
	case trapBrkpt:
		// Some hypervisors report int1 behind it, others at it: there the thread would execute it again and
		// again if the signal was withheld.
		var around [2]byte
		_, err := unix.PtracePeekText(tid, uintptr(regs.Rip-1), around[:])
		return err == nil && around[0] != int1 && around[1] != int1
	}
	return false
}
