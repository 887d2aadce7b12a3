package insn

// effects sets the fields of Inst that describe the effects of the instruction. Each function below
// returns false for an opcode that is not on its list.
func (d *x86) effects() {
	in := d.in
	if d.isMem && d.addr32 && !d.mem.Fixed {
		d.control() // its address is truncated to 32 bits, for which Mem has no field
		in.Locked = in.Locked || d.lock
		d.clearUncertain()
		return
	}
	if d.control() {
		in.Known = true
	} else if in.Kind == Plain {
		in.Known = d.plain()
	}
	in.Locked = in.Locked || d.lock
	if !in.Known {
		d.clearUncertain()
		return
	}
	in.KeepsFlags = d.keepsFlags()
	if in.Sum.Dst == NoReg && in.SPChange == 0 && in.Kind == Plain && in.Writes.Has(RSP) {
		in.SPLost = true
	}
	if in.Sum.Dst == RSP {
		in.SPLost = in.Sum.Src != RSP || in.Sum.Add != NoReg
		if !in.SPLost {
			in.SPChange = in.Sum.Imm
		}
	}
}

// clearUncertain clears what is not certain about an instruction that is not modelled. It keeps a
// memory operand at a fixed address, as neither read nor written.
func (d *x86) clearUncertain() {
	in := d.in
	locked := in.Locked
	*in = Inst{Addr: in.Addr, Len: in.Len, Kind: in.Kind, Target: in.Target, Locked: locked,
		ValueReg: NoReg, Sum: noSum, Derived: noDerived, BitIndex: NoReg, SPLost: d.enc == legacy || d.enc == xop}
	if d.isMem && d.mem.Fixed {
		in.Mem[0], in.NMem = d.mem, 1
		in.Mem[0].Read, in.Mem[0].Write = false, false
	}
}

func (d *x86) plain() bool {
	switch {
	case d.enc == xop:
		return false
	case d.enc == evex:
		return d.evexEffects()
	case d.table == 0:
		return d.plain1()
	case d.table == 1:
		return d.enc == legacy && d.plain0F() || d.sse()
	case d.table == 2:
		return d.plain38()
	}
	return d.plain3A()
}

// size returns the operand size in bytes of an opcode that has an 8-bit twin with the lowest bit
// clear.
func (d *x86) size() int {
	if d.op&1 == 0 {
		return 1
	}
	return d.word()
}

// word returns the operand size in bytes: 2, 4 or 8.
func (d *x86) word() int {
	switch {
	case d.rexW:
		return 8
	case d.opsize:
		return 2
	}
	return 4
}

// stackWord returns the size of a push in bytes: 8, or 2 with the prefix 66.
func (d *x86) stackWord() int64 {
	if d.opsize {
		return 2
	}
	return 8
}

func (d *x86) rd(rs ...Reg) {
	for _, r := range rs {
		d.in.Reads = d.in.Reads.With(r)
	}
}

func (d *x86) wr(rs ...Reg) {
	for _, r := range rs {
		d.in.Writes = d.in.Writes.With(r)
	}
}

// gpr returns the register that a 3-bit field encodes as an operand of the given size. Without REX,
// the byte registers 4 to 7 are ah, ch, dh and bh.
func (d *x86) gpr(low byte, ext bool, size int) Reg {
	if size == 1 && !d.hasREX && d.enc == legacy && low >= 4 {
		return Reg(low - 4)
	}
	return reg(low, ext)
}

func (d *x86) g(size int) Reg { return d.gpr(d.reg, d.rexR, size) }
func (d *x86) e(size int) Reg { return d.gpr(d.rm, d.rexB, size) }

// touch records that size bytes of the ModRM operand are read or written.
func (d *x86) touch(size int, read, write bool) {
	if d.isMem {
		d.memory(d.mem, size, read, write)
		return
	}
	if read {
		d.rd(d.e(size))
	}
	if write {
		d.wr(d.e(size))
	}
}

func (d *x86) memory(m Mem, size int, read, write bool) {
	m.Size, m.Read, m.Write = size, read, write
	d.rd(m.Base, m.Index)
	d.in.Mem[d.in.NMem] = m
	d.in.NMem++
}

// vectorOperand is touch for a ModRM operand that is either memory or a vector or x87 register.
func (d *x86) vectorOperand(size int, read, write bool) bool {
	if d.isMem {
		d.memory(d.mem, size, read, write)
	}
	return true
}

// sum records that dst becomes src + imm and that no other register changes.
func (d *x86) sum(dst, src Reg, imm int64) { d.in.Sum = Sum{dst, src, NoReg, imm} }

// control models instructions that transfer control or enter the kernel.
func (d *x86) control() bool {
	if d.enc != legacy {
		return false
	}
	if d.table == 0 {
		return d.control1()
	}
	if d.table != 1 {
		return false
	}
	in, op := d.in, d.op
	switch {
	case op >= 0x80 && op < 0x90:
		d.branch(CondJump)
		in.Cond = 1 + op&0xf
		return true
	case op == 0x05:
		in.Kind = Syscall
		d.rd(RAX, RDI, RSI, RDX, R10, R8, R9)
		d.wr(RAX, RCX, R11)
		return true
	case op == 0x34:
		in.Kind = Syscall
	case op == 0x07, op == 0x35, op == 0x0b, op == 0xb9, op == 0xff, op == 0xaa:
		in.Kind = Stop
		return true
	}
	return false
}

func (d *x86) branch(k Kind) {
	d.in.Kind = k
	d.in.Target = d.in.Addr + uint64(d.pos) + uint64(d.imm)
}

func (d *x86) control1() bool {
	in, op := d.in, d.op
	switch {
	case op >= 0x70 && op < 0x80:
		d.branch(CondJump)
		in.Cond = 1 + op&0xf
		return true
	case op >= 0xe0 && op < 0xe4:
		d.branch(CondJump)
		d.rd(RCX)
		if op != 0xe3 {
			d.wr(RCX)
		}
		return true
	}
	switch op {
	case 0xe9, 0xeb:
		d.branch(Jump)
	case 0xe8:
		d.branch(Call)
		d.rd(RSP)
		d.wr(RSP)
		in.StackWrite = true
	case 0xc2, 0xc3, 0xca, 0xcb, 0xcf:
		in.Kind = Return
		d.rd(RSP)
		d.wr(RSP)
	case 0xcc, 0xf1, 0xf4:
		in.Kind = Stop
	case 0xcd:
		in.Kind = Syscall
		return false
	case 0xc7:
		if d.reg == 7 && !d.isMem { // xbegin: falls through, or resumes at the target
			d.branch(CondJump)
		}
		return false
	case 0xff:
		return d.indirect()
	default:
		return false
	}
	return true
}

func (d *x86) indirect() bool {
	switch d.reg {
	case 2, 3:
		d.in.Kind = IndirectCall
		d.rd(RSP)
		d.wr(RSP)
		d.in.StackWrite = true
	case 4, 5:
		d.in.Kind = IndirectJump
	default:
		return false
	}
	if d.reg&1 == 1 {
		d.touch(10, true, false)
	} else {
		d.touch(8, true, false)
	}
	return true
}

func (d *x86) plain1() bool {
	op := d.op
	switch {
	case op < 0x40:
		return d.arith(op>>3, op&7)
	case op >= 0x50 && op < 0x60:
		return d.pushPop()
	case op >= 0x90 && op < 0x98:
		return d.xchgRAX()
	case op >= 0xb0 && op < 0xc0:
		return d.movImm()
	case op >= 0xd8 && op < 0xe0:
		return d.x87()
	}
	switch op {
	case 0x63: // movslq
		d.touch(4, true, false)
		d.wr(d.g(8))
		d.load(8)
	case 0x68, 0x6a:
		d.push()
	case 0x69, 0x6b:
		d.touch(d.word(), true, false)
		d.wr(d.g(8))
	case 0x80, 0x81, 0x83:
		return d.arithImm()
	case 0x84, 0x85:
		d.touch(d.size(), true, false)
		d.rd(d.g(d.size()))
		d.in.Tests = true
	case 0x86, 0x87:
		d.exchange()
	case 0x88, 0x89, 0x8a, 0x8b:
		d.mov()
	case 0x8d:
		d.lea()
	case 0x8f:
		return d.popMem()
	case 0x98: // cltq
		d.rd(RAX)
		d.wr(RAX)
	case 0x99: // cqto
		d.rd(RAX)
		d.wr(RDX)
	case 0x9b, 0xf5, 0xf8, 0xf9, 0xfc:
	case 0xfd: // std
		d.in.Descends = true
	case 0x9c:
		d.push()
	case 0x9d:
		d.pop()
	case 0x9e:
		d.rd(RAX)
	case 0x9f:
		d.wr(RAX)
	case 0xa0, 0xa1, 0xa2, 0xa3:
		d.movOffset()
	case 0xa8, 0xa9:
		d.rd(RAX)
	case 0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf:
		return d.stringOp()
	case 0xc0, 0xc1, 0xd0, 0xd1, 0xd2, 0xd3:
		d.touch(d.size(), true, true)
		if op == 0xd2 || op == 0xd3 {
			d.rd(RCX)
		}
	case 0xc6, 0xc7:
		return d.movImmMem()
	case 0xc9: // leave
		d.rd(RBP)
		d.wr(RSP, RBP)
		d.in.SPLost = true
	case 0xf6, 0xf7:
		d.group3()
	case 0xfe, 0xff:
		return d.group45()
	default:
		return false
	}
	return true
}

// arith models add, or, adc, sbb, and, sub, xor, cmp in their six plain forms.
func (d *x86) arith(fn, form byte) bool {
	size := d.size()
	switch form {
	case 0, 1:
		d.touch(size, true, fn != 7)
		d.rd(d.g(size))
		if fn == 0 && size == 8 && !d.isMem {
			d.in.Sum = Sum{d.e(8), d.e(8), d.g(8), 0}
		}
	case 2, 3:
		d.touch(size, true, false)
		d.rd(d.g(size))
		if fn != 7 {
			d.wr(d.g(size))
		}
		if fn == 0 && size == 8 && !d.isMem {
			d.in.Sum = Sum{d.g(8), d.g(8), d.e(8), 0}
		}
	case 4, 5:
		d.rd(RAX)
		if fn != 7 {
			d.wr(RAX)
		}
		d.addConst(fn, RAX, size)
	default:
		return false
	}
	d.in.Tests = fn == 7
	d.derive(fn, form, size)
	if form < 4 && !d.isMem && size >= 4 && d.e(size) == d.g(size) && (fn == 5 || fn == 6) {
		d.in.Derived = noDerived
		d.in.Reads = 0 // xor %eax,%eax
		d.sum(d.g(size), NoReg, 0)
	}
	return true
}

// derive records in Derived how arithmetic in 64 bits computes its result.
func (d *x86) derive(fn, form byte, size int) {
	if size != 8 || fn == 2 || fn == 3 || fn == 7 || form > 3 || d.isMem && form < 2 || d.in.Sum.Dst != NoReg {
		return
	}
	dst, src := d.e(8), d.g(8)
	if form >= 2 {
		dst, src = src, dst
	}
	v := Derived{Dst: dst, From: RegSet(0).With(dst)}
	switch {
	case d.isMem:
	case fn == 5:
		v.Minus = v.Minus.With(src)
	default:
		v.From = v.From.With(src)
	}
	d.in.Derived = v
}

// addConst records an addition or subtraction of a constant in 64 bits.
func (d *x86) addConst(fn byte, r Reg, size int) {
	switch {
	case size != 8:
	case fn == 0:
		d.sum(r, r, d.imm)
	case fn == 5:
		d.sum(r, r, -d.imm)
	}
}

func (d *x86) arithImm() bool {
	size := d.size()
	d.touch(size, true, d.reg != 7)
	d.in.Tests = d.reg == 7
	if !d.isMem {
		d.addConst(d.reg, d.e(size), size)
		d.mask(size)
	}
	return true
}

// mask records that the result of an and, or or xor with a constant may be an address if the
// operand is one, except for an and with a small mask, whose result is small.
func (d *x86) mask(size int) {
	small := d.reg == 4 && d.imm >= 0
	if size == 8 && !small && d.e(8) != RSP && (d.reg == 1 || d.reg == 4 || d.reg == 6) {
		d.in.Derived = Derived{Dst: d.e(8), From: RegSet(0).With(d.e(8))}
	}
}

// push models a push whose operand is already recorded.
func (d *x86) push() {
	d.rd(RSP)
	d.wr(RSP)
	d.in.StackWrite = true
	d.in.SPChange = -d.stackWord()
}

func (d *x86) pop() {
	d.rd(RSP)
	d.wr(RSP)
	d.in.SPChange = d.stackWord()
}

func (d *x86) pushPop() bool {
	r := reg(d.op&7, d.rexB)
	if d.op < 0x58 {
		d.push()
		d.rd(r)
		if !d.opsize {
			d.in.Kind = Push
		}
		return true
	}
	d.pop()
	d.wr(r)
	if r == RSP {
		d.in.SPChange, d.in.SPLost = 0, true
	}
	return true
}

func (d *x86) popMem() bool {
	if d.reg != 0 || d.isMem && d.mem.Base == RSP { // rsp in the address is the one after the pop
		return false
	}
	d.pop()
	d.touch(int(d.stackWord()), false, true)
	if !d.isMem && d.e(8) == RSP {
		d.in.SPChange, d.in.SPLost = 0, true
	}
	return true
}

func (d *x86) xchgRAX() bool {
	r := reg(d.op&7, d.rexB)
	if r == RAX {
		d.in.Kind = Nop
		return true
	}
	d.rd(RAX, r)
	d.wr(RAX, r)
	return true
}

func (d *x86) movImm() bool {
	size := d.word()
	if d.op < 0xb8 {
		size = 1
	}
	r := d.gpr(d.op&7, d.rexB, size)
	d.wr(r)
	switch size {
	case 8:
		d.sum(r, NoReg, d.imm)
	case 4:
		d.sum(r, NoReg, int64(uint32(d.imm)))
	}
	return true
}

func (d *x86) mov() {
	size := d.size()
	if d.op < 0x8a {
		d.rd(d.g(size))
		d.touch(size, false, true)
		d.store(size)
	} else {
		d.touch(size, true, false)
		d.wr(d.g(size))
		d.load(size)
	}
	if d.isMem || size != 8 {
		return
	}
	if d.op < 0x8a {
		d.sum(d.e(8), d.g(8), 0)
	} else {
		d.sum(d.g(8), d.e(8), 0)
	}
}

// load records the register that a plain load sets, and store the register that a plain store
// stores.
func (d *x86) load(size int) {
	if d.isMem {
		d.in.ValueReg = d.g(size)
	}
}

func (d *x86) store(size int) {
	// ah, ch, dh and bh are the second byte of a register, which ValueReg cannot express.
	if d.isMem && (size > 1 || d.hasREX || d.reg < 4) {
		d.in.ValueReg = d.g(size)
	}
}

func (d *x86) movOffset() {
	m := Mem{Base: NoReg, Index: NoReg, Disp: d.imm, Fixed: !d.segment, Segment: d.segment, Addr: uint64(d.imm)}
	if d.op < 0xa2 {
		d.memory(m, d.size(), true, false)
		d.wr(RAX)
	} else {
		d.rd(RAX)
		d.memory(m, d.size(), false, true)
	}
	d.in.ValueReg = RAX
}

func (d *x86) movImmMem() bool {
	if d.reg != 0 {
		return false
	}
	size := d.size()
	d.touch(size, false, true)
	if d.isMem {
		d.in.HasImm, d.in.ValueImm = true, truncate(uint64(d.imm), size)
	} else if size == 8 {
		d.sum(d.e(8), NoReg, d.imm)
	} else if size == 4 {
		d.sum(d.e(4), NoReg, int64(uint32(d.imm)))
	}
	return true
}

func truncate(v uint64, size int) uint64 {
	if size >= 8 {
		return v
	}
	return v & (1<<(8*size) - 1)
}

func (d *x86) lea() {
	if !d.isMem {
		return
	}
	d.rd(d.mem.Base, d.mem.Index)
	r := d.g(8)
	d.wr(r)
	switch {
	case d.word() != 8:
	case d.mem.Fixed:
		d.sum(r, NoReg, int64(d.mem.Addr))
	case d.mem.Index == NoReg:
		d.sum(r, d.mem.Base, d.mem.Disp)
	case d.mem.Base == NoReg && d.mem.Scale == 1:
		d.sum(r, d.mem.Index, d.mem.Disp)
	default:
		d.in.Derived = Derived{Dst: r, From: RegSet(0).With(d.mem.Base).With(d.mem.Index), Imm: d.mem.Disp}
	}
}

func (d *x86) exchange() {
	size := d.size()
	d.touch(size, true, true)
	d.rd(d.g(size))
	d.wr(d.g(size))
	d.in.Locked = d.isMem
}

func (d *x86) group3() {
	size := d.size()
	switch d.reg {
	case 0, 1:
		d.touch(size, true, false)
		d.in.Tests = true
		return
	case 2, 3:
		d.touch(size, true, true)
		return
	}
	d.touch(size, true, false)
	d.rd(RAX)
	d.wr(RAX)
	if size > 1 {
		d.wr(RDX)
		if d.reg >= 6 {
			d.rd(RDX)
		}
	}
}

func (d *x86) group45() bool {
	size := d.size()
	switch {
	case d.reg < 2:
		d.touch(size, true, true)
		if !d.isMem && size == 8 {
			d.sum(d.e(8), d.e(8), 1-2*int64(d.reg))
		}
	case d.reg == 6 && d.op == 0xff:
		d.push()
		d.touch(int(d.stackWord()), true, false)
	default:
		return false
	}
	return true
}

// stringOp models string instructions: the operands are at rsi and rdi; with a repeat prefix, only
// rcx has their number.
func (d *x86) stringOp() bool {
	if d.addr32 || d.segment {
		return false
	}
	size := d.size()
	repeated := d.rep || d.repne
	n := size
	if repeated {
		n, d.in.Repeats = 0, size
		d.rd(RCX)
		d.wr(RCX)
	}
	at := func(r Reg, read, write bool) {
		d.memory(Mem{Base: r, Index: NoReg}, n, read, write)
		d.wr(r)
	}
	switch d.op &^ 1 {
	case 0xa4: // movs
		at(RSI, true, false)
		at(RDI, false, true)
	case 0xa6: // cmps
		at(RSI, true, false)
		at(RDI, true, false)
	case 0xaa: // stos
		at(RDI, false, true)
		d.rd(RAX)
		if !repeated && size <= 8 {
			d.in.ValueReg = RAX
		}
	case 0xac: // lods
		at(RSI, true, false)
		d.wr(RAX)
	case 0xae: // scas
		at(RDI, true, false)
		d.rd(RAX)
	}
	return true
}

// x87Memory has, for opcode d8+i and the reg field of ModRM, the operand size in bytes, negative if
// it is stored; 0: not modelled.
var x87Memory = [8][8]int{
	{4, 4, 4, 4, 4, 4, 4, 4},
	{4, 0, -4, -4, 28, 2, -28, -2},
	{4, 4, 4, 4, 4, 4, 4, 4},
	{4, -4, -4, -4, 0, 10, 0, -10},
	{8, 8, 8, 8, 8, 8, 8, 8},
	{8, -8, -8, -8, 108, 0, -108, -2},
	{2, 2, 2, 2, 2, 2, 2, 2},
	{2, -2, -2, -2, 10, 8, -10, -8},
}

func (d *x86) x87() bool {
	if !d.isMem {
		if d.op == 0xdf && d.reg == 4 && d.rm == 0 { // fnstsw %ax
			d.wr(RAX)
		}
		return true
	}
	n := x87Memory[d.op-0xd8][d.reg]
	if n == 0 || d.opsize {
		return false
	}
	d.memory(d.mem, max(n, -n), n > 0, n < 0)
	return true
}

func (d *x86) plain0F() bool {
	op := d.op
	switch {
	case op >= 0x40 && op < 0x50: // cmovcc
		d.touch(d.word(), true, false)
		d.rd(d.g(8))
		d.wr(d.g(8))
		if d.word() == 8 {
			d.in.Derived = Derived{Dst: d.g(8), From: RegSet(0).With(d.g(8))}
			if !d.isMem {
				d.in.Derived.From = d.in.Derived.From.With(d.e(8))
			}
		}
		return true
	case op >= 0x90 && op < 0xa0: // setcc
		d.touch(1, false, true)
		return true
	case op >= 0xc8 && op < 0xd0: // bswap
		r := reg(op&7, d.rexB)
		d.rd(r)
		d.wr(r)
		return true
	case op >= 0x19 && op < 0x20:
		return d.hintNop()
	}
	switch op {
	case 0x01:
		return d.group7()
	case 0x0d, 0x18: // prefetches
		return d.isMem && d.address()
	case 0x31: // rdtsc
		d.wr(RAX, RDX)
	case 0x77: // emms
	case 0xa2: // cpuid
		d.rd(RAX, RCX)
		d.wr(RAX, RBX, RCX, RDX)
	case 0xa3, 0xab, 0xb3, 0xbb, 0xba:
		return d.bitTest()
	case 0xa4, 0xa5, 0xac, 0xad: // shld, shrd
		d.touch(d.word(), true, true)
		d.rd(d.g(8))
		if op&1 == 1 {
			d.rd(RCX)
		}
	case 0xae:
		return d.group15()
	case 0xaf: // imul
		d.touch(d.word(), true, false)
		d.rd(d.g(8))
		d.wr(d.g(8))
	case 0xb0, 0xb1: // cmpxchg
		d.touch(d.size(), true, true)
		d.rd(RAX, d.g(d.size()))
		d.wr(RAX)
		d.store(d.size())
		d.exchangesIfEqual()
	case 0xb6, 0xb7, 0xbe, 0xbf: // movzx, movsx
		d.touch(1+int(op&1), true, false)
		d.wr(d.g(8))
		d.load(8)
	case 0xb8, 0xbc, 0xbd: // popcnt, bsf, tzcnt, bsr, lzcnt
		d.touch(d.word(), true, false)
		d.rd(d.g(8)) // bsf and bsr keep the old value where the source is 0
		d.wr(d.g(8))
	case 0xc0, 0xc1: // xadd
		d.touch(d.size(), true, true)
		d.rd(d.g(d.size()))
		d.wr(d.g(d.size()))
	case 0xc3: // movnti
		d.rd(d.g(8))
		d.touch(d.word(), false, true)
		d.store(8)
	case 0xc7:
		return d.group9()
	default:
		return false
	}
	return true
}

// exchangesIfEqual models the condition of cmpxchg: memory is written if it held the expected
// value.
func (d *x86) exchangesIfEqual() {
	if d.isMem {
		d.in.WritesIf = 1 + 0x4
	}
}

// address records that the operand's address is computed and no memory accessed.
func (d *x86) address() bool {
	d.rd(d.mem.Base, d.mem.Index)
	return true
}

func (d *x86) hintNop() bool {
	switch {
	case d.op == 0x1e && !d.isMem && d.rep && !(d.reg == 7 && (d.rm == 2 || d.rm == 3)):
		if d.reg == 1 { // rdssp: writes its operand if shadow stacks are on
			d.rd(d.e(8))
			d.wr(d.e(8))
			return true
		}
		return false
	case (d.op == 0x1a || d.op == 0x1b) && (d.opsize || d.rep || d.repne || !d.isMem):
		return false // the obsolete bounds registers (MPX)
	}
	if d.isMem {
		d.address()
	}
	d.in.Kind = Nop
	return true
}

// bitTest models bt, bts, btr and btc. If a register holds the bit number, the memory operand is
// only the start of a bit string.
func (d *x86) bitTest() bool {
	write := d.op != 0xa3
	size := d.word()
	if d.op == 0xba {
		if d.reg < 4 {
			return false
		}
		write = d.reg != 4
	} else {
		d.rd(d.g(8))
		if d.isMem {
			d.in.BitIndex, d.in.BitWord = d.g(8), size
			size = 0
		}
	}
	d.touch(size, true, write)
	d.in.Tests = !write
	return true
}

func (d *x86) group7() bool {
	if d.isMem {
		return false
	}
	switch d.reg<<3 | d.rm {
	case 0o20: // xgetbv
		d.rd(RCX)
		d.wr(RAX, RDX)
	case 0o71: // rdtscp
		d.wr(RAX, RDX, RCX)
	default:
		return false
	}
	return true
}

func (d *x86) group15() bool {
	if d.isMem {
		switch {
		case d.opsize || d.rep:
			return false
		case d.reg == 2:
			d.memory(d.mem, 4, true, false)
		case d.reg == 3:
			d.memory(d.mem, 4, false, true)
		case d.reg == 0 || d.reg == 4 || d.reg == 6:
			d.memory(d.mem, 0, false, true)
			d.rd(RAX, RDX)
		case d.reg == 1 || d.reg == 5:
			d.memory(d.mem, 0, true, false)
			d.rd(RAX, RDX)
		default:
			return false
		}
		return true
	}
	switch {
	case d.opsize || d.repne:
		return false
	case d.rep && d.reg < 4: // rdfsbase and the like
		d.touch(8, d.reg >= 2, d.reg < 2)
	case !d.rep && d.reg >= 5: // lfence, mfence, sfence
		d.in.Locked = true
	default:
		return false
	}
	return true
}

func (d *x86) group9() bool {
	switch {
	case d.isMem && d.reg == 1: // cmpxchg8b, cmpxchg16b
		size := 8
		if d.rexW {
			size = 16
		}
		d.memory(d.mem, size, true, true)
		d.rd(RAX, RBX, RCX, RDX)
		d.wr(RAX, RDX)
		d.exchangesIfEqual()
	case d.isMem && d.reg >= 3 && d.reg <= 5: // xrstors, xsavec, xsaves
		d.memory(d.mem, 0, d.reg == 3, d.reg != 3)
		d.rd(RAX, RDX)
	case !d.isMem && d.reg >= 6: // rdrand, rdseed, rdpid
		d.wr(d.e(8))
	default:
		return false
	}
	return true
}

// keepsFlags reports whether the instruction does not change the flags: moves, pushes, pops,
// conditional moves and sets, jumps and calls (Intel's manual, volume 1, appendix A).
func (d *x86) keepsFlags() bool {
	op := d.op
	switch {
	case d.enc != legacy:
		return d.enc == vex && d.table == 1 && (op == 0x10 || op == 0x11 || op == 0x28 || op == 0x29 || op == 0x6f || op == 0x7f)
	case d.table == 0:
		return op >= 0x50 && op < 0x60 || op == 0x63 || op == 0x68 || op == 0x6a || op >= 0x70 && op < 0x80 ||
			op >= 0x86 && op < 0x8c || op == 0x8d || op == 0x8f || op >= 0x90 && op < 0x9a || op >= 0xa0 && op < 0xa4 ||
			op >= 0xb0 && op < 0xc0 || op == 0xc6 || op == 0xc7 || op == 0xe8 || op == 0xe9 || op == 0xeb
	case d.table == 1:
		return op >= 0x40 && op < 0x50 || op >= 0x80 && op < 0xa0 || op >= 0xb6 && op < 0xb8 || op == 0xbe || op == 0xbf ||
			op >= 0xc8 && op < 0xd0 || op >= 0x18 && op < 0x20 || op == 0x10 || op == 0x11 || op == 0x28 || op == 0x29 ||
			op == 0x6e || op == 0x6f || op == 0x7e || op == 0x7f || op == 0xd6
	}
	return false
}
