package attempt

import "github.com/tracepredict/tracepredict/probes/insn"

// valueKind says what is known of a value.
type valueKind uint8

const (
	unknown  valueKind = iota
	garbage            // what a call may have left: nothing uses it
	tainted            // it depends on how often attempts failed
	constant           // n
	nonzero
	initial // what a register had at first, plus n
	content // what the frame had at first, at reg plus n, plus add
)

// value is what is known of the lower bytes of a register, or of bytes of the frame.
type value struct {
	kind  valueKind
	reg   insn.Reg
	width int8 // bytes, of constant, nonzero and content
	n     int64
	add   int64
}

// plus returns a value to which a constant was added.
func (v value) plus(n int64) value {
	switch v.kind {
	case initial, constant:
		v.n += n
	case content:
		v.add += n
	case tainted, garbage:
	default:
		return value{}
	}
	return v
}

// is reports whether the lower bytes are a constant.
func (v value) is(n int64, width int8) bool {
	return v.kind == constant && v.width >= width && cut(v.n, width) == n
}

func cut(n int64, width int8) int64 {
	if width >= 8 {
		return n
	}
	return n & (1<<(8*width) - 1)
}

// truncate returns the lower bytes of a value; of a constant, those that are known.
func (v value) truncate(width int8) value {
	switch {
	case v.kind == constant:
		return value{kind: constant, width: min(v.width, width), n: cut(v.n, min(v.width, width))}
	case v.kind == tainted || v.kind == garbage:
		return v
	case v.kind == initial && width == 8, v.kind == content && v.add == 0 && v.width == width, v.kind == content && v.width == 8 && width == 8, v.kind == nonzero && v.width == width:
		return v
	}
	return value{}
}

// zero returns what is known of whether the lower bytes are 0.
func (v value) zero(width int8) zeroFlag {
	switch {
	case v.kind == constant && v.width >= width && cut(v.n, width) == 0:
		return isZero
	case v.kind == constant && v.width >= width, v.kind == nonzero && v.width <= width:
		return isNonzero
	}
	return maybeZero
}

// zeroFlag is what is known of the zero flag.
type zeroFlag uint8

const (
	maybeZero zeroFlag = iota
	isZero
	isNonzero
)

const (
	maxSlots = 12
	maxDepth = 8
	numRegs  = 16
)

// slot is a part of the frame that was written: at a register's first value plus off.
type slot struct {
	base insn.Reg
	off  int64
	size int8 // 0: no slot
	v    value
}

func (s *slot) overlaps(base insn.Reg, off int64, size int8) bool {
	return s.size > 0 && s.base == base && s.off < off+int64(size) && off < s.off+int64(s.size)
}

// state is what is known at an instruction.
type state struct {
	regs    [numRegs]value
	slots   [maxSlots]slot
	lost    bool // more of the frame was written than is known
	zf      zeroFlag
	zfReg   insn.Reg // the register whose lower zfWidth bytes are 0 if the zero flag is set; or NoReg
	zfWidth int8
	used    bool // the last instruction used what depends on the failures
	depth   int8 // of calls
	popped  bool // frames of functions that have returned were forgotten
	returns [maxDepth]uint64
}

func initialState() state {
	s := state{zfReg: insn.NoReg}
	for r := range insn.Reg(numRegs) {
		s.regs[r] = value{kind: initial, reg: r, width: 8}
	}
	return s
}

// set sets a register.
func (s *state) set(r insn.Reg, v value) {
	if r >= numRegs {
		return
	}
	s.regs[r] = v
	if s.zfReg == r {
		s.zfReg = insn.NoReg
	}
}

// clobber makes registers and flags what a call leaves.
func (s *state) clobber(regs insn.RegSet) {
	for r := range insn.Reg(numRegs) {
		if regs.Has(r) {
			s.set(r, value{kind: garbage})
		}
	}
	s.zf, s.zfReg = maybeZero, insn.NoReg
}

// forget forgets what an instruction may have changed.
func (s *state) forget(in *insn.Inst) {
	writes := in.Writes
	if !in.Known {
		writes = 1<<numRegs - 1
	}
	for r := range insn.Reg(numRegs) {
		if writes.Has(r) {
			s.set(r, value{})
		}
	}
	s.zf, s.zfReg, s.lost = maybeZero, insn.NoReg, true
	s.slots = [maxSlots]slot{}
}

// compared records what a branch by the zero flag shows.
func (s *state) compared(zero bool) {
	s.zf = isNonzero
	if zero {
		s.zf = isZero
	}
	if s.zfReg == insn.NoReg || s.regs[s.zfReg].kind == tainted {
		return
	}
	v := value{kind: nonzero, width: s.zfWidth}
	if zero {
		v.kind = constant
	}
	if old := s.regs[s.zfReg]; zero || old.kind == unknown || old.kind == garbage {
		s.regs[s.zfReg] = v
	}
}

// place is an address: a fixed one, or values of registers added.
type place struct {
	fixed       bool
	addr        uint64
	base, index value
	scale       uint8
	disp        int64
	size        int
}

// place returns the address of an instruction's first memory operand; false if it is not known.
func (s *state) place(in *insn.Inst) (place, bool) {
	if in.NMem == 0 {
		return place{}, false
	}
	m := &in.Mem[0]
	if m.Segment {
		return place{}, false
	}
	if m.Fixed {
		return place{fixed: true, addr: m.Addr, size: m.Size}, true
	}
	p := place{disp: m.Disp, size: m.Size}
	if m.Base != insn.NoReg {
		p.base = s.regs[m.Base]
	}
	if m.Index != insn.NoReg {
		p.index, p.scale = s.regs[m.Index], m.Scale
	}
	if m.Base != insn.NoReg && !p.base.same() || m.Index != insn.NoReg && !p.index.same() {
		return place{}, false
	}
	if p.base.kind == constant && m.Index == insn.NoReg {
		return place{fixed: true, addr: uint64(p.base.n + p.disp), size: m.Size}, true
	}
	switch p.base.kind { // the sum counts
	case initial:
		p.disp, p.base.n = p.disp+p.base.n, 0
	case content:
		p.disp, p.base.add = p.disp+p.base.add, 0
	}
	return p, true
}

// same reports whether two equal values of this kind are the same at run time.
func (v value) same() bool { return v.kind == initial || v.kind == content || v.kind == constant }

// stack reports whether the address is one in the frame.
func (p place) stack(frame bool) bool {
	return !p.fixed && p.scale == 0 && p.base.kind == initial && (p.base.reg == insn.RSP || p.base.reg == insn.RBP && frame)
}

// load loads from the frame.
func (s *state) load(p place) value {
	size := int8(p.size)
	for i := range s.slots {
		x := &s.slots[i]
		if !x.overlaps(p.base.reg, p.disp, size) {
			continue
		}
		if x.off == p.disp && x.size >= size {
			return x.v.truncate(size)
		}
		if x.v.kind == tainted {
			return x.v
		}
		return value{}
	}
	if s.lost || s.popped && p.base.reg == insn.RSP && p.disp < 0 {
		return value{}
	}
	return value{kind: content, reg: p.base.reg, width: size, n: p.disp}
}

// store stores to the frame.
func (s *state) store(p place, v value) {
	size := int8(p.size)
	free := -1
	for i := range s.slots {
		x := &s.slots[i]
		if x.overlaps(p.base.reg, p.disp, size) || x.size > 0 && x.base != p.base.reg && (p.base.reg != insn.RSP || p.disp >= 0) && x.off >= 0 {
			if x.off != p.disp || x.size != size {
				s.lost = true
			}
			*x = slot{}
		}
		if x.size == 0 && free < 0 {
			free = i
		}
	}
	if free < 0 {
		s.lost = true
		free = 0
	}
	s.slots[free] = slot{p.base.reg, p.disp, size, v.truncate(size)}
}

// push pushes a word.
func (s *state) push(v value, frame bool) {
	s.regs[insn.RSP].n -= 8
	if p := (place{base: value{kind: initial, reg: s.regs[insn.RSP].reg, width: 8}, disp: s.regs[insn.RSP].n, size: 8}); p.stack(frame) {
		s.store(p, v)
	}
}

// forgetFrames forgets the frames of functions that have returned: nothing reads what they leave.
func (s *state) forgetFrames() {
	sp := s.regs[insn.RSP]
	if sp.kind != initial {
		return
	}
	for i := range s.slots {
		if x := &s.slots[i]; x.size > 0 && x.base == sp.reg && x.off < sp.n {
			*x, s.popped = slot{}, true
		}
	}
}

// pop pops a word.
func (s *state) pop(frame bool) value {
	v := value{}
	if sp := s.regs[insn.RSP]; sp.kind == initial {
		if p := (place{base: value{kind: initial, reg: sp.reg, width: 8}, disp: sp.n, size: 8}); p.stack(frame) {
			v = s.load(p)
		}
	}
	s.regs[insn.RSP].n += 8
	return v
}

// taint marks what differs from the state at the first attempt.
func (s *state) taint(first *state, frame bool) {
	for r := range insn.Reg(numRegs) {
		if s.regs[r] != first.regs[r] && s.regs[r].kind != garbage && r != insn.RSP {
			s.set(r, value{kind: tainted})
		}
	}
	for i := range s.slots {
		x := &s.slots[i]
		if x.size == 0 || x.base == insn.RSP && x.off < first.regs[insn.RSP].n || first.has(x) {
			continue
		}
		x.v = value{kind: tainted}
	}
	s.depth, s.returns = 0, [maxDepth]uint64{}
}

// has reports whether a part of the frame has the same value.
func (s *state) has(x *slot) bool {
	v := s.load(x.place())
	return v == x.v && v.same()
}

// tainted reports whether something still depends on the failures.
func (s *state) tainted() bool {
	for i := range s.slots {
		if s.slots[i].size > 0 && s.slots[i].v.kind == tainted {
			return true
		}
	}
	return s.taints(1<<numRegs - 1)
}

// taints reports whether a register of a set depends on the failures.
func (s *state) taints(regs insn.RegSet) bool {
	for r := range insn.Reg(numRegs) {
		if regs.Has(r) && s.regs[r].kind == tainted {
			return true
		}
	}
	return false
}

// widen makes the state one that covers another one too. It returns false if they differ in what must be known.
func (s *state) widen(other *state) bool {
	if s.depth != other.depth || s.returns != other.returns || s.regs[insn.RSP] != other.regs[insn.RSP] {
		return false
	}
	for r := range insn.Reg(numRegs) {
		s.regs[r] = s.regs[r].join(other.regs[r])
	}
	for i := range other.slots {
		if x := &other.slots[i]; x.size > 0 {
			s.widenSlot(x)
		}
	}
	for i := range s.slots {
		if x := &s.slots[i]; x.size > 0 {
			x.v = x.v.join(other.load(x.place()))
		}
	}
	if s.zf != other.zf {
		s.zf = maybeZero
	}
	if s.zfReg != other.zfReg || s.zfWidth != other.zfWidth {
		s.zfReg, s.zfWidth = insn.NoReg, 0
	}
	s.lost, s.popped = s.lost || other.lost, s.popped || other.popped
	return true
}

// widenSlot makes what is known of a part of the frame cover what another state knows.
func (s *state) widenSlot(x *slot) {
	v := s.load(x.place()).join(x.v)
	s.store(x.place(), v)
}

// place returns the address of a part of the frame.
func (s *slot) place() place {
	return place{base: value{kind: initial, reg: s.base, width: 8}, disp: s.off, size: int(s.size)}
}

// join returns what two values have in common.
func (v value) join(w value) value {
	switch {
	case v == w:
		return v
	case v.kind == tainted || w.kind == tainted:
		return value{kind: tainted}
	case v.zero(v.width) == isNonzero && w.zero(v.width) == isNonzero && v.width == w.width:
		return value{kind: nonzero, width: v.width}
	}
	return value{}
}
