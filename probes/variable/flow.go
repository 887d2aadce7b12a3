package variable

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Code often has the variable's address, or that of its array, in a register: it loads the address
// from the global offset table, or makes it by lea or ADRP and ADD, perhaps before a loop, and may
// spill it to the stack. The flow follows constants through the registers and the stack of one
// function, as constant propagation does, with code.Solver and the lattice of value. Where an
// address goes to where the flow does not follow it (memory, a call's argument, a computation), it
// escapes.
//
// The flow follows the words of the function's own stack that no other code can reach: those below
// the lowest word whose address the function takes, since an object at that address extends
// upwards.

// flow is the data flow of one variable's address in a function.
type flow struct {
	*target
	*routine
	before *code.Solver[state]
	// external is the join of all states that may enter the external entries (blocks that control
	// may enter by an unknown jump). It is computed once for all of them, so that the work is not
	// the number of jumps times the number of external entries.
	external state
	// exposed is the lowest offset of the stack whose address the function takes. lowered reports
	// that the current run has lowered exposed since it began.
	exposed int64
	lowered bool
	reloads map[int64]bool // offsets of stack words from which registers are loaded
	budget  int            // the remaining budget of work
}

func newFlow(t *target, r *routine) *flow {
	f := &flow{target: t, routine: r, exposed: math.MaxInt64, reloads: map[int64]bool{}, budget: leastWork + workEach*len(r.Insts)}
	f.before = &t.known().before
	f.before.Join = f.join
	return f
}

func (f *flow) join(into, from *state) bool {
	f.budget -= 1 + len(into.slots) + len(from.slots)
	return into.join(from)
}

// maxRounds bounds how often the flow starts again because fewer words of the stack are private
// than it assumed. After that it assumes that none is private.
const maxRounds = 4

// Bounds of the work on one function, in instructions passed and words joined. Code can be
// constructed in which the state changes at each instruction again and again. Code from compilers
// takes about ten units for each instruction.
const (
	leastWork = 1 << 18
	workEach  = 256
)

// run computes the state at the beginning of each block; false if the budget is exhausted.
func (f *flow) run() bool {
	for round := 0; ; round++ {
		if round == maxRounds {
			f.exposed = math.MinInt64
		}
		f.lowered, f.external = false, state{}
		f.before.Solve(f.Graph, f.start, f.pass)
		if !f.lowered || f.budget < 0 {
			return f.budget >= 0
		}
	}
}

// start returns the initial state of a block: nothing is known, except that on x86-64 the stack
// pointer is known at the function's entry.
func (f *flow) start(block int) (state, bool) {
	s := nothing()
	if block == 0 && f.arch == insn.AMD64 {
		s.regs[insn.RSP] = value{kind: framed}
	}
	return s, true
}

// pass applies an instruction to a state, and joins the state into the external entries if control
// may go there; false if the budget is exhausted.
func (f *flow) pass(s *state, in *insn.Inst) bool {
	f.budget -= 1 + len(s.slots)
	f.step(s, in, nil)
	if f.mayLand(in) && s.points() {
		if s := s.weakened(); f.external.join(&s) {
			for _, n := range f.ExternalEntries {
				f.before.Flow(n, &f.external)
			}
		}
	}
	return f.budget >= 0
}

// weakened returns the part of the state that still holds where unknown other paths join.
func (s *state) weakened() state {
	w := *s
	for r := range w.regs {
		if w.regs[r].kind != framed {
			w.regs[r] = w.regs[r].weaken()
		}
	}
	w.slots = slices.Clone(w.slots)
	for i := range w.slots {
		w.slots[i].Value = w.slots[i].Value.weaken()
	}
	return w
}

// report passes once more over the blocks and records accesses and escapes.
func (f *flow) report(c *collector) {
	f.before.Each(f.Graph, func(s *state, in *insn.Inst) { f.step(s, in, c) })
}

// step applies an instruction to a state. With a collector, it also records accesses and escapes.
func (f *flow) step(s *state, in *insn.Inst, c *collector) {
	if c != nil {
		f.operands(s, in, c)
		if !c.direct {
			f.escapes(s, in, c)
		}
	}
	dst, result := f.result(s, in)
	at, stored := f.stackStore(s, in)
	f.exposes(s, in, dst, result)
	sp := s.regs[insn.RSP]
	f.clobber(s, in)
	if dst != insn.NoReg {
		s.regs[dst] = result
	}
	if f.arch == insn.AMD64 && in.Writes.Has(insn.RSP) && dst != insn.RSP && !in.SPLost && sp.kind == framed {
		s.regs[insn.RSP] = value{kind: framed, addr: sp.addr + uint64(in.SPChange)}
	}
	if stored.points() {
		s.slots = s.slots.Put(at, stored)
	}
}

// result returns the register whose new value the instruction determines, and that value; NoReg if
// there is none.
func (f *flow) result(s *state, in *insn.Inst) (insn.Reg, value) {
	if !in.Known {
		return insn.NoReg, value{}
	}
	if in.Sum.Dst < numRegs {
		return in.Sum.Dst, f.sum(s, in)
	}
	if addr, ok := f.slotLoaded(s, in); ok {
		return in.ValueReg, value{kind: known, addr: addr, makers: []uint64{in.Addr}}
	}
	if at, ok := f.stackLoad(s, in); ok {
		if r := popped(in); r != insn.NoReg {
			return r, s.slotAt(at)
		}
		return in.ValueReg, s.slotAt(at)
	}
	if in.Derived.Dst < numRegs {
		return in.Derived.Dst, f.derived(s, in)
	}
	if call, _, ok := f.memoryCall(in); ok && call.first && in.Kind == insn.Call {
		return insn.RAX, s.regs[insn.RDI]
	}
	return insn.NoReg, value{}
}

// sum returns the value that the instruction's Sum computes.
func (f *flow) sum(s *state, in *insn.Inst) value {
	src, add := in.Sum.Src, in.Sum.Add
	if src == insn.NoReg && add == insn.NoReg {
		if !f.fixed && !f.relative(in) {
			return value{kind: unknown} // a number that only resembles an address
		}
		return f.at(uint64(in.Sum.Imm), in.Addr)
	}
	if src >= numRegs || add != insn.NoReg {
		return f.mixed(s, in, insn.RegSet(0).With(src).With(add), 0)
	}
	h := s.regs[src]
	h.addr += uint64(in.Sum.Imm)
	switch {
	case !h.exact(): // includes framed, which is not an address of data
		if h.kind != framed {
			h.addr = 0
		}
	case !h.points():
		if h.kind == known && f.target.direct {
			return f.at(h.addr, in.Addr)
		}
	case !f.isNear(h.addr):
		if h.kind == maybe || !f.target.direct {
			return value{kind: unknown}
		}
		h.makers = nil
	}
	return h
}

// at returns the value of a constant address that the instruction at maker makes.
func (f *flow) at(addr, maker uint64) value {
	h := value{kind: known, addr: addr}
	if f.target.direct && f.isNear(addr) {
		if f.registersClones(maker) {
			return value{kind: unknown} // the end of the table of clones, whatever lies there
		}
		h.makers = []uint64{maker}
	}
	return h
}

// derived returns the value that an instruction computes from registers by arithmetic.
func (f *flow) derived(s *state, in *insn.Inst) value {
	h := f.mixed(s, in, in.Derived.From, in.Derived.Minus)
	for i := range in.NMem { // add array@GOTPCREL(%rip), %rcx
		if _, ok := f.isSlotOperand(s, &in.Mem[i]); ok {
			h = value{kind: inside, makers: union(h.makers, []uint64{in.Addr}), certain: true}
		}
	}
	return h
}

func (f *flow) mixed(s *state, in *insn.Inst, from, minus insn.RegSet) value {
	h := value{kind: unknown}
	for r := range insn.Reg(numRegs) {
		switch v := s.regs[r]; {
		case minus.Has(r) && v.points():
			return value{kind: unknown} // the difference of two addresses
		case !from.Has(r):
		case v.points():
			h = value{kind: inside, makers: union(h.makers, v.makers), certain: h.certain || v.alwaysPoints()}
		case v.kind == known && f.target.direct && in.Derived.Dst < numRegs && f.isNear(v.addr+uint64(in.Derived.Imm)):
			h = value{kind: inside, makers: union(h.makers, []uint64{in.Addr}), certain: true}
		}
	}
	if h.kind == unknown && in.Derived.Dst < numRegs && f.fixed && f.target.direct && f.isNear(uint64(in.Derived.Imm)) {
		h = value{kind: inside, makers: []uint64{in.Addr}, certain: true} // lea array(,%rax,8), %rcx
	}
	return h
}

// address returns the address of a memory operand that has no index, and the value that its base
// register holds; ok is false if the address is not known.
func (f *flow) address(s *state, m *insn.Mem) (addr uint64, h value, ok bool) {
	switch {
	case m.Segment || m.Index != insn.NoReg:
		return 0, value{}, false
	case m.Fixed:
		return m.Addr, value{kind: known}, true
	case m.Base >= numRegs:
		return 0, value{}, false
	}
	h = s.regs[m.Base]
	return h.addr + uint64(m.Disp), h, h.exact()
}

// reaches reports whether the operand may be any part of the enclosing object: its address is the
// sum of an address near the object and an unknown value.
func (f *flow) reaches(s *state, in *insn.Inst, m *insn.Mem) bool {
	if m.Segment || m.Fixed {
		return in.BitIndex != insn.NoReg && m.Fixed && f.target.direct && f.isNear(m.Addr)
	}
	base, index := value{kind: unknown}, value{kind: unknown}
	if m.Base < numRegs {
		base = s.regs[m.Base]
	}
	if m.Index < numRegs {
		index = s.regs[m.Index]
	}
	switch {
	case base.kind == inside || index.kind == inside:
		return true
	case (in.Repeats > 0 || in.BitIndex != insn.NoReg) && base.points():
		return true
	case m.Index == insn.NoReg && base.exact():
		return false
	case m.Index != insn.NoReg && (base.points() || index.points()):
		return true
	case !f.target.direct:
		return false
	case f.fixed && f.isNear(uint64(m.Disp)):
		return true
	case m.Index == insn.NoReg:
		return false
	}
	return base.kind == known && f.isNear(base.addr+uint64(m.Disp)) ||
		index.kind == known && m.Scale == 1 && f.isNear(index.addr+uint64(m.Disp))
}

// isSlotOperand returns the address that the operand contains if the operand is a slot of the
// global offset table.
func (f *flow) isSlotOperand(s *state, m *insn.Mem) (uint64, bool) {
	addr, h, ok := f.address(s, m)
	if !ok || h.points() {
		return 0, false
	}
	to, ok := f.slots[addr]
	return to, ok
}

// slotLoaded returns the address that the instruction loads from the global offset table.
func (f *flow) slotLoaded(s *state, in *insn.Inst) (uint64, bool) {
	for i := range in.NMem {
		if loadsWord(in, &in.Mem[i]) {
			if to, ok := f.isSlotOperand(s, &in.Mem[i]); ok {
				return to, true
			}
		}
	}
	return 0, false
}

// loadsWord reports whether the instruction loads all 8 bytes of the operand into a register, so
// that an address in it can be followed.
func loadsWord(in *insn.Inst, m *insn.Mem) bool {
	return in.Known && m.Read && !m.Write && m.Size == 8 && in.ValueReg < numRegs && in.Writes.Has(in.ValueReg)
}

// operands records what the instruction does to the variable and to its slot in the global offset
// table.
func (f *flow) operands(s *state, in *insn.Inst, c *collector) {
	f.callAccesses(s, in, c)
	if !in.Known {
		if f.mentions(in) {
			c.out.Unknown = append(c.out.Unknown, in.Addr)
		}
		return
	}
	for i := range in.NMem {
		m := &in.Mem[i]
		if !m.Read && !m.Write {
			continue
		}
		if f.reaches(s, in, m) {
			f.indexed(s, in, m, c)
			continue
		}
		addr, h, ok := f.address(s, m)
		if !ok {
			continue
		}
		if _, slot := f.isSlotOperand(s, m); slot {
			c.out.GOT = append(c.out.GOT, in.Addr)
			if !loadsWord(in, m) && !in.Tests && in.Derived.Dst == insn.NoReg {
				c.escape(Escape{Addr: in.Addr, Kind: Computed}, []uint64{in.Addr})
			}
		} else if (f.target.direct || h.points()) && f.v.Overlaps(addr, m.Size) {
			c.access(f.fn, in, m, addr, h.kind == maybe)
		}
	}
}

// indexed records an access of any part of the object. Where there are several objects,
// recordIndexed determines which.
func (f *flow) indexed(s *state, in *insn.Inst, m *insn.Mem, c *collector) {
	if !f.several {
		c.indexed(f.fn, in, m, f.isCertain(s, m))
		return
	}
	if f.recordIndexed(s, in, m) {
		return
	}
	made := []uint64{in.Addr}
	for _, r := range []insn.Reg{m.Base, m.Index} {
		if r < numRegs {
			made = append(made, s.regs[r].makers...)
		}
	}
	c.escape(Escape{Addr: in.Addr, Kind: Computed}, made)
}

// isCertain reports whether an operand that may be a part of the object is one on every path to the
// instruction.
func (f *flow) isCertain(s *state, m *insn.Mem) bool {
	base, index := value{kind: unknown}, value{kind: unknown}
	if m.Base < numRegs {
		base = s.regs[m.Base]
	}
	if m.Index < numRegs {
		index = s.regs[m.Index]
	}
	return base.alwaysPoints() || index.alwaysPoints() || !base.points() && !index.points()
}

// callAccesses records what a function of the C library accesses through the addresses that are
// passed to it.
func (f *flow) callAccesses(s *state, in *insn.Inst, c *collector) {
	call, name, ok := f.memoryCall(in)
	if !ok || f.several {
		return
	}
	for _, arg := range call.args {
		if h := s.regs[arg.register]; h.points() && f.mayTouch(s, h, arg) {
			c.out.Accesses = append(c.out.Accesses, Access{
				Addr: in.Addr, Len: in.Len, Kind: arg.kind, Width: 1, Inside: true, Base: arg.register, Index: insn.NoReg,
				Callee: name, Count: arg.count, Func: f.fn, Value: Value{Source: FromMemory, Reg: insn.NoReg},
			})
		}
	}
}

// mayTouch reports whether a call that is passed the address h may access the variable.
func (f *flow) mayTouch(s *state, h value, arg memoryArgument) bool {
	n := value{kind: unknown}
	if arg.count < numRegs {
		n = s.regs[arg.count]
	}
	return h.kind != known || n.kind != known || h.addr < f.v.Addr+uint64(f.v.Size) && f.v.Addr < h.addr+n.addr
}

// mentions reports whether an instruction that was not decoded fully has the address of the
// variable or of its slot as a PC-relative operand. On arm64 it returns false: all instructions
// that begin an address there are decoded.
func (f *flow) mentions(in *insn.Inst) bool {
	if f.arch != insn.AMD64 {
		return false
	}
	bytes := f.bytesOf(in)
	for p := 1; p+4 <= len(bytes); p++ {
		to := in.End() + uint64(int64(int32(binary.LittleEndian.Uint32(bytes[p:]))))
		if f.target.direct && f.v.Overlaps(to, maxOperand) || f.isSlot(to) {
			return true
		}
	}
	return false
}

// clobber marks as unknown every register and stack word that the instruction writes.
func (f *flow) clobber(s *state, in *insn.Inst) {
	f.stackWritten(s, in) // first: the addresses depend on the registers' old values
	for left := in.Overwrites(f.arch) & allRegs; left != 0; left &= left - 1 {
		s.regs[bits.TrailingZeros64(uint64(left))] = value{kind: unknown}
	}
}
