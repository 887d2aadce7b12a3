package resolve

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

const (
	hostArch   = insn.ARM64
	pcRegister = 32
	spRegister = 31
)

// arguments gives the first of a system call.
func arguments(l bpf.Sleeper) [4]uint64 { return [4]uint64(l.Regs[:4]) }
