package variable

import (
	"math"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// onStack returns the offset of an operand within the function's own stack.
func (f *flow) onStack(s *state, m *insn.Mem) (int64, bool) {
	if m.Segment || m.Fixed || m.Index != insn.NoReg || m.Base >= numRegs || s.regs[m.Base].kind != framed {
		return 0, false
	}
	return int64(s.regs[m.Base].addr) + m.Disp, true
}

// private reports whether only this function, through its stack pointers, reaches the word at an
// offset. Words above an address that the function takes are not private, nor is the caller's
// frame.
func (f *flow) private(at int64) bool { return at+8 <= 0 && at+8 <= f.exposed }

// stackStore returns the offset of the stack word that the instruction fills with an address near
// the object, and the stored value.
func (f *flow) stackStore(s *state, in *insn.Inst) (int64, value) {
	if f.arch != insn.AMD64 || !in.Known {
		return 0, value{}
	}
	if in.Kind == insn.Push {
		r, sp := pushed(in), s.regs[insn.RSP]
		if at := int64(sp.addr) - 8; r < numRegs && sp.kind == framed && in.SPChange == -8 && f.private(at) {
			return at, s.regs[r]
		}
		return 0, value{}
	}
	if at, h := f.stackUpdate(s, in); h.points() {
		return at, h
	}
	if in.NMem != 1 || !plainStore(in) {
		return 0, value{}
	}
	at, ok := f.onStack(s, &in.Mem[0])
	if !ok || !f.private(at) {
		return 0, value{}
	}
	return at, s.regs[in.ValueReg]
}

// stackUpdate returns the offset of the stack word that the instruction changes in place, and its
// new value, if it held an address near the object: p++ in memory.
func (f *flow) stackUpdate(s *state, in *insn.Inst) (int64, value) {
	if !updatesWord(in) {
		return 0, value{}
	}
	at, ok := f.onStack(s, &in.Mem[0])
	if !ok || !f.private(at) {
		return 0, value{}
	}
	h := s.slotAt(at)
	return at, value{kind: inside, makers: h.makers}
}

// updatesWord reports whether the instruction changes a word of memory by arithmetic and leaves its
// old value in no register.
func updatesWord(in *insn.Inst) bool {
	m := &in.Mem[0]
	return in.NMem == 1 && m.Read && m.Write && m.Size == 8 && in.Writes == 0 && in.WritesIf == 0
}

// plainStore reports whether the instruction stores a whole register.
func plainStore(in *insn.Inst) bool {
	m := &in.Mem[0]
	return in.NMem == 1 && m.Write && !m.Read && m.Size == 8 && in.ValueReg < numRegs
}

// pushed returns the register that a push pushes.
func pushed(in *insn.Inst) insn.Reg {
	for r := range insn.Reg(numRegs) {
		if r != insn.RSP && in.Reads.Has(r) {
			return r
		}
	}
	return insn.NoReg
}

// stackLoad returns the offset of the stack word that the instruction loads as a whole, by mov or
// pop.
func (f *flow) stackLoad(s *state, in *insn.Inst) (at int64, ok bool) {
	if f.arch != insn.AMD64 {
		return 0, false
	}
	if sp := s.regs[insn.RSP]; popped(in) != insn.NoReg {
		at, ok = int64(sp.addr), sp.kind == framed
	} else if in.NMem == 1 && loadsWord(in, &in.Mem[0]) {
		at, ok = f.onStack(s, &in.Mem[0])
	}
	if ok {
		f.reloads[at] = true
	}
	return at, ok
}

// popped returns the register that a pop fills; NoReg if the instruction is not a pop.
func popped(in *insn.Inst) insn.Reg {
	if !in.Known || in.Kind != insn.Plain || in.NMem > 0 || in.SPChange != 8 || in.Sum.Dst != insn.NoReg {
		return insn.NoReg
	}
	for r := range insn.Reg(numRegs) {
		if r != insn.RSP && in.Writes.Has(r) {
			return r
		}
	}
	return insn.NoReg
}

// stackWritten removes the words of the stack that the instruction overwrites.
func (f *flow) stackWritten(s *state, in *insn.Inst) {
	if len(s.slots) == 0 || !in.Known {
		return // an instruction that was not decoded has no operand to examine
	}
	for i := range in.NMem {
		if m := &in.Mem[i]; m.Write {
			if at, ok := f.onStack(s, m); ok {
				s.slots = s.slots.Overwrite(at, m.Size)
			}
		}
	}
	if sp := s.regs[insn.RSP]; in.StackWrite && in.SPChange < 0 && sp.kind == framed {
		s.slots = s.slots.Overwrite(int64(sp.addr)+in.SPChange, int(-in.SPChange))
	}
}

// exposes lowers the bound of the private part of the stack if the instruction takes the address of
// a word in it. Result is the value that it puts into dst.
func (f *flow) exposes(s *state, in *insn.Inst, dst insn.Reg, result value) {
	if f.arch != insn.AMD64 {
		return
	}
	if dst != insn.NoReg && result.kind == framed && dst != insn.RSP && dst != insn.RBP {
		f.expose(int64(result.addr))
	}
	for r := insn.RAX; r <= insn.R15; r++ {
		if h := &s.regs[r]; h.kind == framed && f.takesFrame(in, r) {
			f.expose(int64(h.addr) + frameDisp(in, r))
		}
	}
}

// takesFrame reports whether the instruction uses a pointer into the stack other than to access a
// word at a constant distance, or to move it.
func (f *flow) takesFrame(in *insn.Inst, r insn.Reg) bool {
	if in.Derived.From.Has(r) || in.Sum.Add == r && r != insn.NoReg || in.Sum.Src == r && in.Sum.Add != insn.NoReg {
		return true
	}
	for i := range in.NMem {
		if m := &in.Mem[i]; m.Index != insn.NoReg && (m.Base == r || m.Index == r) || m.Write && in.ValueReg == r {
			return true
		}
	}
	return r != insn.RSP && in.Kind != insn.Push && usesAddress(in, r)
}

// frameDisp returns the constant distance from pointer r at which an instruction with an index
// begins.
func frameDisp(in *insn.Inst, r insn.Reg) int64 {
	if in.Derived.From.Has(r) {
		return in.Derived.Imm
	}
	for i := range in.NMem {
		if m := &in.Mem[i]; m.Index != insn.NoReg && m.Base == r {
			return m.Disp
		}
	}
	return 0
}

func (f *flow) expose(at int64) {
	if at < f.exposed {
		f.exposed, f.lowered = at, true
	}
	if f.exposed < math.MinInt32 {
		f.exposed = math.MinInt64
	}
}
