package live

import "github.com/tracepredict/tracepredict/bpf"

// setArguments is the inverse of arguments.
func setArguments(l *bpf.Sleeper, args [4]uint64) {
	l.Regs[ptRDI], l.Regs[ptRSI], l.Regs[ptRDX], l.Regs[ptR10] = args[0], args[1], args[2], args[3]
}
