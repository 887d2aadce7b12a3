package waiting

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// flow is what the instructions of a loop may compute, in whatever order they are executed: an upper
// bound, at a fraction of the cost, of what region finds where it does not examine called functions.
type flow struct {
	// known are the registers whose class may be fixed or loaded, and loaded those whose class may be
	// loaded. The flags have a number, too.
	known, loaded insn.RegSet
}

const (
	flags insn.Reg = 16
	all            = insn.RegSet(1)<<flags - 1
)

// mayEnd reports whether an exit of a loop may be decided by what is loaded from an address that the
// loop does not change.
func (x *finder) mayEnd(r *routine, l *code.Loop) bool {
	var changes insn.RegSet
	for in := range r.insts(l.Blocks) {
		changes |= in.Overwrites(insn.AMD64)
	}
	f := flow{known: all&^changes | 1<<insn.RSP}
	for before := (flow{}); before != f; {
		before = f
		for in := range r.insts(l.Blocks) {
			x.flowThrough(&f, r, in)
		}
	}
	return slices.ContainsFunc(l.Blocks, func(b int) bool { return f.mayLeave(r, &r.Blocks[b], l) })
}

// mayLeave reports whether a block has an exit that a loaded value may decide.
func (f *flow) mayLeave(r *routine, b *code.Block, l *code.Loop) bool {
	last := &r.Insts[b.Hi-1]
	if last.Kind != insn.CondJump || last.Cond == 0 || r.stays(b, l, last.Target) && r.stays(b, l, last.End()) {
		return false
	}
	for i := b.Hi - 2; i >= b.Lo; i-- {
		in := &r.Insts[i]
		if in.Kind == insn.Nop || in.Known && in.KeepsFlags && !in.Kind.Calls() {
			continue
		}
		known, loaded := f.of(r, in)
		return known && loaded
	}
	return f.loaded.Has(flags)
}

// stays reports whether a block's successor at an address is in a loop.
func (r *routine) stays(b *code.Block, l *code.Loop, addr uint64) bool {
	return slices.ContainsFunc(b.Next, func(n int) bool { return l.Contains(n) && r.Insts[r.Blocks[n].Lo].Addr == addr })
}

// flowThrough adds what an instruction may compute.
func (x *finder) flowThrough(f *flow, r *routine, in *insn.Inst) {
	if name := x.imported(in); in.Kind == insn.Call && name == "" || in.Kind.Calls() && name != "" && !Idles(name) {
		f.known, f.loaded = f.known.With(insn.RAX), f.loaded.With(insn.RAX)
	}
	known, loaded := f.of(r, in)
	if !known {
		return
	}
	writes := in.Writes & all
	if !in.KeepsFlags {
		writes = writes.With(flags)
	}
	f.known |= writes
	if loaded {
		f.loaded |= writes
	}
}

// of returns what is known of the value that an instruction computes.
func (f *flow) of(r *routine, in *insn.Inst) (known, loaded bool) {
	if !in.Known || in.Kind.Calls() || in.Kind.Branches() || in.Kind == insn.Nop {
		return false, false
	}
	sum := in.Sum
	switch {
	case sum.Const():
		return true, false
	case sum.Offset() && sum.Src < flags:
		return f.known.Has(sum.Src), f.loaded.Has(sum.Src)
	}
	only := in.ValueReg != insn.NoReg && in.NMem == 1 && in.Mem[0].Read && !in.Mem[0].Write
	from := in.Reads & all
	if only {
		from = 0
	}
	for _, m := range in.Mem[:in.NMem] {
		if !m.Read {
			continue
		}
		if m.Segment || m.Size == 0 || m.Size > 8 {
			return false, false
		}
		loaded = true
		from = from.With(m.Base).With(m.Index)
	}
	if reads, alone := readsFlags(r.code(in)); reads && !only {
		if alone {
			from = 0
		}
		from = from.With(flags)
	}
	return f.known&from == from, loaded || f.loaded&from != 0
}
