package cheapsite

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// The state before an instruction is what is certain there: the distance of sp from its value at
// the function's entry, and which registers and which words of the function's stack frame hold what
// a register held at the entry, or a constant. Calls preserve what the System V ABI preserves, and
// the words of the frame: no other code has a pointer to it (graph.escapes).

type contentKind uint8

const (
	contentUnknown contentKind = iota
	contentEntry               // the value of register reg at the entry
	contentConst               // the constant n
)

// content is what is known of the value of a register or of a word of the stack frame.
type content struct {
	kind contentKind
	reg  insn.Reg
	n    int64
}

type state struct {
	sp      int64 // sp minus sp at the entry, in bytes
	spKnown bool
	regs    [16]content
	slots   code.Frame[content] // by the distance from sp at the entry, in bytes
}

// maxSlots bounds the number of words of a stack frame that are tracked.
const maxSlots = 64

func atEntry() state {
	s := state{spKnown: true}
	for r := range s.regs {
		if insn.Reg(r) != insn.RSP {
			s.regs[r] = content{kind: contentEntry, reg: insn.Reg(r)}
		}
	}
	return s
}

// join removes from s what does not hold in other, and reports whether s has changed.
func (s *state) join(other *state) bool {
	changed := false
	if s.spKnown && (!other.spKnown || s.sp != other.sp) {
		s.spKnown, s.sp, s.slots, changed = false, 0, nil, true
	}
	for r := range s.regs {
		if s.regs[r] != other.regs[r] && s.regs[r].kind != contentUnknown {
			s.regs[r], changed = content{}, true
		}
	}
	return s.slots.Join(other.slots, joinContents, func(a, b content) bool { return a == b }) || changed
}

func joinContents(a, b *content) (content, bool) {
	if a == nil {
		return content{}, false
	}
	var other content // nothing is known of a word that the other path does not have
	if b != nil {
		other = *b
	}
	return *a, *a == other
}

func (s *state) holds(r, entry insn.Reg) bool {
	return s.regs[r] == content{kind: contentEntry, reg: entry}
}

// asAtEntry reports whether sp and the registers given have their values at the entry.
func (s *state) asAtEntry(reads insn.RegSet) bool {
	for r := range insn.Reg(len(s.regs)) {
		if r != insn.RSP && reads.Has(r) && !s.holds(r, r) {
			return false
		}
	}
	return s.spKnown && s.sp == 0
}

// operands returns the current locations of the values that the registers in reads held at the
// entry; false if one of them is not known.
func (s *state) operands(reads insn.RegSet) (map[insn.Reg]Operand, bool) {
	out := map[insn.Reg]Operand{}
	for r := range insn.Reg(len(s.regs)) {
		if r == insn.RSP || !reads.Has(r) {
			continue
		}
		at, ok := s.find(r)
		if !ok {
			return nil, false
		}
		out[r] = at
	}
	return out, true
}

func (s *state) find(entry insn.Reg) (Operand, bool) {
	if s.holds(entry, entry) {
		return Operand{Reg: entry}, true
	}
	for r := range s.regs {
		if s.holds(insn.Reg(r), entry) {
			return Operand{Reg: insn.Reg(r)}, true
		}
	}
	for _, w := range slices.Backward(s.slots) {
		if w.Value == (content{kind: contentEntry, reg: entry}) {
			return Operand{Reg: insn.NoReg, Slot: w.At}, true
		}
	}
	return Operand{Reg: insn.NoReg}, false
}

// step updates the state for the execution of an instruction.
func (s *state) step(g *graph, in *insn.Inst) {
	if !in.Known {
		*s = state{}
		return
	}
	if in.Kind.Calls() {
		s.clobber(insn.AMD64.CallerSaved())
		s.below(s.sp)
		return
	}
	dst, v := s.effect(in)
	stored, value := s.stored(in)
	s.clobber(in.Writes)
	if in.SPLost {
		s.spKnown, s.slots = false, nil
	}
	s.sp += in.SPChange
	s.overwrite(in)
	if stored && g.slots && s.spKnown && len(s.slots) < maxSlots {
		s.slots = s.slots.Put(s.slotOf(in), value)
	}
	if s.spKnown {
		s.below(s.sp)
	}
	if dst < insn.Reg(len(s.regs)) && dst != insn.RSP {
		s.regs[dst] = v
	}
}

func (s *state) clobber(set insn.RegSet) {
	for r := range s.regs {
		if set.Has(insn.Reg(r)) {
			s.regs[r] = content{}
		}
	}
}

// below removes the words below sp, which signals and calls overwrite.
func (s *state) below(sp int64) {
	s.slots = s.slots.Filter(func(w *code.Word[content]) bool { return w.At >= sp })
}

// effect returns the register that an instruction sets to a known value, and that value.
func (s *state) effect(in *insn.Inst) (insn.Reg, content) {
	sum := in.Sum
	switch {
	case sum.Const():
		return sum.Dst, content{kind: contentConst, n: sum.Imm}
	case sum.Offset() && sum.Imm == 0 && sum.Src < insn.Reg(len(s.regs)):
		return sum.Dst, s.regs[sum.Src]
	case in.Kind == insn.Plain && in.NMem == 1 && plainLoad(in) && onStack(&in.Mem[0]) && s.spKnown:
		return in.ValueReg, s.slot(s.sp + in.Mem[0].Disp)
	case in.Kind == insn.Plain && in.NMem == 0 && in.SPChange == 8 && !in.SPLost && s.spKnown: // pop
		if r := (in.Writes &^ insn.RegSet(0).With(insn.RSP)).Only(); r != insn.NoReg && in.Reads == insn.RegSet(0).With(insn.RSP) && sum.Dst == insn.NoReg {
			return r, s.slot(s.sp)
		}
	}
	return insn.NoReg, content{}
}

// slot returns what is known of a word of the stack.
func (s *state) slot(at int64) content {
	h, _ := s.slots.Get(at)
	return h
}

func plainLoad(in *insn.Inst) bool {
	m := &in.Mem[0]
	return m.Read && !m.Write && m.Size == 8 && in.ValueReg != insn.NoReg && in.Writes.Only() == in.ValueReg
}

func onStack(m *insn.Mem) bool {
	return m.Base == insn.RSP && m.Index == insn.NoReg && !m.Segment
}

// stored returns the value that in stores to a whole word of the stack; false if it stores to none.
func (s *state) stored(in *insn.Inst) (bool, content) {
	if in.Kind == insn.Push {
		if r := (in.Reads &^ insn.RegSet(0).With(insn.RSP)).Only(); r != insn.NoReg {
			return true, s.regs[r]
		}
		return false, content{}
	}
	if in.NMem != 1 || !onStack(&in.Mem[0]) {
		return false, content{}
	}
	m := &in.Mem[0]
	if in.Kind != insn.Plain || m.Read || !m.Write || m.Size != 8 || in.Writes != 0 || in.ValueReg >= insn.Reg(len(s.regs)) || in.HasImm {
		return false, content{}
	}
	return true, s.regs[in.ValueReg]
}

// slotOf returns the offset of the word that stored describes; s.sp must already be sp after in.
func (s *state) slotOf(in *insn.Inst) int64 {
	if in.Kind == insn.Push {
		return s.sp
	}
	return s.sp + in.Mem[0].Disp
}

// overwrite removes the words of the stack that in may write; s.sp must already be sp after in.
func (s *state) overwrite(in *insn.Inst) {
	if in.StackWrite {
		s.slots = s.slots.Overwrite(s.sp, 8)
	}
	for i := range in.Mem[:in.NMem] {
		m := &in.Mem[i]
		switch {
		case !m.Write || m.Base != insn.RSP && m.Index != insn.RSP:
		case !onStack(m) || m.Size <= 0:
			s.slots = nil
		default:
			s.slots = s.slots.Overwrite(s.sp+m.Disp, m.Size)
		}
	}
}
