package waiting

import (
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// asking finds the exits of a loop that rests which may be decided by answers of functions of other files in a way
// that region does not follow: by the number that sscanf has found in a line, or by the count of the files that are
// there. Registers are followed; the frame is followed without regard to the order of instructions, and other
// memory as one.
type asking struct {
	x       *finder
	r       *routine
	loop    *code.Loop
	solver  code.Solver[answers]
	frame   []span // of the frame, relative to rsp and rbp: where answers may be
	counts  []span // of the frame, likewise: what the loop adds constants to
	spilled []span // of the frame, likewise: where the function keeps addresses in the frame
	memory  bool   // other memory may hold answers
	decided []bool // by place in the loop's blocks: an answer may decide whether it is executed
	calls   []uint64
	grown   bool // one of these has changed, so that the registers must be computed again
	exits   []uint64
}

// answers are the registers that may depend on answers, the flags with them, and those that point to the frame and
// to data of the file.
type answers struct{ may, toFrame, toData insn.RegSet }

func (s *answers) join(from *answers) (changed bool) {
	j := answers{s.may | from.may, s.toFrame | from.toFrame, s.toData | from.toData}
	changed, *s = j != *s, j
	return changed
}

// asked returns the exits of a loop that rests and asks.
func (x *finder) asked(r *routine, l *code.Loop) (out []Wait) {
	if !x.mayAsk(r, l.Blocks) {
		return nil
	}
	a := &asking{x: x, r: r, loop: l, decided: make([]bool, len(l.Blocks))}
	a.solver.Join = (*answers).join
	a.findCounts()
	a.findSpilled()
	entry := a.entry()
	for a.grown = true; a.grown; {
		a.grown, a.exits = false, a.exits[:0]
		if !a.solve(entry) {
			return nil
		}
	}
	for _, exit := range a.exits {
		w := Wait{Func: r.fn, Exit: exit}
		for _, at := range a.calls[:min(len(a.calls), maxLoads)] {
			w.Loads = append(w.Loads, Load{At: at, Asked: true})
		}
		out = append(out, w)
	}
	return out
}

// entry returns the registers that hold addresses where the loop begins. Nothing varies there yet.
func (a *asking) entry() (s answers) {
	whole := a.x.whole(a.r, a.loop.Head)
	if whole == nil {
		return s
	}
	for reg, v := range whole.regs {
		switch {
		case v.class == varies:
		case v.root == constants && a.x.file.IsData(uint64(v.off)):
			s.toData = s.toData.With(insn.Reg(reg))
		case v.root == a.x.register(insn.RSP):
			s.toFrame = s.toFrame.With(insn.Reg(reg))
		}
	}
	return s
}

// findCounts finds the words of the frame that the loop adds constants to.
func (a *asking) findCounts() {
	for in := range a.r.insts(a.loop.Blocks) {
		for _, m := range in.Mem[:in.NMem] {
			if m.Read && m.Write && in.Reads&all&^(1<<m.Base) == 0 && a.ofFrame(&m) {
				a.counts = append(a.counts, a.span(&m))
			}
		}
	}
}

// findSpilled finds where the function keeps addresses of the frame, by its instructions in order.
func (a *asking) findSpilled() {
	var s answers
	a.x.work -= len(a.r.Insts) / 4
	for i := range a.r.Insts {
		in := &a.r.Insts[i]
		for _, m := range in.Mem[:in.NMem] {
			if m.Write && in.ValueReg < flags && s.toFrame.Has(in.ValueReg) && a.ofFrame(&m) {
				a.spilled = append(a.spilled, a.span(&m))
			}
		}
		a.points(&s, in, in.Overwrites(insn.AMD64)&all)
	}
}

// place returns the place of a block in those of the loop.
func (a *asking) place(block int) (int, bool) { return slices.BinarySearch(a.loop.Blocks, block) }

// solve computes the registers from the beginning of the loop on. It returns false if the work is used up.
func (a *asking) solve(entry answers) bool {
	a.solver.Reset(len(a.loop.Blocks))
	for _, b := range append([]int{a.loop.Head}, a.loop.Entries...) {
		if n, ok := a.place(b); ok {
			a.solver.Flow(n, &entry)
		}
	}
	return a.solver.Run(func(n int) bool {
		b := &a.r.Blocks[a.loop.Blocks[n]]
		if a.x.work -= b.Hi - b.Lo; a.x.work <= 0 {
			return false
		}
		s := a.solver.Before[n]
		for i := b.Lo; i < b.Hi; i++ {
			a.step(&s, &a.r.Insts[i], a.decided[n])
		}
		for _, next := range b.Next {
			if to, ok := a.place(next); ok {
				a.solver.Flow(to, &s)
			}
		}
		if last := &a.r.Insts[b.Hi-1]; last.Kind == insn.CondJump && s.may.Has(flags) {
			a.branch(b, last)
		}
		return true
	})
}

// branch records what an answer decides by a branch: an exit, or whether blocks are executed.
func (a *asking) branch(b *code.Block, in *insn.Inst) {
	if stays := a.r.stays(b, a.loop, in.Target); stays != a.r.stays(b, a.loop, in.End()) {
		to := in.Target
		if stays {
			to = in.End()
		}
		if !slices.Contains(a.exits, to) {
			a.exits = append(a.exits, to)
		}
		return
	}
	if len(b.Next) != 2 {
		return
	}
	one, other := a.reached(b.Next[0]), a.reached(b.Next[1])
	for n := range a.decided {
		if one[n] != other[n] && !a.decided[n] {
			a.decided[n], a.grown = true, true
		}
	}
}

// reached returns the blocks, by their places, to which control can come from one on before the loop begins again.
func (a *asking) reached(from int) []bool {
	seen, todo := make([]bool, len(a.loop.Blocks)), []int{from}
	for len(todo) > 0 {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n, ok := a.place(b)
		if !ok || seen[n] || b == a.loop.Head {
			continue
		}
		seen[n] = true
		a.x.work--
		todo = append(todo, a.r.Blocks[b].Next...)
	}
	return seen
}

// step changes a state to that after an instruction. decided reports that an answer may decide whether it is
// executed.
func (a *asking) step(s *answers, in *insn.Inst, decided bool) {
	writes := in.Overwrites(insn.AMD64) & all
	if in.Kind.Calls() {
		may := a.call(s, in) || decided
		s.may, s.toFrame, s.toData = s.may&^writes.With(flags), s.toFrame&^writes, s.toData&^writes
		if may {
			s.may = s.may.With(insn.RAX)
		}
		return
	}
	if in.Kind == insn.Nop || in.Kind.Branches() {
		return
	}
	may := decided || a.computes(s, in)
	a.stores(s, in, may)
	a.points(s, in, writes)
	if !in.KeepsFlags {
		writes = writes.With(flags)
	}
	if writes &^= 1 << insn.RSP; may {
		s.may |= writes
	} else {
		s.may &^= writes
	}
}

// points changes which registers hold addresses.
func (a *asking) points(s *answers, in *insn.Inst, writes insn.RegSet) {
	dst, src := in.Sum.Dst, in.Sum.Src
	moves := in.Sum.Offset() && src < flags
	frame := moves && (src == insn.RSP || src == insn.RBP && a.r.pointer || s.toFrame.Has(src))
	if in.ValueReg < flags && in.NMem == 1 && in.Mem[0].Read && a.ofFrame(&in.Mem[0]) {
		dst, frame = in.ValueReg, slices.ContainsFunc(a.spilled, a.span(&in.Mem[0]).overlaps)
	}
	data := moves && s.toData.Has(src) || in.Sum.Const() && a.x.file.IsData(uint64(in.Sum.Imm))
	s.toFrame, s.toData = s.toFrame&^writes, s.toData&^writes
	switch {
	case frame:
		s.toFrame = s.toFrame.With(dst)
	case data:
		s.toData = s.toData.With(dst)
	}
}

// computes reports whether what an instruction computes may depend on answers.
func (a *asking) computes(s *answers, in *insn.Inst) bool {
	if in.Sum.Const() {
		return false
	}
	if !in.Known || s.may&in.Reads != 0 || comparesVectors(a.r.code(in)) {
		return true
	}
	some := in.Reads != 0
	for _, m := range in.Mem[:in.NMem] {
		if some = true; m.Read && a.holds(&m) {
			return true
		}
	}
	reads, _ := readsFlags(a.r.code(in))
	return reads && s.may.Has(flags) || !reads && !some
}

// holds reports whether memory may hold an answer.
func (a *asking) holds(m *insn.Mem) bool {
	if !a.ofFrame(m) {
		return a.memory && !(m.Fixed && !a.x.file.IsData(m.Addr))
	}
	at := a.span(m)
	if slices.ContainsFunc(a.frame, at.overlaps) {
		return true
	}
	counts := slices.ContainsFunc(a.counts, at.overlaps)
	return slices.ContainsFunc(a.r.leaked, func(l span) bool {
		return l.root == at.root && (l.off == at.off || !counts && l.off < at.off && at.off < l.off+maxObject)
	})
}

// stores records what an instruction stores.
func (a *asking) stores(s *answers, in *insn.Inst, may bool) {
	for _, m := range in.Mem[:in.NMem] {
		switch {
		case !m.Write || !may && (in.ValueReg == insn.NoReg || !s.may.Has(in.ValueReg)):
		case !a.ofFrame(&m):
			a.taints()
		case !slices.Contains(a.frame, a.span(&m)):
			a.frame, a.grown = append(a.frame, a.span(&m)), true
		}
	}
}

// taints records that memory other than the frame may hold answers.
func (a *asking) taints() { a.memory, a.grown = true, a.grown || !a.memory }

// ofFrame reports whether an operand is a part of the frame at a fixed place.
func (a *asking) ofFrame(m *insn.Mem) bool {
	return !m.Fixed && !m.Segment && m.Index == insn.NoReg && (m.Base == insn.RSP || m.Base == insn.RBP && a.r.pointer)
}

func (a *asking) span(m *insn.Mem) span { return span{a.x.register(m.Base), m.Disp, max(m.Size, 1)} }

// call records what a called function asks, and reports whether its result may depend on answers.
func (a *asking) call(s *answers, in *insn.Inst) bool {
	var arguments insn.RegSet
	for _, reg := range insn.AMD64.Arguments()[:maxAnswers] {
		arguments = arguments.With(reg)
	}
	name, depends := a.x.imported(in), s.may&arguments != 0
	switch {
	case name == "" && in.Kind == insn.Call:
		asks := a.x.functionMayAsk(in.Target)
		if !asks && !a.x.functionIsUnknown(in.Target) {
			return depends || a.memory || s.toFrame&arguments != 0
		}
		if e := a.x.effect(in.Target, 0); asks && (e.unknown || len(e.stores) > 0) {
			a.taints()
		}
	case name == "" && !a.x.unknownMayAsk(a.r, in):
		return depends || a.memory
	case name == "": // it may ask; where it may keep the answer, is not looked at
	case !asks(name):
		return computes(name) && (depends || s.toFrame&arguments != 0 || s.toData&arguments != 0 && a.memory)
	case s.toData&arguments != 0:
		a.taints()
	}
	if !slices.Contains(a.calls, in.Addr) {
		a.calls = append(a.calls, in.Addr)
	}
	return true
}
