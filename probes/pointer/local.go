package pointer

import (
	"math"
	"slices"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// Thread-local variables are private to their thread unless their address goes anywhere. Code makes the address from
// the thread pointer, the word at %fs:0, and an offset.

// anyOffset, among the offsets that are taken, stands for an unknown one.
const anyOffset = math.MinInt64

// threadPointer returns the register into which an instruction loads the thread pointer; NoReg if it loads none. Adds
// reports that it adds it to an offset that the register holds.
func threadPointer(in *insn.Inst) (r insn.Reg, adds bool) {
	if in.NMem != 1 || !isThreadPointer(&in.Mem[0]) {
		return insn.NoReg, false
	}
	switch {
	case in.ValueReg != insn.NoReg:
		return in.ValueReg, false
	case in.Derived.Dst != insn.NoReg:
		return in.Derived.Dst, true
	}
	return insn.NoReg, true // it goes elsewhere
}

func isThreadPointer(m *insn.Mem) bool {
	return m.Segment && m.Read && !m.Write && m.Base == insn.NoReg && m.Index == insn.NoReg && m.Disp == 0 && m.Size == 8
}

// taken adds the offsets from the thread pointer of which the decoded code makes addresses.
func (s *surveyor) taken() {
	for i := range s.insts {
		in := &s.insts[i]
		if in.NMem == 0 || !isThreadPointer(&in.Mem[0]) {
			continue
		}
		r, adds := threadPointer(in)
		if r == insn.NoReg || adds {
			s.takes(anyOffset)
			continue
		}
		s.takenFrom(r, s.insts[i+1:])
	}
}

// takenFrom adds the offsets of the addresses that code makes from the thread pointer in a register, one instruction
// after the other, until the register holds it no longer. What is accessed by that register is an access through a
// pointer as any other.
func (s *surveyor) takenFrom(r insn.Reg, code []insn.Inst) {
	for i := range code {
		in := &code[i]
		switch {
		case in.Kind.Calls() && !argument(r) && insn.AMD64.CallerSaved().Has(r), in.Kind == insn.Return && r != insn.RAX && r != insn.RDX:
			return
		case !in.Known || !in.Kind.Straight():
			s.takes(anyOffset)
			return
		case in.Sum.Offset() && in.Sum.Src == r:
			s.takes(in.Sum.Imm)
		case in.Reads.Has(r) && !onlyBase(in, r):
			s.takes(anyOffset)
			return
		}
		if in.Writes.Has(r) {
			return
		}
	}
	s.takes(anyOffset)
}

// onlyBase reports whether an instruction uses a register for nothing but the address of what it accesses.
func onlyBase(in *insn.Inst, r insn.Reg) bool {
	return in.NMem == 1 && in.Mem[0].Base == r && in.Mem[0].Index == insn.NoReg && in.ValueReg != r &&
		(in.ValueReg != insn.NoReg || in.HasImm)
}

func (s *surveyor) takes(offset int64) {
	if !slices.Contains(s.census.Taken, offset) {
		s.census.Taken = append(s.census.Taken, offset)
	}
}

// TakesUnknown reports whether code makes addresses of thread-local variables that are not known.
func (c *Census) TakesUnknown() bool { return slices.Contains(c.Taken, anyOffset) }
