package resolve

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/unwind"
)

const (
	hostArch      = insn.ARM64
	stackRegister = unwind.SP
)

// Where registers stand in struct user_pt_regs: by DWARF's numbers.
const ptSP, ptPC = 31, 32

// arguments gives the first of a system call.
func arguments(l *bpf.Sleeper) [4]uint64 { return [4]uint64(l.Regs[:4]) }

func stackPointer(l *bpf.Sleeper) uint64 { return l.Regs[ptSP] }

func registers(l *bpf.Sleeper) unwind.Regs {
	regs := unwind.Regs{PC: l.Regs[ptPC]}
	for i := range ptPC {
		regs.Set(i, l.Regs[i])
	}
	return regs
}
