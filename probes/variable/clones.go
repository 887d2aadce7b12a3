package variable

import (
	"slices"
	"sort"

	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Start-up code (gcc's crtstuff.c) hands a table of the functions of transactional memory to that
// feature's library, if there are both. deregister_tm_clones and register_tm_clones compare the
// table's beginning with its end, __TMC_END__, and jump to a function of that library through a
// weak symbol. The table is empty in nearly every program, and its end is then the address of
// whatever the linker puts there, often a variable of the program: it is in a register that passes
// an argument to that jump, and in that of the result.
//
// The two functions have no unwind information, and in a stripped file no name. So they are known
// by what their code does: it compares two constants, tests the pointer to the library's function,
// jumps to it, and does nothing else. The pointer is a slot of the global offset table, whose
// relocation names the function, or 0 in a file that was linked without such slots.

// maxClones bounds the instructions of one of the two functions: 16 in those of known compilers.
const maxClones = 32

// cloneFunctions are the names that the code may have, if it has any: the compiler may inline it.
var cloneFunctions = []string{"deregister_tm_clones", "register_tm_clones", "frame_dummy", "__do_global_dtors_aux"}

// cloneHooks are the functions of the library to which the code jumps.
var cloneHooks = []string{"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}

// clones returns the parts of a routine that register the table of clones, sorted.
func (c *Code) clones(r *routine) (out []bin.Range) {
	for i := range r.Insts {
		if in := &r.Insts[i]; in.Kind == insn.IndirectJump && in.NMem == 0 {
			if part, ok := c.clonesAround(r.Insts, i); ok {
				out = append(out, part)
			}
		}
	}
	return out
}

// clonesAround returns the code around the indirect jump insts[at] that does no more than register
// the table of clones; false if it may do more.
func (c *Code) clonesAround(insts []insn.Inst, at int) (bin.Range, bool) {
	first := at
	for first > 0 && at-first < maxClones && insts[first-1].End() == insts[first].Addr && harmless(&insts[first-1]) {
		first--
	}
	last := at + 1
	for last < len(insts) && last-at < maxClones && (insts[last].Kind == insn.Nop || pops(&insts[last])) {
		last++
	}
	if last == len(insts) || insts[last].Kind != insn.Return {
		return bin.Range{}, false
	}
	part := bin.Range{Lo: insts[first].Addr, Hi: insts[last].End()}
	exit := bin.Range{Lo: insts[at].End(), Hi: part.Hi}
	for i := first; i < at; i++ {
		if in := &insts[i]; in.Kind == insn.CondJump && !exit.Contains(in.Target) {
			return bin.Range{}, false
		}
	}
	return part, c.jumpsToHook(insts[first:at+1]) && c.mayBeClones(part)
}

// harmless reports whether an instruction keeps what it computes in registers, and control in the
// function.
func harmless(in *insn.Inst) bool {
	switch in.Kind {
	case insn.Plain, insn.Nop, insn.CondJump, insn.Push:
		return in.Known && (in.NMem == 0 || in.NMem == 1 && in.Mem[0].Size == 8 && !in.Mem[0].Write)
	}
	return false
}

// pops reports whether an instruction only loads a register from the top of the stack.
func pops(in *insn.Inst) bool {
	return in.Known && in.Kind == insn.Plain && in.NMem == 0 && in.SPChange > 0
}

// constant is what a register holds in code that registers clones.
type constant struct {
	known bool // it is the constant value
	value uint64
	hook  bool // it is the address of one of cloneHooks, or 0
}

// jumpsToHook reports whether code without branches but forward ones to its end, which ends with an
// indirect jump, compares two constants and jumps to one of cloneHooks.
func (c *Code) jumpsToHook(insts []insn.Inst) bool {
	var regs [numRegs]constant
	compared, tested := false, false
	for i := range insts {
		in := &insts[i]
		switch {
		case in.Kind == insn.IndirectJump:
			to := in.Reads.Only()
			return compared && tested && to < numRegs && regs[to].hook
		case in.NMem > 0 && !c.loadsHook(&regs, in):
			return false
		case comparesConstants(&regs, in):
			compared = true
		}
		tested = tested || testsHook(&regs, in)
		c.stepConstants(&regs, in)
	}
	return false
}

// comparesConstants reports whether an instruction compares a constant that is no hook with another
// one, or subtracts the two.
func comparesConstants(regs *[numRegs]constant, in *insn.Inst) bool {
	if !in.Tests && !in.Sum.Offset() && in.Derived.Minus == 0 || in.Reads == 0 {
		return false
	}
	for r := range insn.Reg(numRegs) {
		if in.Reads.Has(r) && (!regs[r].known || regs[r].hook) {
			return false
		}
	}
	return !in.Sum.Offset() || in.Sum.Src < numRegs && regs[in.Sum.Src].value >= uint64(-in.Sum.Imm) && in.Sum.Imm < 0
}

// testsHook reports whether an instruction compares a hook with 0: test, or cbz.
func testsHook(regs *[numRegs]constant, in *insn.Inst) bool {
	r := in.Reads.Only()
	return (in.Tests || in.Kind == insn.CondJump) && r < numRegs && regs[r].hook
}

// loadsHook reports whether an instruction loads a slot of the global offset table for one of
// cloneHooks.
func (c *Code) loadsHook(regs *[numRegs]constant, in *insn.Inst) bool {
	m := &in.Mem[0]
	if in.NMem != 1 || !loadsWord(in, m) || m.Segment || m.Index != insn.NoReg {
		return false
	}
	addr := m.Addr
	if !m.Fixed {
		if m.Base >= numRegs || !regs[m.Base].known {
			return false
		}
		addr = regs[m.Base].value + uint64(m.Disp)
	}
	return slices.Contains(c.cloneSlots(), addr)
}

func (c *Code) stepConstants(regs *[numRegs]constant, in *insn.Inst) {
	hook := in.NMem > 0 // jumpsToHook has accepted the load
	var sum constant
	switch {
	case in.Sum.Const():
		value := uint64(in.Sum.Imm)
		sum = constant{known: true, value: value, hook: value == 0 || c.isHook(value)}
	case in.Sum.Offset() && in.Sum.Src < numRegs:
		if sum = regs[in.Sum.Src]; in.Sum.Imm != 0 {
			sum.value, sum.hook = sum.value+uint64(in.Sum.Imm), false
		}
	}
	for r := range insn.Reg(numRegs) {
		if in.Writes.Has(r) {
			regs[r] = constant{}
		}
	}
	if in.Sum.Dst < numRegs {
		regs[in.Sum.Dst] = sum
	} else if hook {
		regs[in.ValueReg] = constant{hook: true}
	}
}

// isHook reports whether one of cloneHooks is at an address, in a program that contains the library.
func (c *Code) isHook(addr uint64) bool {
	return c.file != nil && slices.ContainsFunc(cloneHooks, func(name string) bool {
		return slices.ContainsFunc(c.file.Lookup(name), func(s bin.Symbol) bool { return s.Addr == addr })
	})
}

// cloneSlots returns the slots of the global offset table that hold the addresses of cloneHooks.
func (c *Code) cloneSlots() []uint64 {
	if c.hooks == nil && c.file != nil {
		c.hooks = []uint64{}
		for slot, name := range c.file.GOTSlots() {
			if slices.Contains(cloneHooks, name) {
				c.hooks = append(c.hooks, slot)
			}
		}
	}
	return c.hooks
}

// mayBeClones reports whether no function of another name begins in the code.
func (c *Code) mayBeClones(part bin.Range) bool {
	if c.file == nil {
		return true
	}
	symbols := c.file.Symbols()
	i := sort.Search(len(symbols), func(i int) bool { return symbols[i].Addr >= part.Lo })
	for ; i < len(symbols) && symbols[i].Addr < part.Hi; i++ {
		if s := &symbols[i]; s.Kind == bin.Func && !slices.Contains(cloneFunctions, s.Name) {
			return false
		}
	}
	return true
}

// registersClones reports whether the instruction at an address registers the table of clones.
func (f *flow) registersClones(addr uint64) bool {
	if !f.clonesFound {
		f.clonesFound, f.routine.clones = true, f.known().clones(f.routine)
	}
	return slices.ContainsFunc(f.routine.clones, func(r bin.Range) bool { return r.Contains(addr) })
}
