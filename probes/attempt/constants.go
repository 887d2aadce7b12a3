package attempt

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// This file finds the registers that have a constant where an attempt begins, or what another register has: compilers keep
// the 0 that an attempt compares with, and the 1 that it stores, in registers that are set before the loop, and pass
// the first attempt an argument that later ones copy.

// maxFunction bounds the functions whose constants are found, in bytes.
const maxFunction = 1 << 16

// known is a constant in the lower bytes of a register, or what a register had at the entry of the function.
type known struct {
	n     int64
	width int8  // bytes; 0: it is not known
	entry uint8 // one more than that register; 0: it is not known
}

// atEntry returns what is known at the entry of a function.
func atEntry() (s registers) {
	for r := range s {
		s[r].entry = uint8(r + 1)
	}
	return s
}

type registers [numRegs]known

// flow is the data flow of one function.
type flow struct {
	graph  *code.Graph
	solver code.Solver[registers]
}

// constantsAt returns the registers that have a constant before an instruction, on all paths.
func (c *Code) constantsAt(addr uint64) registers {
	fn, ok := c.file.FunctionAt(addr)
	if !ok || fn.Hi-fn.Lo > maxFunction {
		return registers{}
	}
	f := c.flows[fn.Lo]
	if f == nil {
		f = &flow{solver: code.Solver[registers]{Join: joinRegisters}}
		c.flows[fn.Lo] = f
		var insts []insn.Inst
		if !c.Sweep(fn, func(in *insn.Inst) bool {
			insts = append(insts, *in)
			return true
		}) {
			return registers{}
		}
		at, open := c.Arrivals(fn)
		f.graph = code.NewGraph(insts, at, open)
		if open || !f.solver.Solve(f.graph, func(block int) (registers, bool) {
			if block == 0 {
				return atEntry(), true
			}
			return registers{}, slices.Contains(f.graph.ExternalEntries, block)
		}, func(s *registers, in *insn.Inst) bool {
			c.passConstants(s, in)
			return true
		}) {
			f.graph = nil
		}
	}
	if f.graph == nil {
		return registers{}
	}
	at := f.solver.At(f.graph, addr, c.passConstants)
	if at == nil {
		return registers{}
	}
	return *at
}

func joinRegisters(into, from *registers) (changed bool) {
	for r := range into {
		if a, b := &into[r], &from[r]; a.width > 0 && (a.width != b.width || a.n != b.n) {
			a.n, a.width, changed = 0, 0, true
		}
		if a, b := &into[r], &from[r]; a.entry > 0 && a.entry != b.entry {
			a.entry, changed = 0, true
		}
	}
	return changed
}

// passConstants computes what is known after an instruction.
func (c *Code) passConstants(s *registers, in *insn.Inst) {
	before := *s
	writes := in.Writes
	switch {
	case in.Kind.Calls():
		writes = callerSaved
	case !in.Known && in.Kind != insn.Nop:
		*s = registers{}
		return
	}
	for r := range insn.Reg(numRegs) {
		if writes.Has(r) {
			s[r] = known{}
		}
	}
	if in.Kind != insn.Plain || writes == 0 || writes&(writes-1) != 0 {
		return
	}
	bytes, err := c.Bytes(in.Addr, in.Len)
	if err != nil {
		return
	}
	d, err := x86asm.Decode(bytes, 64)
	to, isReg := d.Args[0].(x86asm.Reg)
	if err != nil || !isReg {
		return
	}
	r, width, ok := register(to)
	if !ok || width == 2 {
		return
	}
	whole := width
	if width == 4 {
		whole = 8 // it is extended with zeroes
	}
	switch from := d.Args[1].(type) {
	case x86asm.Imm:
		if d.Op == x86asm.MOV {
			s[r] = known{n: cut(int64(from), width), width: whole}
		}
	case x86asm.Reg:
		q, _, ok := register(from)
		switch {
		case ok && d.Op == x86asm.MOV && before[q].width >= width:
			s[r] = known{n: cut(before[q].n, width), width: whole}
		case ok && d.Op == x86asm.MOV && width == 8:
			s[r] = known{entry: before[q].entry}
		case d.Op == x86asm.XOR && from == to && width >= 4:
			s[r] = known{width: whole}
		}
	}
}
