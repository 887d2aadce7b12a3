package resolve

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

const (
	hostArch   = insn.AMD64
	pcRegister = 16
	spRegister = 7
)

// arguments gives the first of a system call.
func arguments(l bpf.Sleeper) [4]uint64 {
	return [4]uint64{l.Regs[5], l.Regs[4], l.Regs[1], l.Regs[10]}
}
