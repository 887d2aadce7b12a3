package insn

// Vector instructions, SSE and AVX alike. Only their memory operands are modelled, and the effects
// of the few that access a general register.

// prefix returns the mandatory prefix: 0 none, 1 66, 2 F3, 3 F2, as VEX numbers them.
func (d *x86) prefix() byte {
	switch {
	case d.enc != legacy:
		return d.pp
	case d.repne:
		return 3
	case d.rep:
		return 2
	case d.opsize:
		return 1
	}
	return 0
}

// full returns the width of a whole vector operand, in bytes.
func (d *x86) full() int {
	if d.enc == legacy {
		return 16
	}
	return 16 << min(d.vlen, 2)
}

// scalar returns the width of an operand of arithmetic, in bytes: packed, or one element.
func (d *x86) scalar() int {
	return [4]int{d.full(), d.full(), 4, 8}[d.prefix()]
}

// half returns the width of an operand that is half a vector, in bytes.
func (d *x86) half() int { return d.full() / 2 }

func (d *x86) sse() bool {
	p := d.prefix()
	switch d.op {
	case 0x10, 0x51, 0x58, 0x59, 0x5c, 0x5d, 0x5e, 0x5f, 0xc2, 0x52, 0x53:
		return d.vectorOperand(d.scalar(), true, false)
	case 0x11:
		return d.vectorOperand(d.scalar(), false, true)
	case 0x12, 0x16:
		return d.vectorOperand([4]int{8, 8, d.full(), d.duplicated()}[p], true, false)
	case 0x13, 0x17:
		return p < 2 && d.vectorOperand(8, false, true)
	case 0x14, 0x15, 0x28, 0x54, 0x55, 0x56, 0x57, 0x5b, 0xc6, 0x7c, 0x7d, 0xd0:
		return d.vectorOperand(d.full(), true, false)
	case 0x29, 0x2b:
		return p < 2 && d.vectorOperand(d.full(), false, true)
	case 0x2a:
		return d.fromInteger(p)
	case 0x2c, 0x2d:
		return d.toInteger(p)
	case 0x2e, 0x2f:
		return d.vectorOperand(4+4*int(p&1), true, false)
	case 0x50: // movmskps
		return d.fromMask()
	case 0x5a:
		return d.vectorOperand([4]int{d.half(), d.full(), 4, 8}[p], true, false)
	case 0x6e: // movd, movq from a general register or memory
		if p > 1 {
			return false
		}
		d.touch(d.movdSize(), true, false)
		return true
	case 0x7e:
		return d.movd(p)
	case 0x77: // vzeroupper, vzeroall
		return true
	case 0xc4: // pinsrw
		d.touch(2, true, false)
		return true
	case 0xc5, 0xd7: // pextrw, pmovmskb
		return d.fromMask()
	case 0x7f:
		return d.vectorOperand(d.integer(), false, true)
	case 0xd6:
		return p == 1 && d.vectorOperand(8, false, true)
	case 0xe7:
		return d.isMem && d.vectorOperand(d.integer(), false, true)
	case 0xe6:
		if p == 2 {
			return d.vectorOperand(d.half(), true, false)
		}
		return d.vectorOperand(d.full(), true, false)
	}
	if d.enc == vex && (d.op&0xf0 == 0x40 || d.op&0xf0 == 0x90) {
		return d.maskRegisters()
	}
	return d.integerSSE()
}

// integer returns the width of an operand of MMX (no prefix) or SSE integer instructions, in bytes.
func (d *x86) integer() int {
	if d.enc == legacy && d.prefix() == 0 {
		return 8
	}
	return d.full()
}

func (d *x86) integerSSE() bool {
	op := d.op
	switch {
	case op == 0x71 || op == 0x72 || op == 0x73: // shifts by a constant
		return !d.isMem
	case op >= 0xd1 && op <= 0xd3, op == 0xe1, op == 0xe2, op >= 0xf1 && op <= 0xf3: // shifts by a number
		return d.vectorOperand(min(d.integer(), 16), true, false)
	case op >= 0x60 && op <= 0x6d, op == 0x6f, op == 0x70, op >= 0x74 && op <= 0x76,
		op == 0xd4, op == 0xd5, op >= 0xd8 && op <= 0xf0, op >= 0xf4 && op <= 0xf6, op >= 0xf8 && op <= 0xfe:
		return d.vectorOperand(d.integer(), true, false)
	}
	return false
}

// fromMask models an instruction that writes a general register from a vector register.
func (d *x86) fromMask() bool {
	if d.isMem {
		return false
	}
	d.wr(d.g(8))
	return true
}

func (d *x86) movdSize() int {
	if d.rexW {
		return 8
	}
	return 4
}

func (d *x86) movd(p byte) bool {
	switch p {
	case 0, 1:
		d.touch(d.movdSize(), false, true)
		return true
	case 2:
		return d.vectorOperand(8, true, false)
	}
	return false
}

func (d *x86) fromInteger(p byte) bool {
	if p < 2 { // cvtpi2ps: from MMX
		return d.vectorOperand(8, true, false)
	}
	d.touch(d.movdSize(), true, false)
	return true
}

func (d *x86) toInteger(p byte) bool {
	if p < 2 { // to MMX
		return d.vectorOperand(8+8*int(p), true, false)
	}
	d.wr(d.g(8))
	return d.vectorOperand(4*int(p-1), true, false)
}

func (d *x86) plain38() bool {
	op, p := d.op, d.prefix()
	if op >= 0xf0 {
		return d.integer38()
	}
	if d.enc == vex {
		// Of the opcodes that only AVX has, those are not modelled that gather, or access memory under a
		// mask.
		switch op {
		case 0x0c, 0x0d, 0x0e, 0x0f, 0x16, 0x36, 0x45, 0x46, 0x47, 0x50, 0x51, 0x52, 0x53, 0xb4, 0xb5, 0xcf:
			return d.vectorOperand(d.full(), true, false)
		case 0x13:
			return d.vectorOperand(d.half(), true, false)
		case 0x18, 0x58:
			return d.vectorOperand(4, true, false)
		case 0x19, 0x59:
			return d.vectorOperand(8, true, false)
		case 0x1a, 0x5a:
			return d.vectorOperand(16, true, false)
		case 0x78:
			return d.vectorOperand(1, true, false)
		case 0x79:
			return d.vectorOperand(2, true, false)
		}
	}
	switch {
	case d.enc == vex && fusedScalar(op):
		return d.vectorOperand(d.movdSize(), true, false)
	case d.enc == vex && fused(op):
		return d.vectorOperand(d.full(), true, false)
	case op <= 0x0b, op == 0x10 && d.enc == legacy, op == 0x14 && d.enc == legacy, op == 0x15 && d.enc == legacy,
		op == 0x17, op >= 0x1c && op <= 0x1e, op >= 0x28 && op <= 0x2b, op >= 0x37 && op <= 0x41, op >= 0xdb && op <= 0xdf,
		op >= 0xc8 && op <= 0xcd && d.enc == legacy:
		if p == 0 && op < 0xc8 {
			return d.vectorOperand(8, true, false)
		}
		return d.vectorOperand(d.full(), true, false)
	case op >= 0x20 && op <= 0x25, op >= 0x30 && op <= 0x35:
		return d.vectorOperand(d.part(), true, false)
	}
	return false
}

// integer38 models movbe, crc32, adx and BMI.
func (d *x86) integer38() bool {
	if d.enc == vex {
		return d.bmi()
	}
	size := d.word()
	switch {
	case d.op <= 0xf1 && d.repne: // crc32
		if d.op == 0xf0 {
			size = 1
		}
		d.touch(size, true, false)
		d.rd(d.g(8))
		d.wr(d.g(8))
	case d.op == 0xf0 && d.isMem: // movbe
		d.touch(size, true, false)
		d.wr(d.g(8))
	case d.op == 0xf1 && d.isMem:
		d.rd(d.g(8))
		d.touch(size, false, true)
	case d.op == 0xf6 && (d.opsize || d.rep): // adcx, adox
		d.touch(d.movdSize(), true, false)
		d.rd(d.g(8))
		d.wr(d.g(8))
	default:
		return false
	}
	return true
}

func (d *x86) bmi() bool {
	switch d.op {
	case 0xf2, 0xf5, 0xf7:
		d.wr(d.g(8))
		d.rd(d.vvvv)
	case 0xf3:
		d.wr(d.vvvv)
	case 0xf6: // mulx
		if d.pp != 3 {
			return false
		}
		d.wr(d.g(8), d.vvvv)
		d.rd(RDX)
	default:
		return false
	}
	d.touch(d.movdSize(), true, false)
	return true
}

func (d *x86) plain3A() bool {
	if d.enc == vex {
		switch d.op {
		case 0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x46, 0x4a, 0x4b, 0x4c, 0xce, 0xcf:
			return d.vectorOperand(d.full(), true, false)
		case 0x1d:
			return d.vectorOperand(d.half(), false, true)
		case 0x30, 0x31, 0x32, 0x33: // shifts of mask registers
			return !d.isMem
		}
	}
	switch d.op {
	case 0xf0: // rorx
		if d.enc != vex {
			return false
		}
		d.touch(d.movdSize(), true, false)
		d.wr(d.g(8))
		return true
	case 0x08, 0x09, 0x0c, 0x0d, 0x0e, 0x0f, 0x40, 0x41, 0x42, 0x44, 0xcc, 0xdf:
		if d.op == 0x0f && d.prefix() == 0 {
			return d.vectorOperand(8, true, false)
		}
		return d.vectorOperand(d.full(), true, false)
	case 0x0a:
		return d.vectorOperand(4, true, false)
	case 0x0b:
		return d.vectorOperand(8, true, false)
	case 0x14, 0x15, 0x16, 0x17: // pextr
		size := [4]int{1, 2, d.movdSize(), 4}[d.op&3]
		if d.isMem {
			return d.vectorOperand(size, false, true)
		}
		d.wr(reg(d.rm, d.rexB))
		return true
	case 0x20: // pinsrb
		d.rdLow(1)
		return true
	case 0x21:
		return d.vectorOperand(4, true, false)
	case 0x22:
		d.touch(d.movdSize(), true, false)
		return true
	case 0x18, 0x38: // vinsertf128, vinserti128
		return d.enc == vex && d.vectorOperand(16, true, false)
	case 0x19, 0x39: // vextractf128, vextracti128
		return d.enc == vex && d.vectorOperand(16, false, true)
	case 0x60, 0x61, 0x62, 0x63:
		return d.compareStrings()
	}
	return false
}

// rdLow records a read of the low bytes of the ModRM operand, which is never ah, ch, dh or bh, even
// for one byte.
func (d *x86) rdLow(size int) {
	if d.isMem {
		d.touch(size, true, false)
		return
	}
	d.rd(reg(d.rm, d.rexB))
}

// compareStrings models pcmpestrm, pcmpestri, pcmpistrm and pcmpistri.
func (d *x86) compareStrings() bool {
	if d.op < 0x62 {
		d.rd(RAX, RDX)
	}
	if d.op&1 == 1 {
		d.wr(RCX)
	}
	return d.vectorOperand(16, true, false)
}
