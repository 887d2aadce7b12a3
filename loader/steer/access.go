package steer

import (
	"errors"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Access is memory that an instruction is about to access.
type Access struct {
	Addr   uint64
	Size   int // bytes
	Write  bool
	Atomic bool // by an instruction with a lock
}

// ErrNoAccess means that it cannot be known from registers alone which memory an instruction accesses.
var ErrNoAccess = errors.New("which memory the instruction accesses is not known before it")

// AccessAt returns the instruction at an address of a file. It returns ErrNoAccess if Accesses cannot say what it
// accesses.
func AccessAt(f code.Source, at uint64) (insn.Inst, error) {
	b, err := f.Bytes(at, f.Arch().MaxLen())
	if err != nil {
		return insn.Inst{}, err
	}
	in, err := insn.Decode(f.Arch(), b, at)
	if err != nil {
		return in, err
	}
	if !in.Known || in.NMem == 0 || in.Repeats > 0 || in.BitIndex != insn.NoReg {
		return in, ErrNoAccess
	}
	for _, m := range in.Mem[:in.NMem] {
		if m.Segment || m.Size == 0 {
			return in, ErrNoAccess
		}
	}
	return in, nil
}

// Accesses returns what an instruction, which AccessAt has returned, accesses: registers are those before it, by their
// hardware numbers, and bias is how far the file is from where it was linked.
func Accesses(in *insn.Inst, bias uint64, registers *[16]uint64) (out []Access) {
	value := func(r insn.Reg) uint64 {
		if int(r) >= len(registers) {
			return 0
		}
		return registers[r]
	}
	for _, m := range in.Mem[:in.NMem] {
		addr := m.Addr + bias
		if !m.Fixed {
			addr = value(m.Base) + value(m.Index)*uint64(m.Scale) + uint64(m.Disp)
		}
		out = append(out, Access{Addr: addr, Size: m.Size, Write: m.Write, Atomic: in.Locked})
	}
	return out
}

// conflict returns memory that both access, one of them at least to write it, and not both atomically.
func conflict(a, b []Access) (addr uint64, size int, ok bool) {
	for _, x := range a {
		for _, y := range b {
			lo, hi := max(x.Addr, y.Addr), min(x.Addr+uint64(x.Size), y.Addr+uint64(y.Size))
			if lo < hi && (x.Write || y.Write) && !(x.Atomic && y.Atomic) {
				return lo, int(hi - lo), true
			}
		}
	}
	return 0, 0, false
}
