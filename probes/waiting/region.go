package waiting

import (
	"math/bits"
	"slices"

	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// region is a part of a function, a loop or all of it, with what is known in it.
type region struct {
	x       *finder
	r       *routine
	depth   int                 // of calls
	blocks  []int               // control enters it at blocks[0]
	entries []int               // indexes of other blocks at which it does
	solver  *code.Solver[state] // nil after solve, but for that of a whole function
	loads   []load
	stores  []span // elsewhere than in the frame
	written []span // of the frame
	answers []answer
	// copies are the registers that hold the stack pointer plus a constant where the loop begins, with
	// that constant; nil: not computed, since the loop asks nothing.
	copies  map[insn.Reg]int64
	rough   bool // called functions are not examined: each may return what it loads, and stores nothing
	unknown bool // it calls code that is not known, which may store anywhere
	grown   bool // written has grown, so that what is known must be computed again
	final   bool // it has been computed
	exits   []exit
	busy    bool  // an exit is decided by what the region itself changes
	idles   bool  // it pauses, or calls a function that sleeps or yields
	sleeps  bool  // it calls a function that sleeps
	result  value // of a function
	held    int8  // locks at the return of a function
	returns bool
	failed  bool
}

// load is an instruction that loads a value from memory that other threads may write.
type load struct {
	at  uint64
	via uint64 // the loads on which its address depends
	span
	asked bool // it is a call of another file's function instead, whose result depends on what others have done
}

// exit is where control leaves a loop, and the value that decides it.
type exit struct {
	to uint64
	by value
}

const (
	maxLoads  = 63
	returned  = 1 << maxLoads // stands for the loads of a called function that is not examined
	maxStores = 256
	maxWords  = 256 // of a frame
	maxSpans  = 1024
)

// region computes what is known in a loop that begins with some locks held.
func (x *finder) region(r *routine, l *code.Loop, held int8, rough bool) *region {
	g := &region{x: x, r: r, rough: rough, blocks: []int{l.Head}}
	for _, b := range l.Blocks {
		if slices.Contains(l.Entries, b) {
			g.entries = append(g.entries, len(g.blocks))
		}
		if b != l.Head {
			g.blocks = append(g.blocks, b)
		}
	}
	var changes insn.RegSet
	asking := false
	for in := range r.insts(l.Blocks) {
		changes |= in.Overwrites(insn.AMD64)
		g.writesFrame(in)
		name := x.imported(in)
		asking = asking || name != "" && asks(name)
	}
	s := x.entry()
	s.held = held
	if asking {
		g.copies = x.copies(r, l.Head, changes)
	}
	for reg := range insn.Reg(len(s.regs)) {
		switch {
		case reg == insn.RSP:
		case changes.Has(reg):
			s.regs[reg] = value{}
		case !rough:
			s.regs[reg] = x.before(r, l.Head, reg)
		}
	}
	g.solve(s)
	return g
}

// before returns the value that a register has before a loop which does not change it, so that two
// registers with addresses of one object are known to be that.
func (x *finder) before(r *routine, head int, reg insn.Reg) value {
	own := value{class: fixed, root: x.register(reg)}
	whole := x.whole(r, head)
	if whole == nil {
		return own
	}
	v := whole.regs[reg]
	if v.class == varies || v.root == 0 || x.roots[v.root] == (root{kind: fromRegister, reg: insn.RSP}) {
		return own
	}
	return value{class: fixed, root: v.root, off: v.off}
}

// whole returns what is known of the registers before a block, by all of the function; nil if nothing
// is.
func (x *finder) whole(r *routine, block int) *state {
	if len(r.Insts) > maxWhole {
		return nil
	}
	if r.whole == nil {
		// Registers alone are followed.
		r.whole = &region{x: x, r: r, rough: true, blocks: make([]int, len(r.Blocks))}
		for i := range r.whole.blocks {
			r.whole.blocks[i] = i
		}
		r.whole.solve(x.entry())
	}
	if r.whole.failed || !r.whole.solver.Reached(block) {
		return nil
	}
	return &r.whole.solver.Before[block]
}

// copies returns the registers that hold the stack pointer plus a constant before a loop which does not
// change them, with the constants.
func (x *finder) copies(r *routine, head int, changes insn.RegSet) map[insn.Reg]int64 {
	out := map[insn.Reg]int64{}
	sp := x.whole(r, head)
	if sp == nil || sp.regs[insn.RSP].root != x.register(insn.RSP) {
		return out
	}
	for reg := range insn.Reg(len(sp.regs)) {
		if v := sp.regs[reg]; v.class != varies && v.root == x.register(insn.RSP) && (reg == insn.RSP || !changes.Has(reg)) {
			out[reg] = v.off - sp.regs[insn.RSP].off
		}
	}
	return out
}

// ofStack returns a span of the frame as one relative to the stack pointer, if it is known to be that.
func (g *region) ofStack(s span) span {
	if r := &g.x.roots[s.root]; r.kind == fromRegister {
		if by, ok := g.copies[r.reg]; ok {
			return span{g.x.register(insn.RSP), s.off + by, s.size}
		}
	}
	return s
}

// entry returns the state in which each register has a value that is its own root.
func (x *finder) entry() state {
	var s state
	for reg := range insn.Reg(len(s.regs)) {
		s.regs[reg] = value{class: fixed, root: x.register(reg)}
	}
	return s
}

// writesFrame adds what an instruction writes in the frame to what the loop writes.
func (g *region) writesFrame(in *insn.Inst) {
	for _, m := range in.Mem[:in.NMem] {
		if m.Write && !m.Fixed && !m.Segment && m.Base != insn.NoReg && g.ofFrame(g.x.register(m.Base)) {
			size := m.Size
			if m.Index != insn.NoReg || size == 0 {
				size = 4096
			}
			g.writes(span{g.x.register(m.Base), m.Disp, size})
		}
	}
}

// ofFrame reports whether addresses relative to a root are in the function's own frame.
func (g *region) ofFrame(id rootID) bool {
	r := &g.x.roots[id]
	return r.kind == fromRegister && (r.reg == insn.RSP || r.reg == insn.RBP && g.r.pointer && g.depth == 0)
}

func (g *region) writes(s span) {
	if !slices.ContainsFunc(g.written, func(w span) bool {
		return w.root == s.root && w.off <= s.off && s.off+int64(s.size) <= w.off+int64(w.size)
	}) {
		g.failed = g.failed || len(g.written) == maxSpans
		g.written, g.grown = append(g.written, s), true
	}
}

// solve computes the states from that at the entry on, until nothing changes.
func (g *region) solve(entry state) {
	if g.r.nodes == nil {
		g.r.nodes = make([]node, len(g.r.Blocks))
	}
	for i, b := range g.blocks {
		g.r.nodes[b] = node{g, i}
	}
	g.solver = g.x.solver()
	defer g.x.solved(g)
	for g.grown = true; g.grown && !g.failed; {
		g.grown = false
		g.loads = g.loads[:0]
		g.solver.Reset(len(g.blocks))
		g.solver.Flow(0, &entry)
		for _, n := range g.entries {
			g.solver.Flow(n, &entry)
		}
		g.failed = g.failed || !g.solver.Run(func(n int) bool { return g.visit(n) })
	}
	if g.failed {
		return
	}
	g.final = true
	for n := range g.blocks {
		if g.solver.Reached(n) {
			g.visit(n)
		}
	}
}

// solver returns a solver whose memory can be used again.
func (x *finder) solver() *code.Solver[state] {
	if n := len(x.solvers) - 1; n >= 0 {
		s := x.solvers[n]
		x.solvers = x.solvers[:n]
		return s
	}
	return &code.Solver[state]{Join: (*state).join}
}

// solved returns the solver of a region to the pool, if its states are not needed any more.
func (x *finder) solved(g *region) {
	if g.r.whole != g {
		x.solvers, g.solver = append(x.solvers, g.solver), nil
	}
}

// visit steps through a block. It returns false if the work is used up.
func (g *region) visit(n int) bool {
	b := &g.r.Blocks[g.blocks[n]]
	if g.x.work -= b.Hi - b.Lo; g.x.work <= 0 {
		g.failed = true
		return false
	}
	s := g.solver.Before[n]
	for i := b.Lo; i < b.Hi; i++ {
		g.step(&s, &g.r.Insts[i])
	}
	if g.final {
		g.leaves(&s, &g.r.Insts[b.Hi-1], b)
		return true
	}
	for _, next := range b.Next {
		if to := g.r.nodes[next]; to.region == g {
			g.x.work -= len(s.frame) / 16
			g.solver.Flow(to.index, &s)
		}
	}
	return true
}

// leaves adds the ways out of the region at the end of a block.
func (g *region) leaves(s *state, in *insn.Inst, b *code.Block) {
	switch in.Kind {
	case insn.Return:
		g.leave(s)
	case insn.IndirectJump:
		if g.depth > 0 && g.x.imported(in) == "" {
			g.unknown = true
		} else if g.depth > 0 {
			g.tail(s, in)
		}
	case insn.Jump:
		if g.depth > 0 && !g.r.fn.Contains(in.Target) {
			g.tail(s, in)
		}
	case insn.CondJump:
		stays := func(addr uint64) bool {
			return slices.ContainsFunc(b.Next, func(n int) bool {
				return g.r.nodes[n].region == g && g.r.Insts[g.r.Blocks[n].Lo].Addr == addr
			})
		}
		if stays(in.Target) == stays(in.End()) {
			return
		}
		to := in.Target
		if stays(to) {
			to = in.End()
		}
		switch {
		case in.Cond == 0 || s.flags.class == varies:
			g.busy = true
		case s.flags.class >= loaded:
			g.exits = append(g.exits, exit{to, s.flags})
		}
	}
}

// tail is leave for a jump to another function, which returns to the caller.
func (g *region) tail(s *state, in *insn.Inst) {
	g.call(s, in)
	g.leave(s)
}

// leave joins the result at a return to those at the others.
func (g *region) leave(s *state) {
	if !g.returns {
		g.result, g.held, g.returns = s.regs[insn.RAX], s.held, true
		return
	}
	g.result, g.held = join(g.result, s.regs[insn.RAX]), min(g.held, s.held)
}

// step changes a state to that after an instruction.
func (g *region) step(s *state, in *insn.Inst) {
	if in.Kind.Calls() {
		g.call(s, in)
		return
	}
	if in.Kind == insn.Nop || in.Kind.Branches() {
		g.idles = g.idles || isPause(g.r.code(in))
		return
	}
	if !in.Known {
		changes := in.Overwrites(insn.AMD64)
		for reg := range insn.Reg(len(s.regs)) {
			if changes.Has(reg) {
				s.regs[reg] = value{}
			}
		}
		s.flags = value{}
		return
	}
	v := g.inputs(s, in)
	g.outputs(s, in, v)
}

// inputs returns the value that an instruction computes.
func (g *region) inputs(s *state, in *insn.Inst) value {
	known := in.Sum
	var from value
	if known.Offset() && known.Src < insn.Reg(len(s.regs)) {
		from = s.regs[known.Src]
	}
	switch {
	case known.Const():
		return g.x.constant(known.Imm)
	case known.Offset() && from.class != varies:
		if from.root != 0 {
			from.off += known.Imm
		}
		return from
	}
	v, some := value{class: fixed}, false
	for reg := range insn.Reg(len(s.regs)) {
		if in.Reads.Has(reg) {
			v, some = combine(v, s.regs[reg]), true
		}
	}
	only := in.ValueReg != insn.NoReg && in.NMem == 1 && in.Mem[0].Read && !in.Mem[0].Write
	for _, m := range in.Mem[:in.NMem] {
		if !m.Read {
			continue
		}
		got := g.load(s, in, &m)
		if some = true; only {
			return got
		}
		v = combine(v, got)
	}
	bytes := g.r.code(in)
	if reads, alone := readsFlags(bytes); alone {
		return s.flags
	} else if reads {
		v = combine(v, s.flags)
	}
	if !some || in.SPChange > 0 || in.Locked || comparesVectors(bytes) {
		return value{}
	}
	return v
}

// outputs changes a state by what an instruction writes.
func (g *region) outputs(s *state, in *insn.Inst, v value) {
	for _, m := range in.Mem[:in.NMem] {
		if m.Write {
			g.store(s, in, &m, v)
		}
	}
	sp := s.regs[insn.RSP]
	for reg := range insn.Reg(len(s.regs)) {
		if in.Writes.Has(reg) {
			s.regs[reg] = v
		}
	}
	switch {
	case in.SPLost:
		s.regs[insn.RSP] = value{}
	case in.Sum.Dst != insn.RSP:
		sp.off += in.SPChange
		s.regs[insn.RSP] = sp
	}
	if in.StackWrite && sp.root != 0 {
		s.frame = s.frame.Overwrite(g.x.key(sp.root, sp.off), 8)
	}
	if !in.KeepsFlags {
		if s.flags = v; in.Sum.Dst != insn.NoReg {
			s.flags = value{class: v.class, loads: v.loads}
		}
	}
}

// address returns the address of a memory operand. A class varies if it does.
func (g *region) address(s *state, m *insn.Mem) value {
	if m.Segment {
		return value{}
	}
	if m.Fixed {
		return g.x.constant(int64(m.Addr))
	}
	base := g.x.constant(0)
	if m.Base != insn.NoReg {
		base = s.regs[m.Base&15]
	}
	if base.class == varies {
		return base
	}
	base.off += m.Disp
	if m.Index == insn.NoReg {
		return base
	}
	index := s.regs[m.Index&15]
	at := combine(base, index)
	if at.class != varies && base.root != 0 && index.root != 0 {
		at.root = g.x.id(root{kind: fromIndex, parent: base.root, off: base.off, index: index.root, indexOff: index.off, scale: m.Scale})
	}
	return at
}

// load returns the value that an instruction loads.
func (g *region) load(s *state, in *insn.Inst, m *insn.Mem) value {
	at := g.address(s, m)
	if at.class == varies || m.Size == 0 || m.Size > 8 {
		return value{}
	}
	if at.root == 0 {
		at.root, at.off = g.x.id(root{kind: fromInstruction, off: int64(in.Addr)}), m.Disp
	}
	return g.loadFrom(s, in.Addr, span{at.root, at.off, m.Size}, at.loads)
}

// loadFrom returns the value that the instruction at an address loads from a span.
func (g *region) loadFrom(s *state, at uint64, from span, via uint64) value {
	deref := value{class: fixed}
	if from.root != 0 {
		deref.root = g.x.memory(from.root, from.off)
	}
	if g.x.roots[from.root].kind == absolute && !g.x.file.IsData(uint64(from.off)) || g.x.slots[uint64(from.off)] != "" && g.x.roots[from.root].kind == absolute {
		return deref // nothing writes there
	}
	if at, ok := g.answerIn(from); ok {
		return g.askedAt(at)
	}
	if from.root != 0 && g.ofFrame(from.root) {
		if w, ok := s.frame.Get(g.x.key(from.root, from.off)); ok && w.size >= from.size {
			return w.value
		}
		if slices.ContainsFunc(g.written, from.overlaps) {
			return value{}
		}
		if !slices.ContainsFunc(g.r.leaked, func(l span) bool { return l.root == from.root && l.off <= from.off && from.off < l.off+maxObject }) {
			return deref
		}
	} else if g.indexesFrame(from.root) {
		return value{}
	}
	if s.held > 0 {
		return value{} // the lock orders it
	}
	n := slices.IndexFunc(g.loads, func(l load) bool { return l.at == at && l.span == from })
	if n < 0 {
		if n = len(g.loads); n == maxLoads {
			return value{}
		}
		g.loads = append(g.loads, load{at: at, via: via, span: from})
	}
	g.loads[n].via |= via
	deref.class, deref.loads = loaded, 1<<n
	return deref
}

// maxObject is the size, in bytes, that an object in the frame is taken to have at most.
const maxObject = 256

// indexesFrame reports whether a root is an element of an array in the frame.
func (g *region) indexesFrame(id rootID) bool {
	r := &g.x.roots[id]
	return r.kind == fromIndex && g.ofFrame(r.parent)
}

// store records a store of a value.
func (g *region) store(s *state, in *insn.Inst, m *insn.Mem, v value) {
	if m.Segment {
		return
	}
	at := g.address(s, m)
	to := span{at.root, at.off, max(m.Size, 1)}
	if at.class == varies || at.root == 0 {
		to = span{0, m.Disp, to.size}
	}
	if to.root == 0 || !g.ofFrame(to.root) {
		g.stored(to)
		return
	}
	g.x.work -= (len(s.frame) + len(g.written)) / 16 // as many are copied or compared
	g.writes(to)
	key := g.x.key(to.root, to.off)
	s.frame = s.frame.Overwrite(key, to.size)
	if in.ValueReg != insn.NoReg {
		v = s.regs[in.ValueReg&15]
	} else if in.HasImm {
		v = g.x.constant(int64(in.ValueImm))
	}
	if g.r.whole != g && v.class != varies && !m.Read && len(s.frame) < maxWords {
		s.frame = s.frame.Put(key, word{v, to.size})
	}
}

// stored adds what the region stores elsewhere than in its frame.
func (g *region) stored(to span) {
	switch {
	case !g.final || slices.Contains(g.stores, to):
	case len(g.stores) == maxStores:
		g.unknown = true
	default:
		g.stores = append(g.stores, to)
	}
}

// waits returns the exits of a loop that another thread's store decides.
func (g *region) waits() (out []Wait) {
	if g.failed || g.busy && !g.idles {
		return nil
	}
	for _, e := range g.exits {
		if !g.idles && e.by.class == answered {
			continue // a loop that works through what it asks for
		}
		w := Wait{Func: g.r.fn, Exit: e.to, Sleeps: g.sleeps}
		for n := range g.loads {
			if e.by.loads>>n&1 == 0 {
				continue
			}
			l := &g.loads[n]
			one := Load{At: l.at, Asked: l.asked}
			if !l.asked && g.x.roots[l.root].kind == absolute {
				one.Addr, one.Size = uint64(l.off), l.size
			}
			w.Loads = append(w.Loads, one)
		}
		if len(w.Loads) > 0 && g.othersDecide(e.by.loads) {
			out = append(out, w)
		}
	}
	return out
}

// othersDecide reports whether only other threads store to the memory of some loads, and to that from
// which their addresses are loaded.
func (g *region) othersDecide(loads uint64) bool {
	for seen := uint64(0); loads&^seen != 0; {
		n := bits.TrailingZeros64(loads &^ seen)
		if seen |= 1 << n; !g.others(&g.loads[n]) {
			return false
		}
		loads |= g.loads[n].via
	}
	return true
}

// others reports whether the loop itself does not store to the memory of a load.
func (g *region) others(l *load) bool {
	if l.asked {
		return true
	}
	if g.unknown && !g.x.static(l.root) {
		return false
	}
	return !slices.ContainsFunc(g.stores, func(s span) bool {
		return s.overlaps(l.span) || s.root == 0 && s.off == l.off && s.size == l.size || g.x.inside(l.root, s)
	})
}

// inside reports whether a root is an element selected by an index in a span, or in the memory around
// it that is stored to by another index.
func (x *finder) inside(id rootID, s span) bool {
	r, o := &x.roots[id], &x.roots[s.root]
	return r.kind == fromIndex && (r.parent == s.root || o.kind == fromIndex && o.parent == r.parent && o.off == r.off)
}
