package probes

import (
	"path"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/futexcall"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// This file plans the probes of calls of futex(2): in code that waits only where user space alone does not do, so that
// nothing is paid where nobody waits.

// makeContended makes a plan of calls of futex(2) alone.
func (p *Planner) makeContended(f *elf.File) (*Plan, error) {
	defer f.Hold()()
	image := cheapsite.NewImage(f)
	b := &builder{opts: p.opts, plan: &Plan{File: f}, image: image, arch: f.Arch()}
	p.files = append(p.files, f)
	b.plan.Calls = b.futexCalls()
	if err := b.finish(); err != nil {
		return nil, err
	}
	b.plan.indexNames()
	return b.plan, nil
}

// futexCalls adds the sites of the file's calls of futex(2), two for each, and returns the number of calls.
func (b *builder) futexCalls() int {
	f := b.plan.File
	stubs, slots := b.addressesOf("syscall")
	found := futexcall.Find(b.image.Image, futexcall.Options{Stubs: stubs, Slots: slots, IsCode: b.isCode})
	for i := range found.Calls {
		b.futexCall(&found.Calls[i])
	}
	if n := len(found.Skipped); n > 0 {
		b.note("%d {call|calls} of futex(2) in %s {is|are} not observed (that at 0x%x: %s)", n, path.Base(f.Name()), found.Skipped[0].At, found.Skipped[0].Why)
	}
	if slices.ContainsFunc(found.Passed, b.cancellable) {
		b.note("%s waits for conditions, semaphores and threads by a function that makes other system calls too, and is not observed", path.Base(f.Name()))
	}
	return len(found.Calls)
}

// cancellable reports whether an instruction that enters the kernel with any number may be the one by which a C library
// makes the calls that can be cancelled (glibc from 2.41 on, and musl).
func (b *builder) cancellable(at uint64) bool {
	f := b.plan.File
	return len(f.Lookup("pthread_cond_wait")) > 0 && b.functionAt(at) != "syscall"
}

// addressesOf returns the addresses at which a call is one of a function of the C library, and those of the words that hold
// its address.
func (b *builder) addressesOf(name string) (stubs, slots map[uint64]bool) {
	f := b.plan.File
	stubs, slots = map[uint64]bool{}, map[uint64]bool{}
	for at, callee := range f.PLTTargets() {
		if callee == name {
			stubs[at] = true
		}
	}
	for at, callee := range f.GOTSlots() {
		if callee == name {
			slots[at] = true
		}
	}
	if f.Static() {
		for _, s := range f.Lookup(name) {
			if s.Kind == elf.Func && s.Addr != 0 {
				stubs[s.Addr] = true
			}
		}
	}
	return stubs, slots
}

// futexCall adds the two sites of a call.
func (b *builder) futexCall(c *futexcall.Call) {
	before, behind := b.futexSite(c.At, c.Before, "before futex(2) is called"), b.futexSite(c.At, c.Behind, "where futex(2) returns to")
	before.BPF.Action, behind.BPF.Action = uint8(bpf.ActionSave), uint8(bpf.ActionReturn)
	before.BPF.ObjectFrom, before.BPF.ObjectReg, before.BPF.ObjectDisp = uint8(bpf.FromReg), uint8(c.Word.Reg), c.Word.Disp
	if c.Word.Reg == insn.NoReg {
		before.BPF.ObjectFrom, before.BPF.ObjectReg, before.BPF.ObjectDisp = uint8(bpf.FromFixed), 0, c.Word.Disp-int64(c.Before)
	}
	*before.BPF.Futex() = bpf.FutexSite{OpReg: uint8(c.Op.Reg), OpMask: c.Op.Mask, OpFlip: c.Op.Flip, Number: futexcall.Number(b.arch)}
	if c.NumberReg != insn.NoReg {
		before.BPF.Futex().NumberReg = uint8(c.NumberReg) + 1
	}
	b.plan.Sites = append(b.plan.Sites, before, behind)
}

// futexSite returns a site of a call of futex(2).
func (b *builder) futexSite(at, addr uint64, why string) Site {
	s := Site{At: at, Addr: addr, Program: ProgramFutex, Function: b.functionAt(at)}
	if !b.opts.Terse {
		s.Why = why
	}
	if in, err := b.image.Decode(addr); err == nil && in.Emulated {
		s.Class = cheapsite.Emulated
	}
	return s
}
