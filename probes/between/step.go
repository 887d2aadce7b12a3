package between

import (
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// memory is what an explorer does about memory. A false result ends the exploration.
type memory interface {
	// load returns what an instruction reads.
	load(s *state, in *insn.Inst, at value, size int) (value, bool)
	// store records that an instruction writes v.
	store(s *state, in *insn.Inst, at value, size int, v value) bool
	// frame returns the number of the frame that the stack pointer is in.
	frame() int
	// file returns the file that the code is in.
	file() *elf.File
}

// effect is one instruction while its effect on a state is computed.
type effect struct {
	*state
	in     *insn.Inst
	code   []byte // the bytes of the instruction
	memory memory
	from   value    // what all operands together may be made from, and depend on
	loaded value    // what it loads from its last memory operand
	at     [2]value // the addresses of its memory operands
	// The stack pointer and the frame pointer before it.
	sp, bp value
	ok     bool // the exploration can go on
}

// apply changes s by an instruction that is Known and Straight. It reports whether the exploration
// can go on.
func (s *state) apply(in *insn.Inst, code []byte, m memory) bool {
	if in.Kind == insn.Nop {
		return true
	}
	e := effect{state: s, in: in, code: code, memory: m, sp: s.regs[insn.RSP], bp: s.regs[insn.RBP], ok: true}
	e.operands()
	result, dst := e.result()
	compared := e.comparison()
	if !e.ok || !e.writes() {
		return false
	}
	e.registers()
	if dst < numRegs {
		s.regs[dst] = result
	}
	e.stackPointer()
	e.setFlags(compared)
	return e.ok
}

// address returns the address of a memory operand.
func (s *state) address(m *insn.Mem) value {
	base, index := s.reg(m.Base), s.reg(m.Index)
	depends := value{may: base.may | index.may, read: firstRead(base.read, index.read)}
	switch {
	case m.Segment:
		depends.local = true
		return depends
	case m.Fixed:
		return value{bytes: 8, off: int64(m.Addr)}
	case m.Index == insn.NoReg:
		return base.plus(m.Disp)
	case m.Base == insn.NoReg && m.Disp >= 4096: // an array where code is not position-independent
		depends.off = m.Disp
		return depends
	case m.Scale == 1:
		return sum(base, index).plus(m.Disp)
	}
	scaled := value{may: index.may, read: index.read}
	return sum(base, scaled).plus(m.Disp)
}

// operands reads the operands.
func (e *effect) operands() {
	in := e.in
	addresses := e.addresses()
	for r := insn.Reg(0); r < numRegs; r++ {
		if in.Reads.Has(r) && !addresses.Has(r) && !(r == insn.RSP && in.SPChange != 0) {
			e.from.may |= e.regs[r].may
			e.from.read = firstRead(e.from.read, e.regs[r].read)
		}
	}
	for i := range in.NMem {
		m := &in.Mem[i]
		e.at[i] = e.address(m)
		if m.Fixed || m.Base == insn.NoReg && e.at[i].off != 0 {
			e.at[i].in = e.memory.file()
		}
		if !m.Read {
			continue
		}
		v, ok := e.memory.load(e.state, in, e.at[i], m.Size)
		e.ok = e.ok && ok
		e.loaded = v
		e.from.may |= v.may
		e.from.read = firstRead(e.from.read, v.read)
	}
	if !e.moves() {
		e.from.may |= e.vector.may
		e.from.read = firstRead(e.from.read, e.vector.read)
		e.from.read = firstRead(e.from.read, e.flags.read)
	}
}

// addresses returns the registers that are read for an address only.
func (e *effect) addresses() (set insn.RegSet) {
	for i := range e.in.NMem {
		set = set.With(e.in.Mem[i].Base).With(e.in.Mem[i].Index)
	}
	_, rex, rest := opcode(e.code)
	if len(rest) > 0 && set != 0 {
		set &^= insn.RegSet(0).With(insn.Reg(rest[0]>>3&7 | rex&4<<1)) // it may be an operand too
	}
	return set
}

// moves reports whether the instruction certainly depends neither on vector registers nor on flags.
func (e *effect) moves() bool {
	in := e.in
	return in.Sum.Dst != insn.NoReg || in.Kind == insn.Push || in.SPChange != 0 || in.HasImm || arithmetic(e.code) ||
		in.ValueReg != insn.NoReg && in.NMem == 1 && in.Mem[0].Read != in.Mem[0].Write
}

// opcode returns the opcode of an instruction without the prefixes, one with 0f as 0x0f00 plus the
// second byte, and the bytes after it. It returns 0 for VEX and EVEX encodings.
func opcode(code []byte) (op int, rex byte, rest []byte) {
	for len(code) > 1 {
		switch b := code[0]; {
		case b == 0x66 || b == 0xf2 || b == 0xf3 || b == 0xf0 || b == 0x2e || b == 0x3e || b == 0x64 || b == 0x65 || b == 0x26 || b == 0x36:
			code, rex = code[1:], 0
		case b&0xf0 == 0x40:
			code, rex = code[1:], b
		case b == 0xc4 || b == 0xc5 || b == 0x62:
			return 0, 0, nil
		case b == 0x0f:
			return 0x0f00 + int(code[1]), rex, code[2:]
		default:
			return int(b), rex, code[1:]
		}
	}
	if len(code) == 1 {
		return int(code[0]), rex, nil
	}
	return 0, 0, nil
}

// arithmetic reports whether the instruction is one of add, or, and, sub, xor, cmp, test, imul: it
// reads only general registers and memory, and sets all flags.
func arithmetic(code []byte) bool {
	op, _, rest := opcode(code)
	group := byte(0xff)
	if len(rest) > 0 {
		group = rest[0] >> 3 & 7
	}
	switch {
	case op == 0:
		return false
	case op < 0x40:
		return op&7 < 6 && op>>3 != 2 && op>>3 != 3 // adc and sbb read the carry flag
	case op == 0x80 || op == 0x81 || op == 0x83:
		return group != 2 && group != 3
	case op == 0xf6 || op == 0xf7:
		return group < 2 || group == 3
	}
	return op == 0x84 || op == 0x85 || op == 0xa8 || op == 0xa9 || op == 0x69 || op == 0x6b || op == 0x0faf
}

// result returns the value that the instruction sets one register to; NoReg if it is not one value.
func (e *effect) result() (value, insn.Reg) {
	in := e.in
	switch d := in.Derived; {
	case in.Sum.Const():
		return constant(in.Sum.Imm, e.memory.file()), in.Sum.Dst
	case in.Sum.Offset():
		return e.regs[in.Sum.Src].plus(in.Sum.Imm), in.Sum.Dst
	case in.Sum.Dst != insn.NoReg:
		return sum(e.reg(in.Sum.Src), e.reg(in.Sum.Add)).plus(in.Sum.Imm), in.Sum.Dst
	case in.NMem == 1 && in.Mem[0].Read && !in.Mem[0].Write && in.ValueReg < numRegs && in.Writes.Has(in.ValueReg):
		v := e.loaded
		if in.Mem[0].Size < wordSize {
			v = v.vague()
			if c, ok := e.loaded.number(in.Mem[0].Size); ok {
				v.bytes, v.off = uint8(in.Mem[0].Size), int64(c)
			}
			if in.Mem[0].Size < 4 { // the rest of the register may stay
				old := e.regs[in.ValueReg]
				v.may, v.read = v.may|old.may, firstRead(v.read, old.read)
			}
		}
		return v, in.ValueReg
	case d.Dst < numRegs:
		return e.derived(d), d.Dst
	}
	return e.narrow()
}

// derived returns the new value of a register for insn.Derived.
func (e *effect) derived(d insn.Derived) value {
	v := e.from.vague()
	op, _, _ := opcode(e.code)
	cmov := op >= 0x0f40 && op < 0x0f50
	switch adds := op == 0x8d || op>>3 == 0; {
	case cmov && e.in.NMem == 0:
		v = joinAll(e.state, d.From)
		v.read = firstRead(v.read, e.from.read)
		return v
	case cmov || e.in.NMem > 0 && !adds:
		return v
	case !adds && op>>3 != 5 && op != 0x81 && op != 0x83:
		return v
	case op == 0x8d:
		v = e.indexed(d, v)
	}
	var first value
	certain := 0
	for r := insn.Reg(0); r < numRegs; r++ {
		x := e.regs[r]
		if !d.From.Has(r) {
			continue
		}
		if x.base != 0 {
			first = x
			certain++
		} else if x.may != 0 || x.isAddress() && !d.Minus.Has(r) {
			certain += 2
		}
	}
	for r := insn.Reg(0); r < numRegs; r++ {
		if d.Minus.Has(r) && (e.regs[r].may != 0 || e.regs[r].base != 0) {
			return v
		}
	}
	if certain == 1 && e.loaded.may == 0 {
		v.base = first.base
	}
	return v
}

// indexed returns the value that a lea makes from an address of static memory and an index.
func (e *effect) indexed(d insn.Derived, v value) value {
	for r := insn.Reg(0); r < numRegs; r++ {
		if x := e.regs[r]; d.From.Has(r) && x.isAddress() && v.may == 0 {
			v.in, v.off = x.in, x.off+d.Imm
		}
	}
	return v
}

func joinAll(s *state, from insn.RegSet) value {
	var v value
	some := false
	for r := insn.Reg(0); r < numRegs; r++ {
		switch {
		case !from.Has(r):
		case some:
			v = join(v, s.regs[r])
		default:
			v, some = s.regs[r], true
		}
	}
	return v
}

// narrow returns the result of setcc, movzx and movsx between registers, and 32-bit moves, where it
// is a constant.
func (e *effect) narrow() (value, insn.Reg) {
	op, rex, rest := opcode(e.code)
	if len(rest) == 0 || rest[0] < 0xc0 {
		return value{}, insn.NoReg
	}
	reg, rm := insn.Reg(rest[0]>>3&7|rex&4<<1), insn.Reg(rest[0]&7|rex&1<<3)
	wide := rex != 0 || rm < 4
	switch {
	case op >= 0x0f90 && op < 0x0fa0 && wide && e.in.Writes.Only() == rm:
		v := e.regs[rm].vague()
		v.read = firstRead(v.read, e.flags.read)
		if set, ok := e.flags.holds(byte(op & 15)); ok {
			v.bytes, v.off = 1, 0
			if set {
				v.off = 1
			}
		}
		return v, rm
	case op == 0x0fb6 && wide && e.in.Writes.Only() == reg:
		return e.extended(rm, 1), reg
	case op == 0x89 && rex&8 == 0 && e.code[0] != 0x66 && e.in.Writes.Only() == rm:
		return e.extended(reg, 4), rm
	case op == 0x8b && rex&8 == 0 && e.code[0] != 0x66 && e.in.Writes.Only() == reg:
		return e.extended(rm, 4), reg
	}
	return value{}, insn.NoReg
}

// extended returns the low n bytes of a register, zero-extended.
func (e *effect) extended(r insn.Reg, n int) value {
	v := e.regs[r].vague()
	if c, ok := e.regs[r].number(n); ok {
		v.bytes, v.off = 8, int64(c)
	}
	return v
}

// writes stores the results that go to memory, and what a push saves.
func (e *effect) writes() bool {
	in := e.in
	if in.StackWrite && in.Kind.Straight() && in.SPChange != 0 {
		v := e.from.vague()
		if in.Kind == insn.Push {
			v = e.pushed()
		}
		sp := e.regs[insn.RSP].plus(in.SPChange)
		if !e.memory.store(e.state, in, sp, int(-in.SPChange), v) {
			return false
		}
	}
	for i := range in.NMem {
		m := &in.Mem[i]
		if !m.Write {
			continue
		}
		v := e.from.vague()
		switch {
		case in.HasImm:
			v = value{bytes: uint8(min(max(m.Size, 0), 8)), off: int64(in.ValueImm)}
		case in.ValueReg < numRegs && !m.Read:
			if v = e.regs[in.ValueReg]; m.Size < wordSize {
				v = v.vague()
				if c, ok := e.regs[in.ValueReg].number(m.Size); ok {
					v.bytes, v.off = uint8(m.Size), int64(c)
				}
			}
		}
		if in.Repeats != 0 {
			e.at[i] = e.at[i].somewhere()
		}
		if !e.memory.store(e.state, in, e.at[i], m.Size, v) {
			return false
		}
	}
	return true
}

// pushed returns the value of the register that a push saves.
func (e *effect) pushed() value {
	for r := insn.Reg(0); r < numRegs; r++ {
		if r != insn.RSP && e.in.Reads.Has(r) {
			return e.regs[r]
		}
	}
	return e.regs[insn.RSP]
}

// registers sets the registers that the instruction writes to what can be said of any result of its
// operands.
func (e *effect) registers() {
	in := e.in
	v := e.from.vague()
	wrote := false
	for r := insn.Reg(0); r < numRegs; r++ {
		if !in.Writes.Has(r) || r == insn.RSP {
			continue
		}
		wrote = true
		if in.SPChange > 0 { // a pop
			x, ok := e.memory.load(e.state, in, e.regs[insn.RSP], wordSize)
			e.ok = e.ok && ok
			e.regs[r] = x
			continue
		}
		kept := e.regs[r] // an 8-bit or 16-bit result keeps the rest of the register
		e.regs[r] = value{may: v.may | kept.may, read: firstRead(v.read, kept.read)}
	}
	stores := in.NMem > 0 && (in.Mem[0].Write || in.NMem > 1 && in.Mem[1].Write)
	if !wrote && !stores && !in.Tests && !in.StackWrite && in.SPChange == 0 && !arithmetic(e.code) {
		e.vector.may |= v.may
		e.vector.read = firstRead(e.vector.read, v.read)
	}
}

// stackPointer sets the stack pointer.
func (e *effect) stackPointer() {
	in, sp := e.in, e.sp
	switch {
	case !in.Writes.Has(insn.RSP):
	case !in.SPLost:
		e.regs[insn.RSP] = sp.plus(in.SPChange)
	case in.Sum.Dst == insn.RSP || in.Derived.Dst == insn.RSP: // set by result
	case len(e.code) > 0 && e.code[len(e.code)-1] == 0xc9 && in.NMem == 0: // leave
		v, ok := e.memory.load(e.state, in, e.bp, wordSize)
		e.ok = e.ok && ok
		e.regs[insn.RBP], e.regs[insn.RSP] = v, e.bp.plus(wordSize)
	case in.Reads.Has(insn.RSP) && in.NMem == 0:
		e.regs[insn.RSP] = sp.somewhere() // it is aligned, or makes room
	default:
		e.regs[insn.RSP] = value{}
	}
	if v := e.regs[insn.RSP]; v.exact && in.SPChange > 0 {
		if n, _ := v.object(); n < len(e.frames) && n == e.memory.frame() {
			e.change(n).cut(v.off - redZone)
		}
	}
}
