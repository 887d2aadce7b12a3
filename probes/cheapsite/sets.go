package cheapsite

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// The number of instructions that Sets examines, and the bound of the offset, in bytes, of a word
// in a small object.
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
			m := in.Mem[0]
			base, known := points[m.Base]
			offset = base + m.Disp
			return offset, ored && in.NMem == 1 && known && m.Index == insn.NoReg && m.Size == 4 && m.Write && offset >= 0 && offset < maxOffset
		}
		follow(points, &in)
		entry += uint64(in.Len)
	}
	return 0, false
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
