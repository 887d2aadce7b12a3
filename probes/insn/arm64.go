package insn

import "fmt"

// The decoder of AArch64, by the encoding groups of the Arm Architecture Reference Manual (C4.1,
// "A64 instruction set encoding"). The fields of A64 are so regular that a whole group can be
// modelled at a time. x/arch's arm64asm serves only Format and the tests, because it rejects the
// LSE atomics, on which every lock is built since Armv8.1.

// armZR is register 31 where it stands for the zero register.
const armZR = 31

type arm struct {
	in *Inst
	w  uint32
}

func decodeARM(code []byte, addr uint64) (Inst, error) {
	if len(code) < 4 {
		return Inst{}, &Error{addr, cut}
	}
	if addr%4 != 0 {
		return Inst{}, &Error{addr, "an A64 instruction lies at a multiple of 4"}
	}
	in := Inst{Addr: addr, Len: 4, ValueReg: NoReg, Sum: noSum, Derived: noDerived, BitIndex: NoReg}
	a := &arm{in: &in, w: le32(code)}
	in.Known = a.group()
	if !in.Known {
		in = Inst{Addr: addr, Len: 4, Kind: in.Kind, Target: in.Target, Locked: in.Locked,
			Refused: in.Refused, Emulated: in.Emulated,
			ValueReg: NoReg, Sum: noSum, Derived: noDerived, BitIndex: NoReg, SPLost: true}
		return in, nil
	}
	in.stackFromSum()
	return in, nil
}

// stackFromSum sets SPChange or SPLost from Sum, for an instruction that writes the stack pointer.
func (in *Inst) stackFromSum() {
	if !in.Writes.Has(31) || in.SPChange != 0 {
		return
	}
	if in.Sum.Dst == 31 && in.Sum.Src == 31 && in.Sum.Add == NoReg {
		in.SPChange = in.Sum.Imm
		return
	}
	in.SPLost = true
}

func (a *arm) bits(hi, lo uint) uint32 { return a.w >> lo & (1<<(hi-lo+1) - 1) }
func (a *arm) bit(n uint) bool         { return a.w>>n&1 == 1 }

func (a *arm) sbits(hi, lo uint) int64 {
	n := hi - lo + 1
	return int64(uint64(a.bits(hi, lo))<<(64-n)) >> (64 - n)
}

func (a *arm) is(mask, value uint32) bool { return a.w&mask == value }

// rd and wr add the registers in the fields whose lowest bits are given to Reads and Writes;
// register 31 is the zero register there. In the fields of rdSP and wrSP it is the stack pointer.
func (a *arm) rd(lo ...uint) {
	for _, l := range lo {
		if r := a.bits(l+4, l); r != armZR {
			a.in.Reads = a.in.Reads.With(Reg(r))
		}
	}
}

func (a *arm) wr(lo ...uint) {
	for _, l := range lo {
		if r := a.bits(l+4, l); r != armZR {
			a.in.Writes = a.in.Writes.With(Reg(r))
		}
	}
}

func (a *arm) field(lo uint) Reg { return Reg(a.bits(lo+4, lo)) }
func (a *arm) rdSP(lo uint)      { a.in.Reads = a.in.Reads.With(a.field(lo)) }
func (a *arm) wrSP(lo uint)      { a.in.Writes = a.in.Writes.With(a.field(lo)) }

// pc returns the address off bytes from the instruction.
func (a *arm) pc(off int64) uint64 { return a.in.Addr + uint64(off) }

func (a *arm) group() bool {
	switch a.bits(28, 25) {
	case 0b1000, 0b1001:
		return a.immediate()
	case 0b1010, 0b1011:
		return a.branch()
	case 0b0101, 0b1101:
		return a.register()
	case 0b0100, 0b0110, 0b1100, 0b1110:
		return a.loadStore()
	case 0b0111, 0b1111:
		return a.float()
	case 0:
		if a.bits(31, 16) == 0 { // udf
			a.in.Kind, a.in.Refused = Stop, true
			return true
		}
	}
	return false // SVE, SME, unallocated
}

// immediate decodes data processing with an immediate.
func (a *arm) immediate() bool {
	switch a.bits(25, 23) {
	case 0, 1:
		a.address()
	case 2:
		a.addImm()
	case 3: // with tags
		return false
	case 4: // logical: only non-flag-setting ones may write sp
		a.rd(5)
		if a.bits(30, 29) == 3 {
			a.wr(0)
		} else {
			a.wrSP(0)
		}
	case 5:
		a.moveWide()
	case 6: // bitfield: bfm keeps part of the destination
		a.rd(5)
		if a.bits(30, 29) == 1 {
			a.rd(0)
		}
		a.wr(0)
	case 7: // extr
		a.rd(5, 16)
		a.wr(0)
	}
	return true
}

func (a *arm) address() {
	imm := a.sbits(23, 5)<<2 | int64(a.bits(30, 29))
	to := a.pc(imm)
	if a.bit(31) {
		to = a.in.Addr&^0xfff + uint64(imm<<12)
	}
	a.wr(0)
	a.in.Emulated = true
	if a.field(0) != armZR {
		a.in.Sum = Sum{a.field(0), NoReg, NoReg, int64(to)}
	}
}

func (a *arm) addImm() {
	imm := int64(a.bits(21, 10))
	if a.bit(22) {
		imm <<= 12
	}
	if a.bit(30) {
		imm = -imm
	}
	a.rdSP(5)
	if a.bit(29) { // adds, subs, cmp: 31 is the zero register
		a.wr(0)
		if a.field(0) == armZR {
			a.in.Tests = true
			return
		}
	} else {
		a.wrSP(0)
	}
	if a.bit(31) {
		a.in.Sum = Sum{a.field(0), a.field(5), NoReg, imm}
	}
}

func (a *arm) moveWide() {
	shift := 16 * a.bits(22, 21)
	v := uint64(a.bits(20, 5)) << shift
	a.wr(0)
	switch a.bits(30, 29) {
	case 3: // movk keeps the other bits
		a.rd(0)
		return
	case 0:
		v = ^v
	}
	if !a.bit(31) {
		v &= 0xffffffff
	}
	if a.field(0) != armZR {
		a.in.Sum = Sum{a.field(0), NoReg, NoReg, int64(v)}
	}
}

// branch decodes branches, exceptions and system instructions. What a uprobe does at them follows
// arch/arm64/kernel/probes/decode-insn.c of Linux.
func (a *arm) branch() bool {
	in := a.in
	switch {
	case a.is(0x7c000000, 0x14000000): // b, bl
		in.Kind, in.Target, in.Emulated = Jump, a.pc(a.sbits(25, 0)<<2), true
		if a.bit(31) {
			in.Kind = Call
			in.Writes = in.Writes.With(30)
		}
	case a.is(0x7e000000, 0x34000000): // cbz, cbnz
		in.Kind, in.Target, in.Emulated = CondJump, a.pc(a.sbits(23, 5)<<2), true
		a.rd(0)
	case a.is(0x7e000000, 0x36000000): // tbz, tbnz
		in.Kind, in.Target, in.Emulated = CondJump, a.pc(a.sbits(18, 5)<<2), true
		a.rd(0)
	case a.is(0xff000000, 0x54000000): // b.cond; bc.cond has bit 4 and no simulation
		in.Kind, in.Target, in.Emulated = CondJump, a.pc(a.sbits(23, 5)<<2), !a.bit(4)
		in.Refused = a.bit(4)
	case a.is(0xfe000000, 0xd6000000):
		return a.branchRegister()
	case a.is(0xff000000, 0xd4000000):
		return a.exception()
	case a.is(0xffc00000, 0xd5000000):
		return a.system()
	default:
		return false
	}
	return true
}

func (a *arm) branchRegister() bool {
	in := a.in
	plain := a.is(0xfe1ffc1f, 0xd61f0000)
	in.Emulated, in.Refused = plain, !plain // those that authenticate pointers are refused
	switch a.bits(24, 21) {
	case 0, 8:
		in.Kind = IndirectJump
	case 1, 9:
		in.Kind = IndirectCall
		in.Writes = in.Writes.With(30)
	case 2:
		in.Kind = Return
		if !plain {
			in.Reads = in.Reads.With(30).With(31)
			return true
		}
	default:
		in.Kind, in.Refused, in.Emulated = Stop, true, false
		return false
	}
	a.rd(5)
	if !plain && a.bit(24) {
		a.rdSP(0)
	}
	return true
}

func (a *arm) exception() bool {
	a.in.Refused = true
	if a.bits(23, 21) == 0 && a.bits(4, 0) == 1 { // svc
		a.in.Kind = Syscall
		a.in.Reads = 0x1ff // x0 to x5, and x8 for the number
		a.in.Writes = 1
		return true
	}
	a.in.Kind = Stop
	return true
}

// steppableHint reports whether the kernel steps hint n. It emulates nop.
func steppableHint(n uint32) bool {
	switch n {
	case 7, 8, 10, 24, 25, 26, 27, 32, 34, 36, 38:
		return true
	}
	return false
}

func (a *arm) system() bool {
	in := a.in
	switch {
	case a.is(0xfffff01f, 0xd503201f): // hints
		return a.hint()
	case a.is(0xfffff01f, 0xd503301f): // clrex, dsb, dmb, isb
		in.Locked = true
		return true
	case a.is(0xfff00000, 0xd5300000): // mrs
		a.wr(0)
		return true
	case a.is(0xfff8f01f, 0xd500401f), a.is(0xfff00000, 0xd5100000): // msr
		in.Refused = true
		a.rd(0)
		return a.is(0xfff00000, 0xd5100000)
	}
	return false
}

func (a *arm) hint() bool {
	in, n := a.in, a.bits(11, 5)
	in.Kind = Nop
	switch n {
	case 0:
		in.Emulated = true
		return true
	case 7: // xpaclri
		in.Reads, in.Writes = 1<<30, 1<<30
	case 8, 10, 12, 14: // pacia1716 and the like
		in.Reads, in.Writes = 1<<16|1<<17, 1<<17
	case 24, 25, 26, 27, 28, 29, 30, 31: // paciasp and the like
		in.Reads, in.Writes = 1<<30|1<<31, 1<<30
	}
	if in.Writes != 0 {
		in.Kind = Plain
	}
	in.Refused = !steppableHint(n)
	return true
}

// derive records in Derived how an add or sub of registers, in 64 bits, computes its result.
func (a *arm) derive() {
	if !a.bit(31) || a.field(0) == armZR {
		return
	}
	v := Derived{Dst: a.field(0), From: RegSet(0).With(a.field(5))}
	if a.bit(30) {
		v.Minus = v.Minus.With(a.field(16))
	} else {
		v.From = v.From.With(a.field(16))
	}
	a.in.Derived = v
}

// register decodes data processing between registers.
func (a *arm) register() bool {
	switch {
	case !a.bit(28) && !a.bit(24): // logical, shifted
		a.rd(5, 16)
		a.wr(0)
		a.in.Tests = a.in.Writes == 0
		// mov xd, xm is orr xd, xzr, xm
		if a.is(0xffe0ffe0, 0xaa0003e0) && a.field(0) != armZR && a.field(16) != armZR {
			a.in.Sum = Sum{a.field(0), a.field(16), NoReg, 0}
		}
	case !a.bit(28) && a.bit(21): // add, sub, extended: sp
		a.rdSP(5)
		a.rd(16)
		if a.bit(29) {
			a.wr(0)
		} else {
			a.wrSP(0)
		}
		a.derive()
		a.in.Tests = a.in.Writes == 0
	case !a.bit(28):
		a.rd(5, 16)
		a.wr(0)
		a.derive()
		a.in.Tests = a.in.Writes == 0
	case a.bit(24): // madd and the like
		a.rd(5, 16, 10)
		a.wr(0)
	default:
		return a.register2()
	}
	return true
}

func (a *arm) register2() bool {
	switch a.bits(23, 21) {
	case 0: // add with carry, and flag manipulation
		if a.bits(15, 10) != 0 {
			return false
		}
		a.rd(5, 16)
		a.wr(0)
	case 2: // conditional compare
		a.rd(5)
		if !a.bit(11) {
			a.rd(16)
		}
	case 4: // conditional select
		a.rd(5, 16)
		a.wr(0)
	case 6:
		return a.oneOrTwoSources()
	default:
		return false
	}
	return true
}

func (a *arm) oneOrTwoSources() bool {
	a.wr(0)
	a.rd(5)
	if a.bit(30) {
		// One source: bit counting and reversal; opcode2 1 authenticates pointers.
		return a.bits(20, 16) == 0
	}
	a.rd(16)
	op := a.bits(15, 10)
	return op == 2 || op == 3 || op >= 8 && op < 12 || op >= 16 && op < 24 && a.bits(29, 29) == 0
}

// float decodes floating point and vector instructions. They access no memory, and general
// registers only where they convert or move.
func (a *arm) float() bool {
	scalar := a.is(0x5f000000, 0x1e000000)
	switch {
	case scalar && a.bit(21) && a.bits(15, 10) == 0: // integer conversions, fmov
		return a.floatInteger()
	case a.is(0x5f200000, 0x1e000000): // fixed point conversions
		return a.floatInteger()
	case a.is(0xbfe08400, 0x0e000400) || a.is(0xffe08400, 0x6e000400): // copies: dup, ins, umov, smov
		return a.vectorCopy()
	}
	return true
}

func (a *arm) floatInteger() bool {
	switch a.bits(18, 16) {
	case 2, 3:
		a.rd(5)
	case 7:
		if a.bits(20, 19) == 3 { // fjcvtzs, or unallocated
			a.wr(0)
			return true
		}
		a.rd(5)
	default:
		a.wr(0)
	}
	return true
}

func (a *arm) vectorCopy() bool {
	if a.bit(29) {
		return true // ins, element to element
	}
	switch a.bits(14, 11) {
	case 1, 3:
		a.rd(5)
	case 5, 7:
		a.wr(0)
	}
	return true
}

// loadStore decodes loads and stores.
func (a *arm) loadStore() bool {
	switch {
	case a.is(0x3f000000, 0x08000000):
		return a.exclusive()
	case a.is(0x3b000000, 0x18000000):
		return a.literal()
	case a.is(0x3a000000, 0x28000000):
		return a.pair()
	case a.is(0x3b000000, 0x39000000):
		return a.unsignedOffset()
	case a.is(0x3b200000, 0x38000000):
		return a.shortOffset()
	case a.is(0x3b200c00, 0x38200800):
		return a.registerOffset()
	case a.is(0x3b200c00, 0x38200000):
		return a.atomic()
	case a.is(0x3f000000, 0x19000000):
		return a.releaseOffset()
	}
	return false // vector structures, tags, pointer-authenticated loads
}

// access records a memory operand at base + disp.
func (a *arm) access(disp int64, size int, read, write bool) *Mem {
	a.rdSP(5)
	m := &a.in.Mem[0]
	*m = Mem{Base: a.field(5), Index: NoReg, Disp: disp, Size: size, Read: read, Write: write}
	a.in.NMem = 1
	return m
}

// value records the general register of a plain load or store.
func (a *arm) value(load bool) {
	switch {
	case load:
		a.wr(0)
		if a.field(0) != armZR {
			a.in.ValueReg = a.field(0)
		}
	case a.field(0) == armZR:
		a.in.HasImm = true
	default:
		a.rd(0)
		a.in.ValueReg = a.field(0)
	}
}

// exclusive decodes load and store exclusive, load-acquire, store-release and cas.
func (a *arm) exclusive() bool {
	in := a.in
	size := 1 << a.bits(31, 30)
	load := a.bit(22)
	switch {
	case a.bit(23) && !a.bit(21): // ldar, stlr, ldlar, stllr
		a.access(0, size, load, !load)
		a.value(load)
	case a.bit(23): // cas
		in.Locked = true
		a.access(0, size, true, true)
		a.rd(16, 0)
		a.wr(16)
	case a.bit(21) && !a.bit(31): // casp
		in.Locked = true
		a.access(0, 8<<a.bits(30, 30), true, true)
		a.pairOf(16, true)
		a.pairOf(0, false)
	default:
		in.Locked, in.Refused = true, true
		if a.bit(21) {
			size *= 2
		}
		a.access(0, size, load, !load)
		if load {
			a.wr(0)
			if a.bit(21) {
				a.wr(10)
			}
		} else {
			a.wr(16)
			a.rd(0)
			if a.bit(21) {
				a.rd(10)
			}
		}
	}
	return true
}

// pairOf records that the even register in a field and the next register are read, or written.
func (a *arm) pairOf(lo uint, write bool) {
	r := a.field(lo)
	for _, r := range [2]Reg{r, r + 1} {
		if r == armZR {
			continue
		}
		a.in.Reads = a.in.Reads.With(r)
		if write {
			a.in.Writes = a.in.Writes.With(r)
		}
	}
}

// literal decodes loads from an address relative to the instruction. The kernel refuses a uprobe
// there.
func (a *arm) literal() bool {
	a.in.Refused = true
	to := a.pc(a.sbits(23, 5) << 2)
	m := Mem{Base: NoReg, Index: NoReg, Fixed: true, Addr: to, Disp: int64(to) - int64(a.in.Addr), Read: true}
	switch opc := a.bits(31, 30); {
	case a.bit(26):
		m.Size = 4 << opc
	case opc == 3: // prfm
		return true
	default:
		m.Size = [3]int{4, 8, 4}[opc]
		a.value(true)
	}
	a.in.Mem[0], a.in.NMem = m, 1
	return true
}

// writeBack records that disp is added to the base register.
func (a *arm) writeBack(disp int64) {
	a.wrSP(5)
	if a.in.Writes == RegSet(0).With(a.field(5)) {
		a.in.Sum = Sum{a.field(5), a.field(5), NoReg, disp}
	}
	if a.field(5) == 31 {
		a.in.SPChange = disp
	}
}

// pair decodes ldp, stp and the like.
func (a *arm) pair() bool {
	load, mode := a.bit(22), a.bits(24, 23)
	opc := a.bits(31, 30)
	size := 4 << (opc >> 1)
	if a.bit(26) {
		size = 4 << opc
	} else if opc == 3 || opc == 1 && !load { // stgp
		return false
	}
	disp := a.sbits(21, 15) * int64(size)
	at := disp
	if mode == 1 { // post-index
		at = 0
	}
	m := a.access(at, 2*size, load, !load)
	if !a.bit(26) {
		if load {
			a.wr(0, 10)
		} else {
			a.rd(0, 10)
		}
	}
	a.ownStack(m, mode == 3, disp)
	if mode == 1 || mode == 3 {
		a.writeBack(disp)
	}
	return true
}

// ownStack records a store that first decrements the stack pointer as a push.
func (a *arm) ownStack(m *Mem, pre bool, disp int64) {
	if m.Write && pre && disp < 0 && m.Base == 31 {
		a.in.StackWrite = true
		a.in.NMem = 0
		a.in.Mem[0] = Mem{}
	}
}

// single returns the size and direction of a load or store of one register.
func (a *arm) single() (size int, load, prefetch, ok bool) {
	sz, opc := a.bits(31, 30), a.bits(23, 22)
	if a.bit(26) {
		if opc >= 2 {
			return 16, opc == 3, false, sz == 0
		}
		return 1 << sz, opc == 1, false, true
	}
	switch {
	case sz == 3 && opc == 2:
		return 0, false, true, true
	case sz == 3 && opc == 3, sz == 2 && opc == 3:
		return 0, false, false, false
	}
	return 1 << sz, opc != 0, false, true
}

func (a *arm) unsignedOffset() bool {
	size, load, prefetch, ok := a.single()
	if prefetch || !ok {
		a.rdSP(5)
		return ok
	}
	a.access(int64(a.bits(21, 10))*int64(size), size, load, !load)
	if !a.bit(26) {
		a.value(load)
	}
	return true
}

// shortOffset decodes loads and stores with unscaled, post-indexed, unprivileged and pre-indexed
// offsets.
func (a *arm) shortOffset() bool {
	size, load, prefetch, ok := a.single()
	if prefetch || !ok {
		a.rdSP(5)
		return ok && a.bits(11, 10) == 0
	}
	disp, mode := a.sbits(20, 12), a.bits(11, 10)
	at := disp
	if mode == 1 {
		at = 0
	}
	m := a.access(at, size, load, !load)
	if !a.bit(26) {
		a.value(load)
	}
	a.ownStack(m, mode == 3, disp)
	if mode&1 == 1 {
		a.writeBack(disp)
	}
	return true
}

func (a *arm) registerOffset() bool {
	size, load, prefetch, ok := a.single()
	if !ok {
		return false
	}
	a.rd(16)
	if prefetch {
		a.rdSP(5)
		return true
	}
	m := a.access(0, size, load, !load)
	m.Index, m.Scale = a.field(16), 1
	if a.bit(12) {
		m.Scale = uint8(size)
	}
	if m.Index == armZR {
		m.Index, m.Scale = NoReg, 0
	}
	if !a.bit(26) {
		a.value(load)
	}
	// A 32-bit index is extended first, for which Mem has no field.
	return a.bits(15, 13) == 3 || m.Index == NoReg
}

// atomic decodes the LSE memory operations.
func (a *arm) atomic() bool {
	if a.bit(26) || a.atomicOp() == "" {
		return false
	}
	size := 1 << a.bits(31, 30)
	if a.ldapr() {
		a.access(0, size, true, false)
		a.value(true)
		return true
	}
	a.in.Locked = true
	a.access(0, size, true, true)
	a.rd(16)
	a.wr(0)
	return true
}

func (a *arm) ldapr() bool { return a.is(0x3ffffc00, 0x38bfc000) }

// atomicOp returns the name of an LSE memory operation, "" if it is not modelled.
func (a *arm) atomicOp() string {
	if a.ldapr() {
		return "ldapr"
	}
	op := a.bits(14, 12)
	if a.bit(15) {
		if op == 0 {
			return "swp"
		}
		return ""
	}
	return [8]string{"ldadd", "ldclr", "ldeor", "ldset", "ldsmax", "ldsmin", "ldumax", "ldumin"}[op]
}

// releaseOffset decodes ldapur, stlur and the like.
func (a *arm) releaseOffset() bool {
	if a.bit(21) || a.bits(11, 10) != 0 {
		return false
	}
	size, load, _, ok := a.single()
	if !ok || a.bits(31, 30) == 3 && a.bits(23, 22) >= 2 {
		return false
	}
	a.access(a.sbits(20, 12), size, load, !load)
	a.value(load)
	return true
}

// atomicName returns the text of an LSE atomic that arm64asm does not decode, "" if w is none of
// them.
func atomicName(w uint32) string {
	a := &arm{w: w}
	size := [4]string{"b", "h", "", ""}[w>>30]
	letter := "w"
	if w>>30 == 3 {
		letter = "x"
	}
	name := func(r Reg) string {
		if r == armZR {
			return letter + "zr"
		}
		return fmt.Sprintf("%s%d", letter, r)
	}
	base := fmt.Sprintf("x%d", a.field(5))
	if a.field(5) == 31 {
		base = "sp"
	}
	order := [4]string{"", "l", "a", "al"}
	switch {
	case a.is(0x3fa07c00, 0x08a07c00):
		o := order[a.bits(22, 22)<<1|a.bits(15, 15)]
		return fmt.Sprintf("cas%s%s %s, %s, [%s]", o, size, name(a.field(16)), name(a.field(0)), base)
	case a.is(0x3f200c00, 0x38200000) && a.atomicOp() != "" && !a.ldapr():
		o := order[a.bits(23, 22)]
		return fmt.Sprintf("%s%s%s %s, %s, [%s]", a.atomicOp(), o, size, name(a.field(16)), name(a.field(0)), base)
	}
	return ""
}
