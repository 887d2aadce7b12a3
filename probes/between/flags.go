package between

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// comparison returns the flags that the instruction sets if it compares constants or tests the bits
// of one; known is false for any other instruction.
func (e *effect) comparison() flags {
	op, rex, rest := opcode(e.code)
	if !e.in.Tests || len(rest) == 0 && op < 0x3c {
		return flags{}
	}
	size := 4
	if rex&8 != 0 {
		size = 8
	} else if e.code[0] == 0x66 {
		size = 2
	}
	if op&1 == 0 && op != 0x83 {
		size = 1
	}
	f := flags{size: size}
	var a, b operand
	switch op {
	case 0x38, 0x39, 0x84, 0x85:
		a, b = e.rm(rex, rest, size), e.reg8(insn.Reg(rest[0]>>3&7|rex&4<<1), rex, size)
		f.test = op >= 0x84
	case 0x3a, 0x3b:
		a, b = e.reg8(insn.Reg(rest[0]>>3&7|rex&4<<1), rex, size), e.rm(rex, rest, size)
	case 0x3c, 0x3d, 0xa8, 0xa9:
		a, b = e.reg8(insn.RAX, rex, size), e.imm(size)
		f.test = op >= 0xa8
	case 0x80, 0x81, 0xf6, 0xf7:
		a, b = e.rm(rex, rest, size), e.imm(size)
		f.test = op >= 0xf6
	case 0x83:
		a, b = e.rm(rex, rest, size), e.imm(1)
	default:
		return flags{}
	}
	f.a, f.b, f.known, f.onlyZero = a.n, b.n, a.ok && b.ok, a.address || b.address
	if a.address != b.address && !f.test && b.n != 0 {
		f.known = false // a number compared with an address, which is not known in full
	}
	return f
}

// operand is an operand of a comparison.
type operand struct {
	n       uint64
	ok      bool // it is known
	address bool // it is an address as linked
}

func operandOf(v value, size int) operand {
	n, ok := v.number(size)
	return operand{n, ok, v.in != nil}
}

func (e *effect) reg8(r insn.Reg, rex byte, size int) operand {
	if size == 1 && rex == 0 && r >= 4 {
		return operand{} // ah, ch, dh, bh
	}
	return operandOf(e.regs[r], size)
}

func (e *effect) rm(rex byte, rest []byte, size int) operand {
	if rest[0] >= 0xc0 {
		return e.reg8(insn.Reg(rest[0]&7|rex&1<<3), rex, size)
	}
	return operandOf(e.loaded, size)
}

// imm returns the immediate of n bytes, 4 if n is 8, at the end of the instruction, sign-extended.
func (e *effect) imm(n int) operand {
	n = min(n, 4)
	if len(e.code) < n {
		return operand{}
	}
	b := e.code[len(e.code)-n:]
	switch n {
	case 1:
		return operand{n: uint64(int64(int8(b[0]))), ok: true}
	case 2:
		return operand{n: uint64(int64(int16(binary.LittleEndian.Uint16(b)))), ok: true}
	}
	return operand{n: uint64(int64(int32(binary.LittleEndian.Uint32(b)))), ok: true}
}

// setFlags sets the flags after the instruction.
func (e *effect) setFlags(compared flags) {
	if e.in.KeepsFlags {
		return
	}
	read := e.from.read
	if !arithmetic(e.code) {
		read = firstRead(read, e.flags.read)
	}
	compared.read = read
	if !compared.known || read != 0 {
		compared = flags{read: read}
	}
	e.flags = compared
}

// holds returns whether a condition, by the low four bits of the opcode, holds; ok is false if it is
// not known.
func (f flags) holds(cond byte) (holds, ok bool) {
	if !f.known {
		return false, false
	}
	shift := 64 - 8*f.size
	a, b := int64(f.a<<shift)>>shift, int64(f.b<<shift)>>shift // sign-extended
	if f.test {
		a, b = a&b, 0
	}
	unsigned := func(x int64) uint64 { return uint64(x) << shift >> shift }
	switch cond &^ 1 {
	case 4: // e
		holds = a == b
	case 2: // b
		holds = unsigned(a) < unsigned(b)
	case 6: // be
		holds = unsigned(a) <= unsigned(b)
	case 12: // l
		holds = a < b
	case 14: // le
		holds = a <= b
	default:
		return false, false
	}
	return holds != (cond&1 == 1), cond&^1 == 4 || !f.onlyZero
}
