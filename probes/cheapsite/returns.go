package cheapsite

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// maxFollowed bounds the number of instructions that Returns visits.
const maxFollowed = 1 << 18

// walk is the state of Returns while it follows control flow.
type walk struct {
	im       *Image
	followed int // number of instructions visited
	extents  map[uint64]*code.Extent
	returns  map[uint64]bool
	tails    map[uint64]bool
	jumps    map[uint64]TailJump
	failure  string
}

// Returns follows control flow from entry through direct branches, jump tables and tail jumps into
// other functions (whose returns other callers reach too) to every exit. It fails if there is no
// code at entry.
func (im *Image) Returns(entry uint64) (Exits, error) {
	if _, err := im.Decode(entry); err != nil {
		return Exits{}, fmt.Errorf("follow the function at 0x%x: %w", entry, err)
	}
	im.Landings()
	w := &walk{im: im, extents: map[uint64]*code.Extent{}, returns: map[uint64]bool{}, tails: map[uint64]bool{}, jumps: map[uint64]TailJump{}}
	code.Reach([]uint64{entry}, func(at uint64) ([]uint64, bool) { return w.follow(at), true })
	if w.im.Work == 0 {
		w.fail("too much code leads to it")
	}
	if w.failure != "" {
		w.allReturns()
	}
	return Exits{
		Returns:   slices.Sorted(maps.Keys(w.returns)),
		TailJumps: slices.Sorted(maps.Keys(w.tails)),
		Jumps:     slices.SortedFunc(maps.Values(w.jumps), func(a, b TailJump) int { return cmp.Compare(a.At, b.At) }),
		Complete:  w.failure == "",
		Reason:    w.failure,
	}, nil
}

func (w *walk) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
	}
}

// follow returns the addresses at which control may go on after the instruction at an address.
func (w *walk) follow(at uint64) []uint64 {
	if w.followed++; w.followed > maxFollowed {
		w.fail("more than %d instructions", maxFollowed)
		return nil
	}
	if !w.im.Spend() {
		w.fail("too much code leads to it")
		return nil
	}
	in, err := w.im.Decode(at)
	if err != nil {
		w.fail("%v", err)
		return nil
	}
	e := w.im.ExtentAt(at)
	if e != nil {
		w.extents[e.Lo] = e
	}
	switch {
	case in.Kind == insn.Return:
		w.returns[at] = true
	case in.Kind == insn.IndirectJump:
		return w.indirect(&in, e)
	case in.Kind == insn.Jump && w.isStub(in.Target):
		w.tails[at] = true
		return nil
	case in.Kind == insn.CondJump && w.isStub(in.Target):
		w.fail("a conditional jump to a stub at 0x%x", at)
		return []uint64{in.End()}
	case in.Kind.Branches():
		w.jump(&in, e)
	case in.Kind.Calls() && e != nil && !e.Contains(in.End()):
		return nil // the call does not return
	}
	return in.Next()
}

// jump records a jump to the entry of another function.
func (w *walk) jump(in *insn.Inst, e *code.Extent) {
	to := w.im.ExtentAt(in.Target)
	if to != nil && to != e && to.Lo == in.Target {
		w.jumps[in.Addr] = TailJump{At: in.Addr, Target: in.Target, When: When(in.Cond)} // Cond 0: always
	}
}

// LeadsBack reports whether a direct jump from one of the ranges leads to at. Control then passes
// at more often than the function or copy that begins there is entered.
func (im *Image) LeadsBack(at uint64, from []elf.Range) bool {
	e := im.ExtentAt(at)
	return e != nil && im.jumps(e.Range, func(in *insn.Inst) bool {
		return in.Target == at && slices.ContainsFunc(from, func(r elf.Range) bool { return r.Contains(in.Addr) })
	}) || im.Work == 0
}

// jumps reports whether is returns true for one of the direct jumps in r.
func (im *Image) jumps(r elf.Range, is func(*insn.Inst) bool) (found bool) {
	im.Sweep(r, func(in *insn.Inst) bool {
		found = in.Kind.Branches() && is(in)
		return !found
	})
	return found
}

// isStub reports whether addr is a PLT stub: an indirect jump through a fixed slot, perhaps after
// endbr64.
func (w *walk) isStub(addr uint64) bool {
	for range 2 {
		in, err := w.im.Decode(addr)
		if err != nil {
			return false
		}
		if in.Kind == insn.IndirectJump {
			return in.NMem == 1 && in.Mem[0].Fixed
		}
		if in.Kind != insn.Nop {
			return false
		}
		addr += uint64(in.Len)
	}
	return false
}

// indirect returns the addresses to which an indirect jump leads.
func (w *walk) indirect(in *insn.Inst, e *code.Extent) []uint64 {
	to, kind := w.im.IndirectJump(in.Addr, e)
	switch kind {
	case code.JumpTable:
		// Entries that were read beyond the table's end lead to other functions.
		return slices.DeleteFunc(to, func(t uint64) bool {
			x := w.im.ExtentAt(t)
			return x == nil || x != e && w.extents[x.Lo] == nil && !w.partOf(x, e)
		})
	case code.JumpAway:
	default:
		w.fail("the indirect jump at 0x%x is not resolved", in.Addr)
	}
	w.tails[in.Addr] = true
	return nil
}

// partOf reports whether x jumps into the middle of e, as a part that the compiler has split off
// does.
func (w *walk) partOf(x, e *code.Extent) bool {
	return e != nil && w.im.jumps(x.Range, func(in *insn.Inst) bool { return e.Contains(in.Target) && in.Target != e.Lo })
}

// allReturns adds every return of the extents that were visited.
func (w *walk) allReturns() {
	for _, e := range w.extents {
		w.im.Sweep(e.Range, func(in *insn.Inst) bool {
			if in.Kind == insn.Return {
				w.returns[in.Addr] = true
			}
			return true
		})
	}
}

// Callees returns the targets of the direct calls in the function at entry, and of the jumps out of
// it, in the order of the code; nil if it is not known where the function ends.
func (im *Image) Callees(entry uint64) []uint64 {
	home := im.ExtentAt(entry)
	if home == nil {
		return nil
	}
	var targets []uint64
	im.Sweep(home.Range, func(in *insn.Inst) bool {
		out := in.Kind.Branches() && !home.Contains(in.Target)
		if in.Kind == insn.Call || out {
			targets = append(targets, in.Target)
		}
		return true
	})
	return targets
}

// WrapperOf returns the function that the function at entry is certain to enter with the registers
// in args unchanged: the target of the first call on its straight-line path, or of the jump by
// which the path leaves the function. It returns nil for a function that branches or synchronises
// before that, because it is no wrapper. The target may be a PLT stub.
func (im *Image) WrapperOf(entry uint64, args insn.RegSet) []uint64 {
	home := im.ExtentAt(entry)
	seen := map[uint64]bool{}
	for at := entry; !seen[at]; {
		seen[at] = true
		in, err := im.Decode(at)
		if err != nil || len(seen) > 2*maxSlide {
			return nil
		}
		switch in.Kind {
		case insn.Call:
			return []uint64{in.Target}
		case insn.Jump:
			if home == nil || !home.Contains(in.Target) || in.Target == entry {
				return []uint64{in.Target}
			}
			at = in.Target
			continue
		case insn.Plain, insn.Nop, insn.Push:
		default:
			return nil
		}
		if !in.Known || in.Locked || in.Writes&args != 0 {
			return nil
		}
		at += uint64(in.Len)
	}
	return nil
}
