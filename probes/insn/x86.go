package insn

// The decoder of x86-64 has two steps. The first (this file) is structural: prefixes, opcode map,
// ModRM, displacement and immediate, after the opcode maps of the Intel manual (volume 2, appendix
// A). It finds the length of every instruction, VEX and EVEX ones included. The second
// (x86effects.go) is an allowlist of the registers and memory that each opcode accesses; for an
// opcode that is not on it, Known stays false. x86asm serves Format, and the tests as a second
// opinion, beside objdump and a processor that steps through the code.

// The general registers of AMD64.
const (
	RAX Reg = iota
	RCX
	RDX
	RBX
	RSP
	RBP
	RSI
	RDI
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
)

// encoding is the encoding of an opcode.
type encoding uint8

const (
	legacy encoding = iota
	vex
	evex
	xop
)

// x86 holds the parts of an instruction while it is decoded.
type x86 struct {
	in   *Inst
	code []byte
	pos  int

	enc                    encoding
	rexW, rexR, rexX, rexB bool
	hasREX                 bool
	opsize, addr32         bool // prefixes 66 and 67
	rep, repne, lock       bool
	segment                bool // fs or gs
	badPrefix              bool // there is a prefix that the kernel's uprobes refuse
	pp                     byte // VEX: 0 none, 1 66, 2 F3, 3 F2
	vvvv                   Reg
	vlen                   byte // 0 for 16 bytes, 1 for 32, 2 for 64
	masked, broadcast      bool // EVEX
	table                  byte // 0 one byte, 1 0F, 2 0F38, 3 0F3A, 4.. EVEX and XOP maps
	op                     byte
	hasModRM               bool
	mod, reg, rm           byte // without the bits of the REX prefix
	mem                    Mem
	isMem                  bool
	imm                    int64
	immLen                 int
}

func decodeX86(code []byte, addr uint64) (Inst, error) {
	in := Inst{Addr: addr, ValueReg: NoReg, Sum: noSum, Derived: noDerived, BitIndex: NoReg}
	if len(code) > 15 {
		code = code[:15]
	}
	d := &x86{in: &in, code: code, vvvv: NoReg}
	if why := d.parse(); why != "" {
		return Inst{}, &Error{addr, why}
	}
	in.Len = d.pos
	if d.isMem && d.mem.Fixed {
		d.mem.Addr += uint64(d.ripBase())
		if d.addr32 {
			d.mem.Addr &= 0xffffffff
		}
	}
	d.effects()
	d.kernel()
	return in, nil
}

// ripBase returns the address to which a PC-relative displacement is added; 0 for an absolute one.
func (d *x86) ripBase() uint64 {
	if d.mod == 0 && d.rm == 5 && d.hasModRM {
		return d.in.Addr + uint64(d.pos)
	}
	return 0
}

const (
	cut     = "the bytes end within the instruction"
	invalid = "no instruction of 64-bit mode"
)

func (d *x86) next() (byte, bool) {
	if d.pos >= len(d.code) {
		return 0, false
	}
	d.pos++
	return d.code[d.pos-1], true
}

// parse splits the instruction into its parts. It returns the reason why it could not, "" if it
// could.
func (d *x86) parse() string {
	b, ok := d.prefixes()
	if !ok {
		return cut
	}
	if why := d.opcode(b); why != "" {
		return why
	}
	modrm, immLen, valid := d.shape()
	if !valid {
		return invalid
	}
	if modrm {
		if why := d.modRM(); why != "" {
			return why
		}
		immLen = d.groupImm(immLen)
	}
	return d.immediate(immLen)
}

// prefixes reads the legacy prefixes and REX. It returns the byte after them.
func (d *x86) prefixes() (byte, bool) {
	for {
		b, ok := d.next()
		if !ok {
			return 0, false
		}
		if b&0xf0 == 0x40 {
			d.hasREX = true
			d.rexW, d.rexR, d.rexX, d.rexB = b&8 != 0, b&4 != 0, b&2 != 0, b&1 != 0
			continue
		}
		switch b {
		case 0x66:
			d.opsize = true
		case 0x67:
			d.addr32 = true
		case 0xf0:
			d.lock, d.badPrefix = true, true
		case 0xf2:
			d.repne, d.rep = true, false
		case 0xf3:
			d.rep, d.repne = true, false
		case 0x26, 0x2e, 0x36, 0x3e:
			d.badPrefix = true
		case 0x64, 0x65:
			d.segment = true
		default:
			return b, true
		}
		// A REX that another prefix follows has no effect.
		d.hasREX, d.rexW, d.rexR, d.rexX, d.rexB = false, false, false, false, false
	}
}

// opcode reads escapes, VEX, EVEX and XOP prefixes, then the opcode itself. It returns the reason
// why it could not, "" if it could.
func (d *x86) opcode(b byte) string {
	switch {
	case b == 0xc4 || b == 0xc5 || b == 0x62:
		return d.vector(b)
	case b == 0x8f && d.pos < len(d.code) && d.code[d.pos]&0x1f >= 8:
		return d.vector(b)
	case b != 0x0f:
		d.op = b
		return ""
	}
	b, ok := d.next()
	d.table = 1
	if ok && (b == 0x38 || b == 0x3a) {
		d.table = 2 + (b&2)>>1
		b, ok = d.next()
	}
	if !ok {
		return cut
	}
	d.op = b
	return ""
}

// vector reads the rest of a VEX (c5, c4), EVEX (62) or XOP (8f) prefix.
func (d *x86) vector(first byte) string {
	if d.hasREX || d.opsize || d.rep || d.repne || d.lock {
		return "a prefix before VEX or EVEX"
	}
	need := map[byte]int{0xc5: 1, 0xc4: 2, 0x8f: 2, 0x62: 3}[first]
	if len(d.code) < d.pos+need+1 {
		return cut
	}
	p := d.code[d.pos : d.pos+need]
	d.pos += need
	d.rexR = p[0]&0x80 == 0
	last := p[0]
	d.table = 1
	if first != 0xc5 {
		d.rexX, d.rexB, d.rexW = p[0]&0x40 == 0, p[0]&0x20 == 0, p[1]&0x80 != 0
		d.table, last = p[0]&0x1f, p[1]
	}
	d.enc = vex
	d.vlen = last >> 2 & 1
	switch first {
	case 0x62:
		if p[0]&8 != 0 || p[1]&4 == 0 {
			return "an EVEX prefix of APX"
		}
		d.enc, d.table = evex, p[0]&7
		d.vlen = p[2] >> 5 & 3
		d.masked, d.broadcast = p[2]&7 != 0, p[2]&0x10 != 0
	case 0x8f:
		d.enc = xop
	}
	d.vvvv = Reg(^last >> 3 & 15)
	d.pp = last & 3
	d.op, _ = d.next()
	return ""
}

// imm32 returns the length of an immediate of operand size (at most four bytes).
func (d *x86) imm32() int {
	if d.opsize && !d.rexW {
		return 2
	}
	return 4
}

// shape returns whether a ModRM byte follows the opcode, the number of bytes of immediate, and
// whether the opcode exists.
func (d *x86) shape() (modrm bool, imm int, ok bool) {
	switch {
	case d.enc == xop:
		return true, [3]int{1, 0, 4}[min(d.table-8, 2)], d.table <= 10
	case d.table == 0 && d.enc == legacy:
		return d.shape1()
	case d.table == 1:
		return d.shape0F()
	case d.table == 2:
		return true, 0, true
	case d.table == 3:
		return true, 1, true
	case d.enc == evex && (d.table == 5 || d.table == 6):
		return true, 0, true
	}
	return false, 0, false
}

func (d *x86) shape1() (modrm bool, imm int, ok bool) {
	op := d.op
	switch {
	case op < 0x40:
		switch op & 7 {
		case 4:
			return false, 1, true
		case 5:
			return false, d.imm32(), true
		case 6, 7:
			return false, 0, false
		}
		return true, 0, true
	case op < 0x60, op >= 0x6c && op < 0x70, op >= 0x90 && op < 0xa0 && op != 0x9a:
		return false, 0, true
	case op >= 0x70 && op < 0x80, op >= 0xb0 && op < 0xb8, op >= 0xe0 && op < 0xe8:
		return false, 1, true
	case op >= 0x84 && op < 0x90, op >= 0xd0 && op < 0xd4, op >= 0xd8 && op < 0xe0:
		return true, 0, true
	case op >= 0xa0 && op < 0xa4:
		if d.addr32 {
			return false, 4, true
		}
		return false, 8, true
	case op >= 0xb8 && op < 0xc0:
		if d.rexW {
			return false, 8, true
		}
		return false, d.imm32(), true
	case op >= 0xec && op < 0xf0:
		return false, 0, true
	}
	switch op {
	case 0x63, 0xf6, 0xf7, 0xfe, 0xff:
		return true, 0, true
	case 0x68, 0xa9:
		return false, d.imm32(), true
	case 0x69, 0x81, 0xc7:
		return true, d.imm32(), true
	case 0x6a, 0xa8, 0xcd, 0xeb:
		return false, 1, true
	case 0x6b, 0x80, 0x83, 0xc0, 0xc1, 0xc6:
		return true, 1, true
	case 0xc2, 0xca:
		return false, 2, true
	case 0xc8:
		return false, 3, true
	case 0xe8, 0xe9:
		// Intel ignores the prefix 66 here and AMD does not: the length is
		// not certain, and no compiler writes it.
		return false, 4, !d.opsize || d.rexW
	case 0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf, 0xc3, 0xc9, 0xcb, 0xcc, 0xcf, 0xd7,
		0xf1, 0xf4, 0xf5, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd:
		return false, 0, true
	}
	return false, 0, false
}

func (d *x86) shape0F() (modrm bool, imm int, ok bool) {
	op := d.op
	if d.enc != legacy {
		switch {
		case op == 0x77:
			return false, 0, true
		case op >= 0x70 && op <= 0x73, op == 0xc2, op >= 0xc4 && op <= 0xc6:
			return true, 1, true
		}
		return true, 0, true
	}
	switch {
	case op >= 0x80 && op < 0x90:
		return false, 4, !d.opsize || d.rexW
	case op >= 0x30 && op < 0x38, op >= 0xc8 && op < 0xd0:
		return false, 0, op != 0x36
	case op >= 0x70 && op < 0x74:
		return true, 1, true
	case op >= 0x38 && op < 0x40, op >= 0x24 && op < 0x28:
		return false, 0, false
	}
	switch op {
	case 0x04, 0x0a, 0x0c:
		return false, 0, false
	case 0x05, 0x06, 0x07, 0x08, 0x09, 0x0b, 0x0e, 0x77, 0xa0, 0xa1, 0xa2, 0xa8, 0xa9, 0xaa:
		return false, 0, true
	case 0x0f, 0xa4, 0xac, 0xba, 0xc2, 0xc4, 0xc5, 0xc6:
		return true, 1, true
	case 0x78:
		if d.opsize || d.repne {
			return true, 2, true // extrq, insertq
		}
	case 0xa6, 0xa7:
		return false, 0, false
	case 0xb8:
		return true, 0, d.rep
	}
	return true, 0, true
}

// groupImm corrects the immediate's length for the opcode groups in which ModRM determines it.
func (d *x86) groupImm(imm int) int {
	if d.enc == legacy && d.table == 0 && d.reg < 2 {
		switch d.op {
		case 0xf6:
			return 1
		case 0xf7:
			return d.imm32()
		}
	}
	return imm
}

// modRM reads ModRM, SIB and displacement.
func (d *x86) modRM() string {
	b, ok := d.next()
	if !ok {
		return cut
	}
	d.hasModRM = true
	d.mod, d.reg, d.rm = b>>6, b>>3&7, b&7
	if d.mod == 3 || d.movCR() {
		d.mod = 3
		return ""
	}
	d.isMem = true
	d.mem = Mem{Base: reg(d.rm, d.rexB), Index: NoReg, Segment: d.segment}
	disp := [3]int{0, 1, 4}[d.mod]
	base := d.rm
	if d.rm == 4 {
		sib, ok := d.next()
		if !ok {
			return cut
		}
		base = sib & 7
		d.mem.Base = reg(base, d.rexB)
		d.mem.Scale = 1 << (sib >> 6)
		if d.mem.Index = reg(sib>>3&7, d.rexX); d.mem.Index == RSP {
			d.mem.Index, d.mem.Scale = NoReg, 0
		}
	}
	if d.mod == 0 && base == 5 {
		d.mem.Base, disp = NoReg, 4
	}
	v, ok := d.signed(disp)
	if !ok {
		return cut
	}
	d.mem.Disp = v
	if d.mem.Base == NoReg && d.mem.Index == NoReg && !d.segment {
		d.mem.Fixed, d.mem.Addr = true, uint64(v)
	}
	return ""
}

// movCR reports whether the instruction is a move to or from a control register, whose ModRM has a
// mod that is ignored.
func (d *x86) movCR() bool {
	return d.enc == legacy && d.table == 1 && d.op >= 0x20 && d.op < 0x24
}

func (d *x86) immediate(n int) string {
	d.immLen = n
	if n == 0 {
		return ""
	}
	if d.op == 0xc8 && d.table == 0 || n == 2 && d.table == 1 { // enter, extrq: two immediates
		if d.pos+n > len(d.code) {
			return cut
		}
		d.pos += n
		return ""
	}
	v, ok := d.signed(n)
	if !ok {
		return cut
	}
	d.imm = v
	return ""
}

// signed reads n bytes as a little-endian signed number.
func (d *x86) signed(n int) (int64, bool) {
	if d.pos+n > len(d.code) {
		return 0, false
	}
	var v uint64
	for i := range n {
		v |= uint64(d.code[d.pos+i]) << (8 * i)
	}
	d.pos += n
	if n == 0 || n == 8 {
		return int64(v), true
	}
	shift := 64 - 8*n
	return int64(v<<shift) >> shift, true
}

func reg(low byte, ext bool) Reg {
	if ext {
		return Reg(low) + 8
	}
	return Reg(low)
}
