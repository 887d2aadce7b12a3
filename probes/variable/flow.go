package variable

import (
	"encoding/binary"
	"slices"

	bin "github.com/tracepredict/tracepredict/probes/binary"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Position-independent code often has the variable's address in a register:
// loaded from the global offset table, or made by lea or ADRP and ADD, perhaps
// before a loop. The flow follows constants through the registers of one
// function, as constant propagation does (Kildall, "A unified approach to
// global program optimization", POPL 1973), over this lattice for a register:
//
//	known c      on every path, it holds c
//	maybe c      on some path it holds c, an address of the variable
//	unknown      anything else
//
// Meeting known c with anything else is maybe c if c is an address of the
// variable, else unknown; so an access through a register that may hold the
// address is not lost, but is marked for a comparison at run time. Where the
// address leaves for where this does not look (memory, a call's argument, a
// computation), the instruction that made it is reported as taking it. Where
// an unresolved jump may land, known becomes maybe.

type certainty uint8

const (
	unreached certainty = iota // no path is known yet
	known
	maybe
	unknown
)

// held is what a register holds.
type held struct {
	how  certainty
	addr uint64
	// made are the instructions that made the address of the variable, sorted.
	made []uint64
}

// numRegs is the number of general registers that the flow follows.
const numRegs = 32

type state [numRegs]held

// block is a straight run of instructions, body[lo:hi].
type block struct {
	lo, hi int
	next   []int // blocks that may follow
	in     state
	queued bool
}

type flow struct {
	*target
	fn     bin.Range
	code   []byte
	body   []insn.Inst
	blocks []block
	tables bool // has an indirect jump
}

func newFlow(t *target, fn bin.Range, code []byte, body []insn.Inst) *flow {
	f := &flow{target: t, fn: fn, code: code, body: body}
	f.split()
	return f
}

// split finds the blocks and what follows each.
func (f *flow) split() {
	leaders := map[uint64]bool{f.fn.Lo: true}
	for i := range f.body {
		in := &f.body[i]
		switch in.Kind {
		case insn.Jump, insn.CondJump:
			leaders[in.Target] = true
			leaders[in.Addr+uint64(in.Len)] = true
		case insn.IndirectJump, insn.Return, insn.Stop:
			f.tables = f.tables || in.Kind == insn.IndirectJump
			leaders[in.Addr+uint64(in.Len)] = true
		}
	}
	at := map[uint64]int{}
	for i := range f.body {
		if leaders[f.body[i].Addr] {
			at[f.body[i].Addr] = len(f.blocks)
			f.blocks = append(f.blocks, block{lo: i})
		}
		f.blocks[len(f.blocks)-1].hi = i + 1
	}
	for i := range f.blocks {
		f.link(&f.blocks[i], i, at)
	}
}

func (f *flow) link(b *block, i int, at map[uint64]int) {
	last := &f.body[b.hi-1]
	if last.Kind == insn.Jump || last.Kind == insn.CondJump {
		if to, ok := at[last.Target]; ok {
			b.next = append(b.next, to)
		}
	}
	switch last.Kind {
	case insn.Jump, insn.IndirectJump, insn.Return, insn.Stop:
	default:
		if i+1 < len(f.blocks) {
			b.next = append(b.next, i+1)
		}
	}
}

// run computes the state at each block's beginning. Blocks that no path from
// the function's beginning reaches are reached by a jump table or an exception:
// they start with nothing known.
func (f *flow) run() {
	for i := range f.blocks {
		if f.blocks[i].in[0].how == unreached {
			f.blocks[i].in = nothing()
			f.spread(i)
		}
	}
}

// spread carries the state of a block to those that may follow.
func (f *flow) spread(from int) {
	queue := []int{from}
	for len(queue) > 0 {
		b := &f.blocks[queue[0]]
		queue = queue[1:]
		b.queued = false
		s := b.in
		for k := b.lo; k < b.hi; k++ {
			f.step(&s, &f.body[k], nil)
		}
		for _, n := range b.next {
			if to := &f.blocks[n]; f.meet(&to.in, &s) && !to.queued {
				to.queued = true
				queue = append(queue, n)
			}
		}
	}
}

func nothing() (s state) {
	for r := range s {
		s[r].how = unknown
	}
	return s
}

// meet takes the state of another path into a block's, and tells if that
// changed it.
func (f *flow) meet(to, from *state) (changed bool) {
	for r := range to {
		m := f.meetReg(to[r], from[r])
		if m.how != to[r].how || m.addr != to[r].addr || len(m.made) != len(to[r].made) {
			to[r], changed = m, true
		}
	}
	return changed
}

func (f *flow) meetReg(a, b held) held {
	if b.how == known && f.tables {
		b = f.weaken(b)
	}
	switch {
	case a.how == unreached:
		return b
	case b.how == unreached:
		return a
	case a.how == known && b.how == known && a.addr == b.addr:
		a.made = union(a.made, b.made)
		return a
	}
	a, b = f.weaken(a), f.weaken(b)
	switch {
	case a.how == unknown:
		return b
	case b.how == unknown:
		return a
	}
	return held{maybe, min(a.addr, b.addr), union(a.made, b.made)}
}

// weaken gives what is left of a register's value if another path may have
// another.
func (f *flow) weaken(h held) held {
	if h.how != known && h.how != maybe || !f.points(h) {
		return held{how: unknown}
	}
	h.how = maybe
	return h
}

// points reports whether the register holds an address of the variable, or of
// what it is a part of.
func (f *flow) points(h held) bool {
	return (h.how == known || h.how == maybe) && f.v.around().Contains(h.addr) && len(h.made) > 0
}

// reaches reports whether others can get at the variable with what the register
// holds.
func (f *flow) reaches(h held) bool { return f.points(h) && f.v.reached(h.addr) }

// maxMade bounds how many instructions are kept that made one address: the
// flow goes round once more for each. Those of the highest addresses go first.
const maxMade = 8

func union(a, b []uint64) []uint64 {
	if len(b) == 0 || slices.Equal(a, b) {
		return a
	}
	u := slices.Concat(a, b)
	slices.Sort(u)
	u = slices.Compact(u)
	return u[:min(len(u), maxMade)]
}

// report walks once more over the blocks and notes accesses and escapes.
func (f *flow) report(c *collector) {
	for i := range f.blocks {
		b := &f.blocks[i]
		s := b.in
		for k := b.lo; k < b.hi; k++ {
			f.step(&s, &f.body[k], c)
		}
	}
}

// step takes a state over an instruction; with a collector, it notes accesses
// and escapes.
func (f *flow) step(s *state, in *insn.Inst, c *collector) {
	if c != nil {
		f.operands(s, in, c)
		f.escapes(s, in, c)
	}
	sum, slot := f.sum(s, in), f.slotLoaded(s, in)
	f.clobber(s, in)
	if sum.how != unreached {
		s[in.Sum.Dst] = sum
	}
	if slot {
		s[in.ValueReg] = held{known, f.v.around().Lo, []uint64{in.Addr}}
	}
}

// address gives the address of a memory operand and what its base held; ok is
// false if it is not known.
func (f *flow) address(s *state, m *insn.Mem) (addr uint64, h held, ok bool) {
	switch {
	case m.Segment || m.Index != insn.NoReg:
		return 0, held{}, false
	case m.Fixed:
		return m.Addr, held{how: known}, true
	case m.Base >= numRegs:
		return 0, held{}, false
	}
	h = s[m.Base]
	return h.addr + uint64(m.Disp), h, h.how == known || h.how == maybe
}

// isSlotOperand reports whether the operand is the variable's slot in the
// global offset table.
func (f *flow) isSlotOperand(s *state, m *insn.Mem) bool {
	addr, h, ok := f.address(s, m)
	return ok && len(h.made) == 0 && f.isSlot(addr)
}

// slotLoaded reports whether the instruction loads the variable's address from
// the global offset table.
func (f *flow) slotLoaded(s *state, in *insn.Inst) bool {
	for i := range in.NMem {
		if loadsSlot(in, &in.Mem[i]) && f.isSlotOperand(s, &in.Mem[i]) {
			return true
		}
	}
	return false
}

// loadsSlot reports whether the instruction loads the operand into a register
// whole, so that an address in it can be followed.
func loadsSlot(in *insn.Inst, m *insn.Mem) bool {
	return in.Known && m.Read && !m.Write && m.Size == 8 && in.ValueReg < numRegs && in.Writes.Has(in.ValueReg)
}

// operands notes what the instruction does to the variable and to its slot.
func (f *flow) operands(s *state, in *insn.Inst, c *collector) {
	if !in.Known {
		if f.mentions(in) {
			c.out.Unknown = append(c.out.Unknown, in.Addr)
		}
		return
	}
	for i := range in.NMem {
		m := &in.Mem[i]
		addr, h, ok := f.address(s, m)
		switch {
		case !ok || !m.Read && !m.Write:
		case f.isSlotOperand(s, m):
			c.out.GOT = append(c.out.GOT, in.Addr)
			if !loadsSlot(in, m) {
				c.taken[in.Addr] = struct{}{}
			}
		case (f.target.direct || len(h.made) > 0) && f.v.Overlaps(addr, m.Size):
			c.access(f.fn, in, m, addr, h.how == maybe)
		}
	}
}

// mentions reports whether an instruction that is not understood has the
// variable's address, or its slot's, as PC-relative operand. On arm64 the
// addresses that code begins with are all understood.
func (f *flow) mentions(in *insn.Inst) bool {
	if f.arch != insn.AMD64 {
		return false
	}
	bytes := f.bytes(in)
	for p := 1; p+4 <= len(bytes); p++ {
		to := in.Addr + uint64(in.Len) + uint64(int64(int32(binary.LittleEndian.Uint32(bytes[p:]))))
		if f.target.direct && f.v.Overlaps(to, 1) || f.isSlot(to) {
			return true
		}
	}
	return false
}

func (f *flow) bytes(in *insn.Inst) []byte {
	at := in.Addr - f.fn.Lo
	return f.code[at : at+uint64(in.Len)]
}

// escapes notes where the variable's address goes out of sight.
func (f *flow) escapes(s *state, in *insn.Inst, c *collector) {
	if f.storesAddress(in) {
		c.taken[in.Addr] = struct{}{}
	}
	leaves := f.leaving(in)
	if in.Kind == insn.Return && f.reaches(s[0]) && !c.returnsAddress(f.fn) {
		leaves = 0
	}
	for r := range s {
		if h := s[r]; f.reaches(h) && (leaves.Has(insn.Reg(r)) || usesAddress(in, insn.Reg(r))) {
			for _, at := range h.made {
				c.taken[at] = struct{}{}
			}
		}
	}
}

// storesAddress reports whether the instruction stores the variable's address
// as a constant.
func (f *flow) storesAddress(in *insn.Inst) bool {
	if !f.fixed || !f.target.direct {
		return false
	}
	value, ok := in.ValueImm, in.HasImm && in.NMem > 0
	if b := f.bytes(in); f.arch == insn.AMD64 && len(b) == 5 && b[0] == 0x68 { // push
		value, ok = uint64(int64(int32(binary.LittleEndian.Uint32(b[1:])))), true
	}
	return ok && f.v.reached(value)
}

// usesAddress reports whether the instruction does more with the register than
// to access memory through it, to compare it, or to make another address of it.
func usesAddress(in *insn.Inst, r insn.Reg) bool {
	if !in.Known {
		return true
	}
	for i := range in.NMem {
		m := &in.Mem[i]
		switch {
		case m.Index == r:
			return true
		case m.Base == r:
			return m.Index != insn.NoReg || m.Write && in.ValueReg == r
		}
	}
	if !in.Reads.Has(r) || in.Sum.Dst != insn.NoReg && in.Sum.Src == r {
		return false
	}
	compares := in.Kind == insn.Plain && in.Writes == 0 && in.NMem == 0 && !in.StackWrite
	return !compares
}

// The registers that pass arguments, and those that a call may change, by the
// System V ABI of x86-64 (section 3.2) and the AAPCS64 (section 6.1).
const (
	argsAMD64   insn.RegSet = 1<<1 | 1<<2 | 1<<6 | 1<<7 | 1<<8 | 1<<9
	callerAMD64 insn.RegSet = argsAMD64 | 1<<0 | 1<<10 | 1<<11
	argsARM64   insn.RegSet = 0xff
	callerARM64 insn.RegSet = 0x7ffff | 1<<30
	allRegs     insn.RegSet = 1<<numRegs - 1
)

// leaving are the registers whose content others may see after the
// instruction.
func (f *flow) leaving(in *insn.Inst) insn.RegSet {
	args := argsAMD64
	if f.arch == insn.ARM64 {
		args = argsARM64
	}
	switch in.Kind {
	case insn.Call, insn.IndirectCall, insn.Syscall, insn.IndirectJump:
		return args
	case insn.Jump:
		if !f.fn.Contains(in.Target) { // a tail call
			return args
		}
	case insn.CondJump:
		if !f.fn.Contains(in.Target) { // a part of the function split off
			return allRegs
		}
	case insn.Return:
		return 1
	}
	return 0
}

// sum gives what the instruction's sum is; unreached if it has none.
func (f *flow) sum(s *state, in *insn.Inst) held {
	dst, src := in.Sum.Dst, in.Sum.Src
	if !in.Known || dst >= numRegs {
		return held{}
	}
	h := held{how: known}
	if src != insn.NoReg {
		if src >= numRegs || s[src].how != known && s[src].how != maybe {
			return held{how: unknown}
		}
		h = s[src]
	} else if !f.fixed && !f.relative(in) {
		return held{how: unknown} // a number that only looks like an address
	}
	pointed := len(h.made) > 0
	h.addr += uint64(in.Sum.Imm)
	inside := f.v.around().Contains(h.addr)
	switch {
	case pointed && inside:
	case pointed && (!f.target.direct || h.how == maybe):
		return held{how: unknown}
	case inside && f.target.direct:
		h.made = []uint64{in.Addr}
	default:
		h.made = nil
	}
	return h
}

// relative reports whether the instruction computes an address from its own:
// lea, ADR, ADRP.
func (f *flow) relative(in *insn.Inst) bool {
	b := f.bytes(in)
	if f.arch == insn.ARM64 {
		return b[3]&0x1f == 0x10
	}
	for len(b) > 1 && (b[0] == 0x66 || b[0] == 0x67 || b[0]&0xf0 == 0x40) {
		b = b[1:]
	}
	return b[0] == 0x8d
}

// clobber forgets what the instruction writes.
func (f *flow) clobber(s *state, in *insn.Inst) {
	writes := in.Writes
	switch {
	case !in.Known:
		writes = allRegs
	case in.Kind == insn.Call || in.Kind == insn.IndirectCall:
		if f.arch == insn.ARM64 {
			writes |= callerARM64
		} else {
			writes |= callerAMD64
		}
	}
	for r := range s {
		if writes.Has(insn.Reg(r)) {
			s[r] = held{how: unknown}
		}
	}
}
