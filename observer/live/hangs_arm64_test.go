package live

import "github.com/tracepredict/tracepredict/bpf"

// setArguments is the inverse of arguments.
func setArguments(l *bpf.Sleeper, args [4]uint64) { copy(l.Regs[:], args[:]) }
