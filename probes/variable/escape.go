package variable

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// EscapeKind is the way in which accesses of a variable may be missed.
type EscapeKind uint8

// The ways.
const (
	// Stored: the address is stored to memory, where it is not followed.
	Stored EscapeKind = iota
	// Passed: it is in a register that passes arguments where a function is called or jumped to, or
	// where the kernel is entered.
	Passed
	// Returned: it is in the register that holds a function's result.
	Returned
	// Computed: it is an operand of a computation that is not followed.
	Computed
	// InData: a word of initialised data holds the address.
	InData
	// NotUnderstood: an instruction that mentions it, or the code around it, could not be decoded
	// or followed.
	NotUnderstood
)

var howNames = [...]string{"stored", "passed", "returned", "computed with", "in data", "not understood"}

// String returns the way in one or two words.
func (h EscapeKind) String() string {
	if int(h) < len(howNames) {
		return howNames[h]
	}
	return "unknown"
}

// Escape is a point after which the variable may be accessed by instructions that are not in
// Accesses.
type Escape struct {
	Addr uint64 // address of the instruction, or of the word of data
	Kind EscapeKind
	// Callee is the address of the function that receives the address; 0 if unknown.
	Callee uint64
}

// escapes records where the address goes to where it is not followed.
func (f *flow) escapes(s *state, in *insn.Inst, c *collector) {
	if f.storesAddress(in) {
		c.escape(Escape{Addr: in.Addr, Kind: Stored}, []uint64{in.Addr})
	}
	f.slotEscapes(s, in, c)
	leaving := f.leaving(in)
	for r := range insn.Reg(numRegs) {
		h := s.regs[r]
		if !f.leads(h) {
			continue
		}
		if leaving.Has(r) && (in.Kind != insn.Return || f.known().returnsAddress(f.fn)) {
			e := Escape{Addr: in.Addr, Kind: Passed}
			switch in.Kind {
			case insn.Return:
				e.Kind = Returned
			case insn.Call, insn.Jump, insn.CondJump:
				e.Callee = in.Target
			}
			c.escape(e, h.makers)
		} else if how, ok := f.uses(s, in, r); ok {
			c.escape(Escape{Addr: in.Addr, Kind: how}, h.makers)
		}
	}
}

// leads reports whether code that holds the value can reach the variable through it.
func (f *flow) leads(h value) bool {
	return h.points() && (!h.exact() || f.v.reached(h.addr))
}

// uses reports whether the instruction uses the address in register r in a way that is not
// followed, and in which way.
func (f *flow) uses(s *state, in *insn.Inst, r insn.Reg) (EscapeKind, bool) {
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

// argumentWords is the assumed maximum of words above the stack pointer that hold a call's
// arguments for which there are no registers.
const argumentWords = 8

// slotEscapes records the addresses on the stack that a call may read as arguments, and those that
// are read other than as a whole word into a register. A word that the function itself reads again
// is not counted as an argument, since a callee may change its arguments.
func (f *flow) slotEscapes(s *state, in *insn.Inst, c *collector) {
	sp := s.regs[insn.RSP]
	call := in.Kind.Calls()
	for _, w := range s.slots {
		if !f.leads(w.Value) {
			continue
		}
		if call && (sp.kind != framed || w.At >= int64(sp.addr) && w.At < int64(sp.addr)+8*argumentWords) && !f.reloads[w.At] {
			c.escape(Escape{Addr: in.Addr, Kind: Passed, Callee: in.Target}, w.Value.makers)
		}
		for i := range in.NMem {
			m := &in.Mem[i]
			at, ok := f.onStack(s, m)
			if ok && m.Read && w.At+8 > at && w.At < at+int64(max(m.Size, 1)) && !loadsWord(in, m) && !in.Tests && !updatesWord(in) {
				c.escape(Escape{Addr: in.Addr, Kind: Computed}, w.Value.makers)
			}
		}
	}
}

// storesAddress reports whether the instruction stores an address of the object as a constant.
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

// usesAddress reports whether the instruction uses the register other than to access memory through
// it, to compare it, or to make another address from it.
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

// leaving returns the registers whose content other code may see after the instruction.
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
