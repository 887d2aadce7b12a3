package futexcall

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// This file reads, from the bytes of instructions of x86-64, what package insn does not tell of them: copies of half a
// register, and constants that change bits (Intel's manual, volume 2, MOV, OR, AND and XOR).

// copies returns the register whose low 32 bits an instruction copies to those of another, and does nothing else.
func (f *finder) copies(in *insn.Inst, to insn.Reg) (from insn.Reg, ok bool) {
	if s := in.Sum; s.Dst == to && s.Offset() && s.Imm == 0 {
		return s.Src, true
	}
	m, ok := f.read(in)
	if !ok || m.mod != 3 || m.narrow {
		return insn.NoReg, false
	}
	switch {
	case m.opcode == 0x89 && m.rm == to:
		return m.reg, true
	case m.opcode == 0x8b && m.reg == to:
		return m.rm, true
	}
	return insn.NoReg, false
}

// The operations with a constant, as the ModRM byte has them.
const (
	orConstant  = 1
	andConstant = 4
	xorConstant = 6
)

// changesBits returns what an instruction makes of the low 32 bits of a register by a constant: the bits of keep, exclusive
// or flip.
func (f *finder) changesBits(in *insn.Inst, r insn.Reg) (keep, flip uint32, ok bool) {
	m, ok := f.read(in)
	if !ok || m.mod != 3 || m.narrow || m.rm != r {
		return 0, 0, false
	}
	imm, others := uint32(0), uint32(0) // others are bits that it leaves alone
	switch {
	case m.opcode == 0x80 && len(m.rest) == 1:
		imm, others = uint32(m.rest[0]), ^uint32(0xff)
	case m.opcode == 0x83 && len(m.rest) == 1:
		imm = uint32(int32(int8(m.rest[0])))
	case m.opcode == 0x81 && len(m.rest) == 4:
		imm = binary.LittleEndian.Uint32(m.rest)
	default:
		return 0, 0, false
	}
	switch m.operation {
	case orConstant:
		return ^imm, imm, true
	case andConstant:
		return imm | others, 0, true
	case xorConstant:
		return ^uint32(0), imm, true
	}
	return 0, 0, false
}

// parts are an instruction of x86-64 with one byte of opcode and a ModRM byte.
type parts struct {
	opcode    byte
	mod       byte
	reg, rm   insn.Reg
	operation byte // the same bits as reg, where they are part of the opcode
	narrow    bool // a register may be the second byte of another
	rest      []byte
}

func (f *finder) read(in *insn.Inst) (m parts, ok bool) {
	if f.arch != insn.AMD64 {
		return m, false
	}
	b, err := f.im.Bytes(in.Addr, in.Len)
	if err != nil || len(b) != in.Len {
		return m, false
	}
	var rex byte
	if len(b) > 0 && b[0]&0xf0 == 0x40 {
		rex, b = b[0], b[1:]
	}
	if len(b) < 2 {
		return m, false
	}
	m = parts{opcode: b[0], mod: b[1] >> 6, operation: b[1] >> 3 & 7, rest: b[2:]}
	m.reg, m.rm = insn.Reg(b[1]>>3&7|rex&4<<1), insn.Reg(b[1]&7|rex&1<<3)
	m.narrow = m.opcode&1 == 0 && rex == 0 && m.rm >= 4 // ah, ch, dh, bh
	return m, true
}
