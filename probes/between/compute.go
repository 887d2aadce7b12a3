package between

import "github.com/tracepredict/tracepredict/probes/insn"

// apply is state.apply, which besides computes what arithmetic makes of numbers that are known: explorers do not
// need it, since they follow what values depend on.
func (f *follower) apply(s *state, in *insn.Inst, code []byte, m memory) bool {
	result, flags, to := computed(s, in, code)
	if to == insn.NoReg {
		result, to = extended(s, in, code, m)
		flags = s.flags
	}
	if !s.apply(in, code, m) {
		return false
	}
	if to != insn.NoReg {
		s.regs[to], s.flags = result, flags
	}
	return true
}

// computed returns the result of an arithmetic instruction of one register and an immediate or another register, in 4
// or 8 bytes, and the flags that it sets; to is NoReg if it is none, or if an operand is not known.
func computed(s *state, in *insn.Inst, code []byte) (result value, set flags, to insn.Reg) {
	op, rex, rest := opcode(code)
	size := 4
	if rex&8 != 0 {
		size = 8
	}
	if in.NMem > 0 || len(rest) == 0 || code[0] == 0x66 || in.Writes.Only() == insn.NoReg {
		return result, set, insn.NoReg
	}
	e := effect{state: s, in: in, code: code}
	reg, rm := insn.Reg(rest[0]>>3&7|rex&4<<1), insn.Reg(rest[0]&7|rex&1<<3)
	group := int(rest[0] >> 3 & 7)
	var a, b operand
	switch {
	case op < 0x38 && op&7 == 1: // rm, reg
		group, to, a, b = op>>3, rm, e.reg8(rm, rex, size), e.reg8(reg, rex, size)
	case op < 0x38 && op&7 == 3: // reg, rm
		group, to, a, b = op>>3, reg, e.reg8(reg, rex, size), e.reg8(rm, rex, size)
	case op < 0x38 && op&7 == 5: // eax, immediate
		group, to, a, b = op>>3, insn.RAX, e.reg8(insn.RAX, rex, size), e.imm(size)
	case op == 0x81:
		to, a, b = rm, e.reg8(rm, rex, size), e.imm(size)
	case op == 0x83:
		to, a, b = rm, e.reg8(rm, rex, size), e.imm(1)
	case op == 0xc1 && group >= 4:
		group, to, a, b = group+shifts, rm, e.reg8(rm, rex, size), e.imm(1)
	case op == 0xd1 && group >= 4:
		group, to, a, b = group+shifts, rm, e.reg8(rm, rex, size), operand{n: 1, ok: true}
	default:
		return result, set, insn.NoReg
	}
	if !a.ok || !b.ok || a.address || b.address || in.Writes.Only() != to {
		return result, set, insn.NoReg
	}
	n, ok := calculate(group, a.n, b.n, size)
	if !ok {
		return result, set, insn.NoReg
	}
	if size == 4 {
		n = uint64(uint32(n))
	}
	set = flags{known: true, test: true, size: size, a: n, b: n, onlyZero: group == adds || group > shifts}
	if group == subtracts {
		set = flags{known: true, size: size, a: a.n, b: b.n}
	}
	return value{bytes: 8, off: int64(n)}, set, to
}

// extended returns the result of a load of one or two bytes that are extended with zeros; to is NoReg if the
// instruction is none, or if they are not known.
func extended(s *state, in *insn.Inst, code []byte, m memory) (result value, to insn.Reg) {
	op, _, _ := opcode(code)
	if op != 0x0fb6 && op != 0x0fb7 || in.NMem != 1 {
		return result, insn.NoReg
	}
	v, ok := m.load(s, in, s.address(&in.Mem[0]), in.Mem[0].Size)
	n, known := v.number(in.Mem[0].Size)
	if !ok || !known {
		return result, insn.NoReg
	}
	return value{bytes: 8, off: int64(n)}, in.Writes.Only()
}

// The numbers of operations in the groups of opcodes.
const (
	adds      = 0
	subtracts = 5
	shifts    = 8 // more than those of arithmetic
)

// calculate returns the result of an operation.
func calculate(group int, a, b uint64, size int) (n uint64, ok bool) {
	switch bits := uint64(8 * size); group {
	case adds:
		return a + b, true
	case 1:
		return a | b, true
	case 4:
		return a & b, true
	case subtracts:
		return a - b, true
	case 6:
		return a ^ b, true
	case shifts + 4:
		return a << (b & (bits - 1)), true
	case shifts + 5:
		return a & (^uint64(0) >> (64 - bits)) >> (b & (bits - 1)), true
	case shifts + 7:
		return uint64(int64(a<<(64-bits)) >> (64 - bits) >> (b & (bits - 1))), true
	}
	return 0, false
}
