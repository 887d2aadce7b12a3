package waiting

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// maxLeading bounds the blocks between a condition that was copied and its loop.
const maxLeading = 4

// before returns the loads of copies of a loop's condition. Compilers make these where they turn a loop around,
// so that it tests at its end ("loop inversion"): a thread that finds the value at once executes the copy alone.
// A copy is in a block that leads either into the loop or past it, and its last load is like one of the loop's,
// but for the registers.
func (r *routine) before(l *code.Loop, loads []Load) (out []uint64) {
	var like []insn.Mem
	for _, load := range loads {
		if m, ok := r.loadsAt(load.At); ok {
			like = append(like, m)
		}
	}
	if len(like) == 0 {
		return nil
	}
	for n := range r.Blocks {
		b := &r.Blocks[n]
		if len(b.Next) != 2 || l.Contains(n) || r.leadsInto(l, b.Next[0]) == r.leadsInto(l, b.Next[1]) {
			continue
		}
		for i := b.Hi - 1; i >= b.Lo; i-- {
			m, ok := readBy(&r.Insts[i])
			if !ok {
				continue
			}
			if slices.ContainsFunc(like, func(o insn.Mem) bool { return alike(&m, &o) }) {
				out = append(out, r.Insts[i].Addr)
			}
			break
		}
	}
	return out
}

// loadsAt returns what the instruction at an address reads; ok is false if it is not of the function.
func (r *routine) loadsAt(addr uint64) (m insn.Mem, ok bool) {
	i := slices.IndexFunc(r.Insts, func(in insn.Inst) bool { return in.Addr == addr })
	if i < 0 {
		return m, false
	}
	return readBy(&r.Insts[i])
}

// readBy returns the memory that an instruction reads.
func readBy(in *insn.Inst) (m insn.Mem, ok bool) {
	for i := range in.NMem {
		if in.Mem[i].Read {
			return in.Mem[i], true
		}
	}
	return m, false
}

// leadsInto reports whether control that comes to a block goes on into the loop, whatever happens.
func (r *routine) leadsInto(l *code.Loop, block int) bool {
	for range maxLeading {
		if l.Contains(block) {
			return true
		}
		b := &r.Blocks[block]
		if len(b.Next) != 1 {
			return false
		}
		block = b.Next[0]
	}
	return l.Contains(block)
}

// alike reports whether two operands may be of one variable, whichever registers hold its address.
func alike(a, b *insn.Mem) bool {
	if a.Fixed || b.Fixed {
		return a.Fixed && b.Fixed && a.Addr == b.Addr && a.Size == b.Size
	}
	return a.Disp == b.Disp && a.Size == b.Size && a.Scale == b.Scale && !a.Segment && !b.Segment
}
