package live

import (
	"fmt"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/unwind"
)

const (
	hostArch      = insn.ARM64
	stackRegister = unwind.SP
)

// The indices of registers in struct user_pt_regs, which are DWARF's register numbers.
const ptSP, ptPC = 31, 32

// arguments returns the first arguments of a system call.
func arguments(l *bpf.Sleeper) [4]uint64 { return [4]uint64(l.Regs[:4]) }

func stackPointer(l *bpf.Sleeper) uint64 { return l.Regs[ptSP] }

func registers(l *bpf.Sleeper) unwind.Regs {
	regs := unwind.Regs{PC: l.Regs[ptPC]}
	for i := range ptPC {
		regs.Set(i, l.Regs[i])
	}
	return regs
}

// callName returns the name of a system call if idle threads often sleep in it, or others wait for
// it, else its number. The numbers are those of include/uapi/asm-generic/unistd.h.
func callName(number uint32) string {
	names := map[uint32]string{
		22: "epoll_pwait", 34: "mkdirat", 35: "unlinkat", 46: "ftruncate", 56: "openat", 57: "close", 62: "lseek", 63: "read", 64: "write", 65: "readv", 66: "writev", 68: "pwrite64", 72: "pselect6", 73: "ppoll", 95: "waitid", 98: "futex", 101: "nanosleep",
		115: "clock_nanosleep", 129: "kill", 133: "rt_sigsuspend", 137: "rt_sigtimedwait", 202: "accept", 207: "recvfrom", 212: "recvmsg", 242: "accept4", 260: "wait4", 276: "renameat2",
	}
	if name := names[number]; name != "" {
		return name + "(2)"
	}
	return fmt.Sprintf("system call %d", number)
}
