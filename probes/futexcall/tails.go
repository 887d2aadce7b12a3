package futexcall

import (
	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Tails returns the functions in which functions with given entries end by a jump, by the entry of each: a caller with a
// name is not on the call stack of a function without one then. A function that several of them end in has the first.
func Tails(im *code.Image, entries []uint64) map[uint64]uint64 {
	tails := map[uint64]uint64{}
	for _, entry := range entries {
		e := im.ExtentAt(entry)
		if e == nil || e.Lo != entry {
			continue
		}
		im.Sweep(e.Range, func(in *insn.Inst) bool {
			to := im.ExtentAt(in.Target)
			if in.Kind.Branches() && to != nil && to.Lo == in.Target && to.Lo != entry {
				if _, known := tails[in.Target]; !known {
					tails[in.Target] = entry
				}
			}
			return true
		})
	}
	return tails
}
