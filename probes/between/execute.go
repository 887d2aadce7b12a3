package between

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// operation is an instruction while it is executed.
type operation struct {
	*machine
	e              *engine
	in             *insn.Inst
	op             int
	rex            byte
	rest           []byte // behind the opcode: a ModR/M byte, where there is one
	narrow, repeat bool   // the prefixes 66 and f3
	single         bool   // f2
	size           int    // of integer operands, in bytes
}

func (e *engine) operation(m *machine, in *insn.Inst, code []byte) operation {
	o := operation{machine: m, e: e, in: in, size: 4}
	o.op, o.rex, o.rest = opcode(code)
	for _, b := range code {
		switch b {
		case 0x66:
			o.narrow = true
		case 0xf3:
			o.repeat = true
		case 0xf2:
			o.single = true
		case 0xf0, 0x2e, 0x3e, 0x64, 0x65, 0x26, 0x36:
		default:
			return o.sized()
		}
	}
	return o.sized()
}

func (o operation) sized() operation {
	switch {
	case o.rex&8 != 0:
		o.size = 8
	case o.narrow:
		o.size = 2
	}
	return o
}

// Operands.

func (o *operation) modrm() byte {
	if len(o.rest) == 0 {
		return 0
	}
	return o.rest[0]
}

func (o *operation) isRegister() bool { return o.modrm() >= 0xc0 }
func (o *operation) regNumber() int   { return int(o.modrm()>>3&7 | o.rex&4<<1) }
func (o *operation) rmNumber() int    { return int(o.modrm()&7 | o.rex&1<<3) }
func (o *operation) group() int       { return int(o.modrm() >> 3 & 7) }
func (o *operation) next() uint64     { return o.pc + uint64(o.in.Len) }

// address returns the address of the memory operand, or what lea computes.
func (o *operation) address() (t term, ok bool) {
	b := o.rest
	if len(b) == 0 || b[0] >= 0xc0 {
		return t, false
	}
	mod, rm := b[0]>>6, b[0]&7
	b = b[1:]
	noBase := false
	switch {
	case rm == 4:
		if len(b) == 0 {
			return t, false
		}
		sib := b[0]
		b = b[1:]
		if index := int(sib>>3&7 | o.rex&2<<2); index != 4 {
			t = operate(shifts+4, o.regs[index], number(uint64(sib>>6)), wordSize)
			if sib>>6 == 0 {
				t = o.regs[index]
			}
		}
		if noBase = sib&7 == 5 && mod == 0; !noBase {
			t = operate(adds, o.regs[sib&7|o.rex&1<<3], t, wordSize)
		}
	case rm == 5 && mod == 0:
		noBase = true
		t = number(o.next())
	default:
		t = o.regs[rm|o.rex&1<<3]
	}
	switch {
	case mod == 1 && len(b) >= 1:
		t = t.plus(uint64(int64(int8(b[0]))))
	case (mod == 2 || noBase) && len(b) >= 4:
		t = t.plus(uint64(int64(int32(binary.LittleEndian.Uint32(b)))))
	case mod != 0 || noBase:
		return t, false
	}
	if o.in.NMem > 0 && o.in.Mem[0].Segment {
		t = operate(adds, term{sym: localSymbol}, t, wordSize)
	}
	return t, true
}

// register returns the low bytes of a register.
func (o *operation) register(n, size int) term {
	if size == 1 && o.rex == 0 && n >= 4 && n < 8 {
		return o.e.fresh().trunc(1) // ah, ch, dh, bh
	}
	return o.regs[n].trunc(size)
}

// set sets a register: 4 bytes clear the others, 1 and 2 keep them.
func (o *operation) set(n int, v term, size int) {
	switch {
	case size == 1 && o.rex == 0 && n >= 4 && n < 8:
		o.regs[n-4] = o.e.fresh()
	case size < 4:
		o.regs[n] = o.regs[n].with(v, size)
	default:
		o.regs[n] = v.trunc(size)
	}
}

// rm returns the operand that ModR/M names.
func (o *operation) rm(size int) term {
	if o.isRegister() {
		return o.register(o.rmNumber(), size)
	}
	at, ok := o.address()
	if !ok {
		return o.e.fresh()
	}
	return o.e.load(o.machine, at, size)
}

func (o *operation) setRM(v term, size int) {
	if o.isRegister() {
		o.set(o.rmNumber(), v, size)
		return
	}
	if at, ok := o.address(); ok {
		o.e.store(o.machine, at, size, v)
		return
	}
	o.tooMuch = true
}

// immediate returns the immediate of n bytes, 4 if n is 8, at the end of the instruction, sign-extended.
func (o *operation) immediate(n int) term {
	e := effect{code: o.rest}
	i := e.imm(n)
	if !i.ok {
		return o.e.fresh()
	}
	return number(i.n)
}

// execute applies an instruction that is Straight. It returns false if that is not understood.
func (o *operation) execute() bool {
	if o.in.Kind == insn.Nop {
		return true
	}
	if !o.in.Known {
		return false
	}
	if o.in.Locked || o.op == 0 || !(o.arithmetic() || o.moves() || o.stack() || o.vector()) {
		o.unknown()
	}
	return !o.tooMuch
}

func (o *operation) arithmetic() bool {
	size := o.size
	if o.op&1 == 0 && o.op != 0x6b {
		size = 1
	}
	switch op := o.op; {
	case op < 0x40 && op&7 < 6 && op>>3 != 2 && op>>3 != 3:
		o.binary(op>>3, op&7, size)
	case op == 0x80 || op == 0x81 || op == 0x83:
		n := size
		if op == 0x83 {
			n, size = 1, o.size
		}
		if g := o.group(); g == 2 || g == 3 {
			return false
		}
		o.result(o.group(), o.rm(size), o.immediate(n), size, func(v term) { o.setRM(v, size) })
	case op == 0x84 || op == 0x85:
		o.flags = logic(operate(4, o.rm(size), o.register(o.regNumber(), size), size), size)
	case op == 0xa8 || op == 0xa9:
		o.flags = logic(operate(4, o.register(0, size), o.immediate(size), size), size)
	case (op == 0xf6 || op == 0xf7) && o.group() < 2:
		o.flags = logic(operate(4, o.rm(size), o.immediate(size), size), size)
	case (op == 0xf6 || op == 0xf7) && o.group() == 2:
		o.setRM(operate(6, o.rm(size), number(mask(size)), size), size)
	case (op == 0xf6 || op == 0xf7) && o.group() == 3:
		v := operate(subtracts, number(0), o.rm(size), size)
		o.setRM(v, size)
		o.flags = partial(v, size)
	case (op == 0xfe || op == 0xff) && o.group() < 2:
		v := operate(adds, o.rm(size), number(1-2*uint64(o.group())), size).trunc(size)
		o.setRM(v, size)
		o.flags = partial(v, size)
	case op == 0xc0 || op == 0xc1 || op == 0xd0 || op == 0xd1 || op == 0xd2 || op == 0xd3:
		return o.shifts(size)
	case op == 0x0faf:
		o.set(o.regNumber(), product(o.register(o.regNumber(), o.size), o.rm(o.size), o.size), o.size)
		o.flags = comparison{}
	case op == 0x69 || op == 0x6b:
		n := o.size
		if op == 0x6b {
			n = 1
		}
		o.set(o.regNumber(), product(o.rm(o.size), o.immediate(n), o.size), o.size)
		o.flags = comparison{}
	default:
		return false
	}
	return true
}

// binary executes one of the operations with the low opcodes; form says which operands it has.
func (o *operation) binary(group, form, size int) {
	reg := o.regNumber()
	switch form {
	case 0, 1:
		o.result(group, o.rm(size), o.register(reg, size), size, func(v term) { o.setRM(v, size) })
	case 2, 3:
		o.result(group, o.register(reg, size), o.rm(size), size, func(v term) { o.set(reg, v, size) })
	default:
		o.result(group, o.register(0, size), o.immediate(size), size, func(v term) { o.set(0, v, size) })
	}
}

// compares is the group of cmp.
const compares = 7

// result computes a result and the flags.
func (o *operation) result(group int, a, b term, size int, set func(term)) {
	a, b = a.trunc(size), b.trunc(size)
	f := comparison{known: true, size: size, x: a, y: b}
	if group != compares {
		v := operate(group, a, b, size).trunc(size)
		set(v)
		switch group {
		case adds:
			f = partial(v, size)
		case subtracts:
		default:
			f = logic(v, size)
		}
	}
	o.flags = f
}

// logic returns the flags after an operation on bits.
func logic(v term, size int) comparison {
	return comparison{known: true, size: size, x: v.trunc(size)}
}

// partial returns the flags of which only those are known that depend on the result alone.
func partial(v term, size int) comparison {
	return comparison{known: true, partial: true, size: size, x: v.trunc(size)}
}

func product(a, b term, size int) term {
	x, ok := a.trunc(size).constant()
	y, ok2 := b.constant()
	if ok && ok2 {
		return number(x * y & mask(size))
	}
	return combined(10, size, a, b)
}

func (o *operation) shifts(size int) bool {
	by := number(1)
	switch {
	case o.op < 0xc2:
		by = o.immediate(1)
	case o.op >= 0xd2:
		by = o.register(1, 1)
	}
	n, ok := by.constant()
	if g := o.group(); !ok || g != 4 && g != 5 && g != 7 {
		return false
	}
	if n &= uint64(max(8*size-1, 31)); n == 0 {
		return true
	}
	if n >= uint64(8*size) {
		return false
	}
	v := operate(shifts+o.group(), o.rm(size), number(n), size).trunc(size)
	o.setRM(v, size)
	o.flags = partial(v, size)
	return true
}

// moves executes what copies numbers.
func (o *operation) moves() bool {
	size := o.size
	if o.op&1 == 0 {
		size = 1
	}
	reg := o.regNumber()
	switch op := o.op; {
	case op == 0x88 || op == 0x89:
		o.setRM(o.register(reg, size), size)
	case op == 0x8a || op == 0x8b:
		o.set(reg, o.rm(size), size)
	case op == 0xc6 || op == 0xc7:
		o.setRM(o.immediate(size), size)
	case op >= 0xb0 && op < 0xc0 && o.in.NMem == 0:
		o.loadImmediate()
	case op == 0x8d:
		at, ok := o.address()
		if !ok {
			return false
		}
		o.set(reg, at, max(o.size, 2))
	case op == 0x63 && o.size == 8:
		o.set(reg, o.rm(4).extended(4), 8)
	case op == 0x0fb6 || op == 0x0fb7:
		o.set(reg, o.rm(1+op&1), o.size)
	case op == 0x0fbe || op == 0x0fbf:
		o.set(reg, o.rm(1+op&1).extended(1+op&1), o.size)
	case op == 0x98:
		o.set(0, o.register(0, o.size/2).extended(o.size/2), o.size)
	case op == 0x99:
		o.set(2, operate(shifts+7, o.register(0, o.size), number(uint64(8*o.size-1)), o.size), o.size)
	case op >= 0x0f90 && op < 0x0fa0:
		return o.setcc() || o.isLost()
	case op >= 0x0f40 && op < 0x0f50:
		return o.cmov() || o.isLost()
	default:
		return false
	}
	return true
}

func (o *operation) loadImmediate() {
	n := o.op&7 | int(o.rex&1)<<3
	switch {
	case o.op < 0xb8:
		o.set(n, o.immediate(1), 1)
	case o.size == 8 && len(o.rest) >= 8:
		o.regs[n] = number(binary.LittleEndian.Uint64(o.rest))
	default:
		o.set(n, o.immediate(o.size), o.size)
	}
}

// condition returns whether a condition holds. Where that is not known it does, and a machine on which it does not is
// left for later; ok is false if there are too many.
func (e *engine) condition(m *machine, cond byte) (holds, ok bool) {
	if m.refused {
		m.refused = false
		return false, true
	}
	if holds, ok = m.flags.decide(cond, m.facts); ok {
		return holds, true
	}
	if e.forks++; e.forks > maxForks {
		return false, false
	}
	not := m.clone()
	not.facts, not.refused = m.flags.assume(cond, false, m.facts), true
	e.waiting = append(e.waiting, not)
	m.facts = m.flags.assume(cond, true, m.facts)
	return true, true
}

// isLost ends the path: of an instruction whose condition is not known, there are too many.
func (o *operation) isLost() bool {
	o.tooMuch = true
	return true
}

func (o *operation) setcc() bool {
	holds, ok := o.e.condition(o.machine, byte(o.op&15))
	if !ok {
		return false
	}
	n := uint64(0)
	if holds {
		n = 1
	}
	o.setRM(number(n), 1)
	return true
}

func (o *operation) cmov() bool {
	v, old := o.rm(o.size), o.register(o.regNumber(), o.size)
	holds, ok := o.e.condition(o.machine, byte(o.op&15))
	if !ok {
		return false
	}
	if !holds {
		v = old
	}
	o.set(o.regNumber(), v, o.size)
	return true
}

// stack executes push, pop and leave.
func (o *operation) stack() bool {
	sp := o.regs[insn.RSP]
	switch op := o.op; {
	case op >= 0x50 && op < 0x58 && !o.narrow:
		v := o.regs[op&7|int(o.rex&1)<<3]
		o.push(v, true)
	case op == 0x68 || op == 0x6a:
		n := 4
		if op == 0x6a {
			n = 1
		}
		o.push(o.immediate(n), false)
	case op >= 0x58 && op < 0x60 && !o.narrow:
		v := o.e.load(o.machine, sp, wordSize)
		o.regs[insn.RSP] = sp.plus(wordSize)
		o.regs[op&7|int(o.rex&1)<<3] = v
	case op == 0xc9:
		bp := o.regs[insn.RBP]
		o.regs[insn.RBP] = o.e.load(o.machine, bp, wordSize)
		o.regs[insn.RSP] = bp.plus(wordSize)
	default:
		return false
	}
	return true
}

func (o *operation) push(v term, saved bool) {
	sp := o.regs[insn.RSP].plus(^uint64(wordSize - 1))
	o.regs[insn.RSP] = sp
	o.e.store(o.machine, sp, wordSize, v)
	if n := len(o.cells); n > 0 && saved {
		o.cells[n-1].saved = true
	}
}

// unknown forgets all that an instruction changes.
func (o *operation) unknown() {
	in := o.in
	for i := range in.NMem {
		if in.Mem[i].Write {
			o.overwrites(&in.Mem[i])
		}
	}
	for r := range insn.Reg(numRegs) {
		if in.Writes.Has(r) {
			o.regs[r] = o.e.fresh()
		}
	}
	if !in.KeepsFlags {
		o.flags = comparison{}
	}
	if o.op == 0 || o.op >= 0x0f00 {
		for i := range o.vectors {
			o.vectors[i] = [2]term{o.e.fresh(), o.e.fresh()}
		}
	}
	if in.SPChange != 0 && in.StackWrite {
		o.tooMuch = true
	}
}

// overwrites records that an instruction writes what is not known to a memory operand.
func (o *operation) overwrites(m *insn.Mem) {
	at := number(m.Addr + o.bias)
	if !m.Fixed {
		at = number(uint64(m.Disp))
		if m.Segment {
			at = operate(adds, at, term{sym: localSymbol}, wordSize)
		}
		if m.Base < numRegs {
			at = operate(adds, at, o.regs[m.Base], wordSize)
		}
		if m.Index < numRegs {
			at = o.e.fresh()
		}
	}
	size := m.Size
	n, counted := o.regs[insn.RCX].constant()
	switch {
	case o.in.Repeats != 0 && counted && n < 1<<20:
		size = int(n) * o.in.Repeats
	case o.in.Repeats != 0 || size == 0 || at.sym != noSymbol && at.sym != localSymbol && at.sym != stackSymbol && m.Index < numRegs:
		o.forget()
		o.tooMuch = o.tooMuch || o.in.Repeats != 0 || size == 0
		return
	}
	for done := 0; done < size && !o.tooMuch; done += wordSize {
		o.e.store(o.machine, at.plus(uint64(done)), min(wordSize, size-done), o.e.fresh())
	}
}
