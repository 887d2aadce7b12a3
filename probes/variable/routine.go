package variable

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// routine is the decoded code of a function; it is the same for every variable.
type routine struct {
	*code.Graph
	machine   insn.Arch
	fn        bin.Range
	bytes     []byte
	undecoded []uint64 // addresses at which it could not be decoded

	clones      []bin.Range // the parts that register the table of clones, once clonesFound
	clonesFound bool
}

// decode decodes a function and finds its blocks.
func (c *Code) decode(fn bin.Range, bytes []byte) *routine {
	r := &routine{machine: c.arch, fn: fn, bytes: bytes}
	memory := c.insts
	if c.insts = nil; cap(memory) < len(bytes)/4 {
		memory = make([]insn.Inst, 0, len(bytes)/4)
	}
	insts := insn.DecodeRun(memory, c.arch, bytes, fn.Lo, func(at uint64) {
		r.undecoded = append(r.undecoded, at)
	})
	jumps := slices.ContainsFunc(insts, func(in insn.Inst) bool { return in.Kind == insn.IndirectJump })
	if c.arrivals == nil {
		r.Graph = code.NewGraph(insts, nil, jumps)
	} else {
		at, open := c.arrivals(fn)
		r.Graph = code.NewGraph(insts, at, jumps && open)
	}
	return r
}

// mayLand reports whether control may continue within the function at an address that no branch
// names: through a jump table, or after a call by an exception.
func (r *routine) mayLand(in *insn.Inst) bool {
	switch in.Kind {
	case insn.IndirectJump, insn.Call, insn.IndirectCall:
		return true
	case insn.Jump, insn.CondJump:
		return !r.fn.Contains(in.Target)
	}
	return false
}

// bytesOf returns the bytes of an instruction.
func (r *routine) bytesOf(in *insn.Inst) []byte {
	at := in.Addr - r.fn.Lo
	return r.bytes[at : at+uint64(in.Len)]
}

// relative reports whether the instruction computes an address relative to its own: lea, ADR, ADRP.
func (r *routine) relative(in *insn.Inst) bool {
	b := r.bytesOf(in)
	if r.machine == insn.ARM64 {
		return b[3]&0x1f == 0x10
	}
	for len(b) > 1 && (b[0] == 0x66 || b[0] == 0x67 || b[0]&0xf0 == 0x40) {
		b = b[1:]
	}
	return b[0] == 0x8d
}
