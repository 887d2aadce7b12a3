package probes

import (
	"path"
	"slices"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/libname"
)

// This file finds, in a library whose code is not searched for accesses since it has no debug information, where a thread
// may look at what another one has stored, once and without a loop: the functions of a ring or a mailbox, whose acquire
// loads and release stores are plain moves. Such a load goes through a pointer, decides a branch, and is followed by other
// accesses through pointers; and some function of the file stores to a member at the same offset, of the same size, after
// other accesses through pointers. Many loads that hand nothing over are like that. What is recorded is that they were
// executed, which makes findings less certain and hides none.

// maxLooks bounds such loads in one file: code that has more is full of them, and they tell nothing.
const maxLooks = 256

// maxToBranch bounds the instructions between a load and the branch that it decides.
const maxToBranch = 12

// member is where an instruction accesses memory: at an offset from a register or, if fixed, at an address.
type member struct {
	offset int64
	size   int
	fixed  bool
}

// looks plans probes behind the loads by which threads may look at what others have stored.
func (b *builder) looks(occupied func(uint64) bool) []UnseenProbe {
	f := b.plan.File
	if !b.undescribed || b.arch != insn.AMD64 || f.TextSize() > maxWaitText {
		return nil
	}
	found, stored := map[uint64]member{}, map[member]bool{}
	for _, fn := range f.Functions() {
		b.looksOf(fn, found, stored)
	}
	var out []UnseenProbe
	for at, m := range found {
		in, err := b.image.Decode(at)
		if !stored[m] || err != nil {
			continue
		}
		if probe, ok := b.unseenProbe(elf.UnseenSite{Addr: at, Return: in.End(), What: elf.UnseenLook}, occupied); ok {
			out = append(out, probe)
		}
	}
	if len(out) > maxLooks {
		b.note("%s has no debug information, and %d loads by which threads may look at what others have stored, too many to be observed: what is handed over there is not known", path.Base(f.Name()), len(out))
		return nil
	}
	slices.SortFunc(out, func(x, y UnseenProbe) int { return int(int64(x.At) - int64(y.At)) })
	return out
}

// looksOf adds, for one function, the loads that decide a branch and are followed by other accesses, and the members to
// which it stores after other accesses.
func (b *builder) looksOf(fn elf.Range, found map[uint64]member, stored map[member]bool) {
	var decides []uint64 // loads behind which no access was found yet
	of, before := map[uint64]member{}, false
	for addr := fn.Lo; addr < fn.Hi; {
		in, err := b.image.Decode(addr)
		if err != nil || in.Len == 0 {
			return
		}
		addr += uint64(in.Len)
		m, ok := memberOf(&in)
		if !ok {
			continue
		}
		for _, at := range decides {
			if of[at] != m {
				found[at] = of[at]
			}
		}
		decides = slices.DeleteFunc(decides, func(at uint64) bool { return of[at] != m })
		switch {
		case in.Mem[0].Write && !in.Mem[0].Read && before:
			stored[m] = true
		case in.Mem[0].Read && !in.Mem[0].Write && b.decidesBranch(&in, fn):
			of[in.Addr] = m
			decides = append(decides, in.Addr)
		}
		before = true
	}
}

// memberOf returns what an instruction accesses by a plain load or store of a word or less, other than on the stack.
func memberOf(in *insn.Inst) (m member, ok bool) {
	if !in.Known || in.NMem != 1 || in.Locked || in.StackWrite || in.Repeats > 0 || !in.Kind.Straight() {
		return m, false
	}
	o := &in.Mem[0]
	switch {
	case o.Segment || o.Size == 0 || o.Size > 8 || o.Base == insn.RSP || o.Base == insn.RBP && o.Disp < 0:
		return m, false
	case o.Fixed:
		return member{int64(o.Addr), o.Size, true}, true
	}
	return member{o.Disp, o.Size, false}, true
}

// decidesBranch reports whether a branch soon behind a load depends on its value.
func (b *builder) decidesBranch(load *insn.Inst, fn elf.Range) bool {
	values, flags := load.Writes, load.Tests
	addr := load.End()
	for n := 0; n < maxToBranch && addr < fn.Hi; n++ {
		in, err := b.image.Decode(addr)
		if err != nil || !in.Known && in.Kind == insn.Plain {
			return false
		}
		switch {
		case in.Kind == insn.CondJump && flags:
			return true
		case in.Kind == insn.CondJump || in.Kind.Straight():
		default:
			return false
		}
		uses := in.Reads&values != 0
		if !in.KeepsFlags {
			flags = uses
		}
		if uses && !in.Tests {
			values |= in.Writes
		} else {
			values &^= in.Writes
		}
		addr = in.End()
	}
	return false
}

// isUndescribed reports whether a file is a library that the user builds, of whose code nothing is known: it has no debug
// information, and is not searched for accesses.
func (p *Planner) isUndescribed(f *elf.File) bool {
	return path.IsAbs(f.Name()) && !inSystem(f.Name()) && !p.isOwn(f) && !libname.Runtime(f.Name()) && !HasDebugInfo(f)
}
