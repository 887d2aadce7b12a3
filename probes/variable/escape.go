package variable

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// How is in what way accesses of a variable may go unseen.
type How uint8

// The ways.
const (
	// Stored: the address is stored to memory, where it is not followed.
	Stored How = iota
	// Passed: it is in a register that passes arguments where a function is
	// called, jumped to, or the kernel entered.
	Passed
	// Returned: it is in the register that a function returns.
	Returned
	// Computed: it goes into a computation that is not followed.
	Computed
	// InData: a word of initialised data holds the address.
	InData
	// NotUnderstood: an instruction that mentions it, or code around it, could
	// not be decoded or followed.
	NotUnderstood
)

var howNames = [...]string{"stored", "passed", "returned", "computed with", "in data", "not understood"}

// String returns the way as a word or two.
func (h How) String() string {
	if int(h) < len(howNames) {
		return howNames[h]
	}
	return "unknown"
}

// Escape is a place from which on accesses of the variable may happen that no
// instruction in Accesses shows.
type Escape struct {
	Addr uint64 // of the instruction, or of the word in data
	How  How
	// Callee is the address of the function that gets it; 0 if unknown.
	Callee uint64
}

// escapes records where the address goes where it is not followed.
func (f *flow) escapes(s *state, in *insn.Inst, c *collector) {
	if f.storesAddress(in) {
		c.escape(Escape{Addr: in.Addr, How: Stored}, []uint64{in.Addr})
	}
	f.slotEscapes(s, in, c)
	leaving := f.leaving(in)
	for r := range insn.Reg(numRegs) {
		h := s.regs[r]
		if !f.leads(h) {
			continue
		}
		if leaving.Has(r) && (in.Kind != insn.Return || f.known().returnsAddress(f.fn)) {
			e := Escape{Addr: in.Addr, How: Passed}
			switch in.Kind {
			case insn.Return:
				e.How = Returned
			case insn.Call, insn.Jump, insn.CondJump:
				e.Callee = in.Target
			}
			c.escape(e, h.made)
		} else if how, ok := f.uses(s, in, r); ok {
			c.escape(Escape{Addr: in.Addr, How: how}, h.made)
		}
	}
}

// leads reports whether code that has the value can reach the variable with it.
func (f *flow) leads(h held) bool {
	return h.points() && (!h.exact() || f.v.reached(h.addr))
}

// uses reports whether the instruction takes the address in a register where it
// is not followed.
func (f *flow) uses(s *state, in *insn.Inst, r insn.Reg) (How, bool) {
	if !usesAddress(in, r) {
		return 0, false
	}
	if !in.Known {
		return NotUnderstood, true
	}
	if _, h := f.stackStore(s, in); h.points() && (in.Kind == insn.Push || in.ValueReg == r) {
		return 0, false
	}
	if in.Kind == insn.Push {
		return Stored, true
	}
	for i := range in.NMem {
		if in.Mem[i].Write && in.ValueReg == r {
			return Stored, true
		}
	}
	return Computed, true
}

// argumentWords is how many words above the stack pointer a call's arguments
// may take that registers have no room for.
const argumentWords = 8

// slotEscapes records the addresses on the stack that a call may read, as
// arguments, and those that are read otherwise than whole into a register. A word that
// the function itself reads again is no argument, since a callee may change those.
func (f *flow) slotEscapes(s *state, in *insn.Inst, c *collector) {
	sp := s.regs[insn.RSP]
	call := in.Kind.Calls()
	for _, w := range s.slots {
		if !f.leads(w.Value) {
			continue
		}
		if call && (sp.how != framed || w.At >= int64(sp.addr) && w.At < int64(sp.addr)+8*argumentWords) && !f.reloads[w.At] {
			c.escape(Escape{Addr: in.Addr, How: Passed, Callee: in.Target}, w.Value.made)
		}
		for i := range in.NMem {
			m := &in.Mem[i]
			at, ok := f.onStack(s, m)
			if ok && m.Read && w.At+8 > at && w.At < at+int64(max(m.Size, 1)) && !loadsWord(in, m) && !in.Tests && !updatesWord(in) {
				c.escape(Escape{Addr: in.Addr, How: Computed}, w.Value.made)
			}
		}
	}
}

// storesAddress reports whether the instruction stores an address of the object
// as a constant.
func (f *flow) storesAddress(in *insn.Inst) bool {
	if !f.fixed || !f.target.direct {
		return false
	}
	value, ok := in.ValueImm, in.HasImm && in.NMem > 0
	if b := f.bytesOf(in); f.arch == insn.AMD64 && len(b) == 5 && b[0] == 0x68 { // push
		value, ok = uint64(int64(int32(binary.LittleEndian.Uint32(b[1:])))), true
	}
	return ok && f.v.reached(value)
}

// usesAddress reports whether the instruction does more with the register than
// to access memory through it, to compare it, or to make another address of it.
func usesAddress(in *insn.Inst, r insn.Reg) bool {
	if !in.Known {
		return true
	}
	if in.Tests || in.Kind == insn.Nop {
		return false
	}
	through := false
	for i := range in.NMem {
		m := &in.Mem[i]
		if m.Write && in.ValueReg == r {
			return true
		}
		through = through || m.Base == r || m.Index == r
	}
	followed := in.Sum.Dst != insn.NoReg && (in.Sum.Src == r || in.Sum.Add == r) ||
		in.Derived.Dst != insn.NoReg && (in.Derived.From|in.Derived.Minus).Has(r)
	if through || followed || !in.Reads.Has(r) {
		return false
	}
	return !(in.Kind == insn.CondJump || in.Kind == insn.IndirectJump || in.Kind == insn.IndirectCall)
}

// The registers that pass arguments, by the System V ABI of x86-64 (section 3.2) and
// the AAPCS64 (section 6.1).
const (
	argsAMD64 insn.RegSet = 1<<1 | 1<<2 | 1<<6 | 1<<7 | 1<<8 | 1<<9
	argsARM64 insn.RegSet = 0xff
	allRegs   insn.RegSet = 1<<numRegs - 1
)

// leaving are the registers whose content others may see after the
// instruction.
func (f *flow) leaving(in *insn.Inst) insn.RegSet {
	args := argsAMD64
	if f.arch == insn.ARM64 {
		args = argsARM64
	}
	switch in.Kind {
	case insn.IndirectCall, insn.Syscall, insn.IndirectJump:
		return args
	case insn.Call:
		return args & f.passes(in)
	case insn.Jump:
		if !f.fn.Contains(in.Target) { // a tail call
			return args & f.passes(in)
		}
	case insn.CondJump:
		if !f.fn.Contains(in.Target) { // a part of the function split off
			return allRegs
		}
	case insn.Return:
		return 1
	}
	return 0
}
