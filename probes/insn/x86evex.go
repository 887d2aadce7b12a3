package insn

// The instructions that only AVX-512 has, or that it encodes anew (EVEX), and those of its mask registers. As of
// other vector instructions, only memory operands and general registers are modelled. What accesses memory
// under a mask is not: which bytes that are, no general register says.

// elements returns the size of the elements of an EVEX instruction, in bytes.
func (d *x86) elements() int {
	if d.rexW {
		return 8
	}
	return 4
}

// evexOperand is vectorOperand for EVEX, where one element may stand for a whole vector.
func (d *x86) evexOperand(size int, read, write bool) bool {
	if !d.isMem {
		return true
	}
	if d.masked || size == 0 {
		return false
	}
	if d.broadcast {
		size = d.elements()
	}
	d.compressed(size)
	return d.vectorOperand(size, read, write)
}

// compressed scales the displacement of an EVEX instruction: one of a byte counts operands.
func (d *x86) compressed(size int) {
	if d.mod == 1 {
		d.mem.Disp *= int64(size)
	}
}

// general is touch for an operand of EVEX that is memory or a general register.
func (d *x86) general(size int, read, write bool) bool {
	if d.isMem {
		return d.evexOperand(size, read, write)
	}
	d.touch(size, read, write)
	return true
}

func (d *x86) evexEffects() bool {
	if d.vlen > 2 && d.isMem {
		return false
	}
	switch d.table {
	case 1:
		return d.evex0F()
	case 2:
		return d.evex38()
	case 3:
		return d.evex3A()
	}
	return false // half-precision numbers
}

func (d *x86) evex0F() bool {
	full, p := d.full(), d.pp
	switch op := d.op; op {
	case 0x10, 0x51, 0x58, 0x59, 0x5c, 0x5d, 0x5e, 0x5f, 0xc2:
		return d.evexOperand(d.scalar(), true, false)
	case 0x11:
		return d.evexOperand(d.scalar(), false, true)
	case 0x12, 0x16:
		return d.evexOperand([4]int{8, 8, full, d.duplicated()}[p], true, false)
	case 0x13, 0x17, 0xd6:
		return d.evexOperand(8, false, true)
	case 0x29, 0x2b, 0x7f, 0xe7:
		return d.evexOperand(full, false, true)
	case 0x2a:
		return p > 1 && d.general(d.elements(), true, false)
	case 0x2c, 0x2d:
		d.wr(d.g(8))
		return p > 1 && d.evexOperand(4*int(p-1), true, false)
	case 0x2e, 0x2f:
		return d.evexOperand(4+4*int(p&1), true, false)
	case 0x5a:
		return d.evexOperand([4]int{d.half(), full, 4, 8}[p], true, false)
	case 0x6e:
		return d.general(d.elements(), true, false)
	case 0x7e:
		if p == 2 {
			return d.evexOperand(8, true, false)
		}
		return d.general(d.elements(), false, true)
	case 0xc4: // vpinsrw
		return d.general(2, true, false)
	case 0xc5:
		return d.fromMask()
	case 0x78, 0x79, 0x7a, 0x7b, 0xe6:
		return d.evexConversion()
	case 0xd1, 0xd2, 0xd3, 0xe1, 0xe2, 0xf1, 0xf2, 0xf3: // shifts by a number in memory
		return d.evexOperand(16, true, false)
	case 0x14, 0x15, 0x28, 0x5b, 0x6f, 0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0xc6:
		return d.evexOperand(full, true, false)
	default:
		return (op >= 0x54 && op <= 0x57 || op >= 0x60 && op <= 0x6d || op >= 0xd4 && op <= 0xfe && op != 0xf0 && op != 0xf7) &&
			d.evexOperand(full, true, false)
	}
}

// duplicated returns the size of the operand of movddup, in bytes.
func (d *x86) duplicated() int {
	if d.full() == 16 {
		return 8
	}
	return d.full()
}

// evexConversion models conversions between integers and floating-point numbers.
func (d *x86) evexConversion() bool {
	p, half := d.pp, !d.rexW
	switch {
	case d.op < 0x7a && p > 1: // to a general register
		d.wr(d.g(8))
		return d.evexOperand(4*int(p-1), true, false)
	case d.op == 0x7b && p > 1: // from one
		return d.general(d.elements(), true, false)
	case d.op < 0x7a && p == 0, d.op == 0x7a && p == 3, d.op == 0xe6 && p != 2:
		half = false
	}
	if half {
		return d.evexOperand(d.half(), true, false)
	}
	return d.evexOperand(d.full(), true, false)
}

// part returns the size of a vector of narrower elements, in bytes: of bytes for words, for doublewords and for
// quadwords, of words for doublewords and for quadwords, and of doublewords for quadwords.
func (d *x86) part() int {
	return d.full() / [6]int{2, 4, 8, 2, 4, 2}[d.op&7]
}

func (d *x86) evex38() bool {
	op, p, full := d.op, d.pp, d.full()
	narrows := op >= 0x10 && op < 0x36 && op&0xf < 6
	switch {
	case op >= 0x90 && op <= 0x93 || op >= 0xa0 && op <= 0xa3 || op == 0x62 || op == 0x63 || op >= 0x88 && op <= 0x8b:
		return !d.isMem // gathers, scatters, and what is compressed or expanded
	case p == 2 && narrows:
		return d.evexOperand(d.part(), false, true)
	case p != 1 && !(p == 2 && (op == 0x26 || op == 0x27 || op == 0x52 || op == 0x72)) && !(p == 3 && op >= 0x50 && op <= 0x53):
		return !d.isMem && p == 2 && op >= 0x28 && op <= 0x3a // from and to mask registers
	case op >= 0x20 && narrows:
		return d.evexOperand(d.part(), true, false)
	case op >= 0x7a && op <= 0x7c: // vpbroadcast from a general register
		d.rd(d.e(8))
		return !d.isMem
	}
	switch op {
	case 0x13:
		return d.evexOperand(d.half(), true, false)
	case 0x18, 0x58:
		return d.evexOperand(4, true, false)
	case 0x19, 0x59:
		return d.evexOperand(8, true, false)
	case 0x1a, 0x5a:
		return d.evexOperand(16, true, false)
	case 0x1b, 0x5b:
		return d.evexOperand(32, true, false)
	case 0x78:
		return d.evexOperand(1, true, false)
	case 0x79:
		return d.evexOperand(2, true, false)
	case 0x2d, 0x43, 0x4d, 0x4f, 0xcb, 0xcd:
		return d.evexOperand(d.elements(), true, false)
	}
	if fusedScalar(op) {
		return d.evexOperand(d.elements(), true, false)
	}
	return d.evexOperand(full, true, false)
}

// fused reports whether an opcode multiplies and adds (FMA), and fusedScalar whether it does so with one element.
func fused(op byte) bool {
	return op >= 0x96 && op <= 0xbf && op&0xf >= 6
}

func fusedScalar(op byte) bool { return fused(op) && op&0xf > 8 && op&1 == 1 }

func (d *x86) evex3A() bool {
	full := d.full()
	switch d.op {
	case 0x0a:
		return d.evexOperand(4, true, false)
	case 0x0b:
		return d.evexOperand(8, true, false)
	case 0x14, 0x15, 0x16, 0x17: // vpextr
		return d.general([4]int{1, 2, d.elements(), 4}[d.op&3], false, true)
	case 0x18, 0x38:
		return d.evexOperand(16, true, false)
	case 0x19, 0x39:
		return d.evexOperand(16, false, true)
	case 0x1a, 0x3a:
		return d.evexOperand(32, true, false)
	case 0x1b, 0x3b:
		return d.evexOperand(32, false, true)
	case 0x1d:
		return d.evexOperand(d.half(), false, true)
	case 0x20, 0x22: // vpinsr
		return d.general([3]int{1, 0, d.elements()}[d.op&3], true, false)
	case 0x21:
		return d.evexOperand(4, true, false)
	case 0x27, 0x51, 0x55, 0x57, 0x67:
		return d.evexOperand(d.elements(), true, false)
	}
	return d.evexOperand(full, true, false)
}

// maskRegisters models the instructions of mask registers (VEX).
func (d *x86) maskRegisters() bool {
	size := 2 >> (d.pp & 1)
	if d.rexW {
		size *= 4
	}
	switch d.op {
	case 0x41, 0x42, 0x44, 0x45, 0x46, 0x47, 0x4a, 0x4b, 0x98, 0x99:
		return !d.isMem
	case 0x90:
		return d.vectorOperand(size, true, false)
	case 0x91:
		return d.isMem && d.vectorOperand(size, false, true)
	case 0x92: // from a general register
		d.rd(d.e(8))
		return !d.isMem
	case 0x93: // to one
		d.wr(d.g(8))
		return !d.isMem
	}
	return false
}
