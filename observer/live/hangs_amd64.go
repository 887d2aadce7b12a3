package live

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/unwind"
)

const (
	hostArch      = insn.AMD64
	stackRegister = unwind.RSP
)

// The indices of registers in struct pt_regs.
const (
	ptRBP, ptR10, ptRDX, ptRSI, ptRDI, ptRIP, ptRSP = 4, 7, 12, 13, 14, 16, 19
)

// dwarfOrder maps DWARF register numbers to indices in struct pt_regs.
var dwarfOrder = [...]int{10, ptRDX, 11, 5, ptRSI, ptRDI, ptRBP, ptRSP, 9, 8, ptR10, 6, 3, 2, 1, 0}

// arguments returns the first arguments of a system call.
func arguments(l *bpf.Sleeper) [4]uint64 {
	return [4]uint64{l.Regs[ptRDI], l.Regs[ptRSI], l.Regs[ptRDX], l.Regs[ptR10]}
}

func stackPointer(l *bpf.Sleeper) uint64 { return l.Regs[ptRSP] }

func registers(l *bpf.Sleeper) unwind.Regs {
	regs := unwind.Regs{PC: l.Regs[ptRIP]}
	for i, at := range dwarfOrder {
		regs.Set(i, l.Regs[at])
	}
	return regs
}

// callName returns the name of a system call.
func callName(number uint32) string { return inKernel(number).Function }
