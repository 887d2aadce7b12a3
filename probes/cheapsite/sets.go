package cheapsite

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// The number of instructions that Sets and its like examine, and the bound of the offset, in bytes,
// of a word in a small object.
const (
	maxSets   = 16
	maxOffset = 128
)

// Sets returns the offset, from the address in register arg, of a word of 4 bytes in which the
// function at entry sets a bit atomically before it branches or calls: by a lock cmpxchg of the
// result of an or, or by a lock or. It knows only x86-64.
func (im *Image) Sets(entry uint64, arg insn.Reg, bit uint32) (offset int64, ok bool) {
	points := map[insn.Reg]int64{arg: 0}
	ored := false
	for range maxSets {
		in, err := im.Decode(entry)
		if err != nil || !in.Known || in.Kind != insn.Plain && in.Kind != insn.Nop {
			return 0, false
		}
		ored = ored || ors(im.Format(entry), bit)
		if in.Locked {
			offset, known := pointed(points, &in)
			return offset, ored && known && in.Mem[0].Write
		}
		follow(points, &in)
		entry += uint64(in.Len)
	}
	return 0, false
}

// Stores returns the offset, from the address in register arg, of a word of 4 bytes to which the
// function at entry stores a constant, on the path on which it does not branch. It knows only x86-64.
func (im *Image) Stores(entry uint64, arg insn.Reg, value uint32) (offset int64, ok bool) {
	points := map[insn.Reg]int64{arg: 0}
	for range maxSets {
		in, err := im.Decode(entry)
		if err != nil || !in.Known || in.Kind != insn.Plain && in.Kind != insn.Nop && in.Kind != insn.CondJump {
			return 0, false
		}
		if at, known := pointed(points, &in); known && in.HasImm && uint32(in.ValueImm) == value && in.Mem[0].Write {
			return at, true
		}
		follow(points, &in)
		entry += uint64(in.Len)
	}
	return 0, false
}

// TestsShifted reports whether the function at entry loads the word of 4 bytes at an offset from the
// address in register arg, shifts it right by some bits and branches by the result, before it
// branches or calls otherwise. It knows only x86-64.
func (im *Image) TestsShifted(entry uint64, arg insn.Reg, offset int64, shift int) bool {
	points, loaded, shifted := map[insn.Reg]int64{arg: 0}, insn.RegSet(0), false
	for range maxSets {
		in, err := im.Decode(entry)
		switch {
		case err != nil || !in.Known:
			return false
		case in.Kind == insn.CondJump:
			return shifted
		case !in.Kind.Straight():
			return false
		}
		at, known := pointed(points, &in)
		switch {
		case known && at == offset && !in.Mem[0].Write && in.ValueReg != insn.NoReg:
			loaded, shifted = loaded.With(in.ValueReg), false
		case in.Reads&loaded != 0 && in.NMem == 0 && strings.HasPrefix(im.Format(entry), fmt.Sprintf("shr $0x%x,", shift)):
			shifted = true
		case in.Reads&loaded != 0 && in.NMem == 0 && in.Writes != 0 && !shifted:
			loaded |= in.Writes // a copy
		}
		follow(points, &in)
		entry += uint64(in.Len)
	}
	return false
}

// pointed returns the offset, from the address that arg held at the entry, of an instruction's only
// memory operand, if it has 4 bytes and lies at a known small offset.
func pointed(points map[insn.Reg]int64, in *insn.Inst) (offset int64, known bool) {
	m := in.Mem[0]
	base, known := points[m.Base]
	offset = base + m.Disp
	return offset, in.NMem == 1 && known && m.Index == insn.NoReg && m.Size == 4 && offset >= 0 && offset < maxOffset
}

// Loads reports whether the function at entry, in its first instructions, reads size bytes at an
// offset from the address in register arg, and branches over no call before.
func (im *Image) Loads(entry uint64, arg insn.Reg, offset int64, size int) bool {
	points := map[insn.Reg]int64{arg: 0}
	for range maxSets {
		in, err := im.Decode(entry)
		if err != nil || !in.Known || in.Kind != insn.Plain && in.Kind != insn.Nop && in.Kind != insn.CondJump {
			return false
		}
		for _, m := range in.Mem[:in.NMem] {
			if base, known := points[m.Base]; known && m.Read && m.Index == insn.NoReg && m.Size == size && base+m.Disp == offset {
				return true
			}
		}
		follow(points, &in)
		entry += uint64(in.Len)
	}
	return false
}

// follow updates, for one instruction, which registers point at a known distance from the address
// that arg held at the entry.
func follow(points map[insn.Reg]int64, in *insn.Inst) {
	from, moved := points[in.Sum.Src]
	for r := range points {
		if in.Writes.Has(r) {
			delete(points, r)
		}
	}
	if in.Sum.Offset() && moved {
		points[in.Sum.Dst] = from + in.Sum.Imm
	}
}

// ors reports whether an instruction's text is that of an or with the constant bit.
func ors(text string, bit uint32) bool {
	op, operands, _ := strings.Cut(strings.TrimPrefix(text, "lock "), " ")
	if op != "or" && op != "orl" && op != "orb" {
		return false
	}
	imm := fmt.Sprintf("0x%x", bit)
	return strings.HasPrefix(operands, "$"+imm+",") || strings.HasSuffix(operands, ","+imm) || strings.HasSuffix(operands, ", "+imm)
}
