package ptrace

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// trapPerf is the cause of a SIGTRAP for a perf event, TRAP_PERF.
const trapPerf = 6

// The bits of perf_event_attr that package unix does not name.
const (
	perfRemoveOnExec = 1 << 36
	perfSigtrap      = 1 << 37
)

// Breakpoint has a thread of a tracee get a SIGTRAP before it executes the instruction at an address for the nth time. It is a hardware
// breakpoint of the kernel's perf events: nothing is written into the program, and the kernel removes it when the
// descriptor is closed or the tool dies. It needs Linux 5.13. A thread has four, watchpoints among them.
func Breakpoint(tid int, addr, nth uint64) (fd int, err error) {
	const executed = 4 // HW_BREAKPOINT_X
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_BREAKPOINT, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: nth,
		Bp_type: executed, Ext1: addr, Ext2: uint64(unsafe.Sizeof(uintptr(0))),
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv | perfRemoveOnExec | perfSigtrap,
	}
	fd, err = unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("have thread %d stopped before an instruction by a hardware breakpoint: %w", tid, err)
	}
	return fd, nil
}

// Trap is why a thread is in a stop for SIGTRAP.
type Trap uint8

// The traps.
const (
	OtherTrap      Trap = iota
	BreakpointTrap      // a breakpoint of Breakpoint
	StepTrap            // the end of a step
)

// TrapOf returns why a thread, which is in a stop for SIGTRAP, has the signal.
func TrapOf(tid int) Trap {
	info, err := signalInfo(tid)
	switch {
	case err != nil:
	case info.code == trapPerf:
		return BreakpointTrap
	case info.code == trapTrace:
		return StepTrap
	}
	return OtherTrap
}

// Registers returns the address of the instruction that a thread, which is in a stop, executes next, and its general
// registers by their hardware numbers.
func Registers(tid int) (next uint64, general [16]uint64, err error) {
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &r); err != nil {
		return 0, general, fmt.Errorf("read the registers of thread %d: %w", tid, err)
	}
	return r.Rip, [16]uint64{r.Rax, r.Rcx, r.Rdx, r.Rbx, r.Rsp, r.Rbp, r.Rsi, r.Rdi, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15}, nil
}
