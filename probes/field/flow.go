package field

import (
	"github.com/tracepredict/tracepredict/probes/code"
	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// The flow tracks the type of what a register points to, not its value. Which object it is does not
// matter, because each access finds the object in its own register at run time. So this is a flow
// of types (as in Lin, Zhang and Xu, REWARDS, NDSS 2010, but static, and from debug information). A
// register or a word of the frame holds
//
//	object T+k  an address k bytes into an object of type T
//	frame k     an address in the function's own frame, k bytes from the canonical
//	            frame address (DWARF 5, section 6.4)
//	fixed a     the constant a: an address in static memory
//	null        a constant that is no address
//	unknown     anything else
//
// A null and an object join to that object, because code does not follow a null pointer. All other
// different values join to unknown. Where the flow has lost a value, the debug information may
// still state it: if it has a variable in a register at an instruction, the register holds that
// variable.

type kind uint8

const (
	none kind = iota
	object
	frame
	fixed
	null
	unknown
	scaled // the number typ times by, plus at: see scaling
)

// value is what a register holds.
type value struct {
	kind kind
	typ  *dw.Type
	at   int64 // the offset in the object or frame, or the address
	by   int64 // for scaled: the factor
}

const numRegs = 32

// maxSpills bounds the words of the frame that are tracked in one function.
const maxSpills = 24

type state struct {
	regs   [numRegs]value
	spills code.Frame[value] // by the offset from the canonical frame address
}

type flow struct {
	*code.Graph
	p      *program
	fn     *function
	arch   insn.Arch
	sp     insn.Reg
	code   map[uint64][]byte // the bytes of the ranges, by the address of the first
	before code.Solver[state]
	stubs  map[uint64]string
	slots  map[uint64]uint64 // slots of the global offset table: the address in each
	// strict makes the flow strict: an address past the end of an object is not considered to be
	// in another object of the type, and the sum of an address and a register, which may lead to
	// another member, is not followed.
	strict bool
	// fresh, if not nil, returns a type of its own for the unknown value that the instruction at an
	// address loads, or that the call there returns.
	fresh func(addr uint64) *dw.Type
}

// newFlow returns the flow of a function, with its code decoded. On x86-64, a range ends at code
// that cannot be decoded. whole is false if the function is too large; then some ranges are left
// out.
func newFlow(p *program, fn *function, stubs map[uint64]string, slots map[uint64]uint64) (f *flow, whole bool) {
	f = &flow{p: p, fn: fn, arch: p.db.file.Arch(), code: map[uint64][]byte{}, stubs: stubs, slots: slots}
	f.sp, f.before.Join, whole = f.arch.SP(), (*state).join, true
	var insts []insn.Inst
	var begins []uint64
	left := uint64(maxFunction)
	for _, r := range fn.ranges {
		begins = append(begins, r.Lo)
		if r.Hi-r.Lo > left {
			whole = false
			continue
		}
		left -= r.Hi - r.Lo
		// If reading fails, the debug information describes addresses without code.
		if b, err := p.db.file.Bytes(r.Lo, int(r.Hi-r.Lo)); err == nil {
			f.code[r.Lo] = b
			insts = insn.DecodeRun(insts, f.arch, b, r.Lo, nil)
		}
	}
	f.Graph = code.NewGraph(insts, begins, false)
	return f, whole
}

// run computes the states, beginning with that at the function's entry. A block that no path from
// there reaches is reached by a jump table or an exception, and nothing is known at its beginning.
func (f *flow) run(entry state) {
	start := func(block int) (state, bool) {
		b := &f.Blocks[block]
		if f.Insts[b.Lo].Addr == f.fn.ranges[0].Lo {
			return entry, true
		}
		return f.nothing(), !f.padding(b)
	}
	f.before.Solve(f.Graph, start, func(s *state, in *insn.Inst) bool {
		f.step(s, in)
		return true
	})
}

// padding reports whether a block consists of no-operations: it is padding before an aligned jump
// target.
func (f *flow) padding(b *code.Block) bool {
	for k := b.Lo; k < b.Hi; k++ {
		if f.Insts[k].Kind != insn.Nop {
			return false
		}
	}
	return true
}

func (f *flow) nothing() (s state) {
	for r := range s.regs {
		s.regs[r].kind = unknown
	}
	return s
}

// atEntry returns the state at the function's entry, where the call has pushed the return address
// (x86-64).
func (f *flow) atEntry() state {
	s := f.nothing()
	s.regs[f.sp] = value{kind: frame}
	if f.arch == insn.AMD64 {
		s.regs[f.sp].at = -8
	}
	return s
}

// join joins the state of another path into s, and reports whether s changed. Each register changes
// only a few times: null, then one value, then unknown.
func (s *state) join(from *state) (changed bool) {
	for r := range s.regs {
		if v := joinValues(s.regs[r], from.regs[r]); v != s.regs[r] {
			s.regs[r], changed = v, true
		}
	}
	spills := s.spills.Join(from.spills, func(a, b *value) (v value, ok bool) {
		if a == nil || b == nil {
			return v, false
		}
		v = joinValues(*a, *b)
		return v, v.kind != unknown
	}, func(a, b value) bool { return a == b })
	return changed || spills
}

func joinValues(a, b value) value {
	switch {
	case a == b || b.kind == null && a.kind == object:
		return a
	case a.kind == null && b.kind == object:
		return b
	}
	return value{kind: unknown}
}

// spill records that a store of size bytes writes v into the frame.
func (s *state) spill(at int64, size int, v value) {
	s.spills = s.spills.Overwrite(at, max(size, 1))
	if size == 8 && v.kind != unknown && len(s.spills) < maxSpills {
		s.spills = s.spills.Put(at, v)
	}
}

// get returns the value of a register at an instruction: that of the flow or, if that is not known,
// the one that the debug information states.
func (f *flow) get(s *state, r insn.Reg, pc uint64) value {
	if r >= numRegs {
		return value{kind: unknown}
	}
	if v := s.regs[r]; v.kind != unknown && v.kind != null && (!isUnknown(v.typ)) {
		return v
	}
	for i := range f.fn.seeds {
		if x := &f.fn.seeds[i]; x.reg == r && x.Contains(pc) {
			return value{kind: object, typ: x.to, at: -x.off}
		}
	}
	return s.regs[r]
}

// step applies an instruction to a state.
func (f *flow) step(s *state, in *insn.Inst) {
	loaded := f.loaded(s, in)
	sum, element := f.sum(s, in), f.indexing(s, in)
	into, product, scales := f.scaling(s, in)
	f.stores(s, in)
	sp := s.regs[f.sp]
	f.clobber(s, in)
	switch {
	case !in.Known && in.Kind == insn.Plain:
	case in.SPLost:
	case sp.kind == frame && (in.SPChange != 0 || in.Kind.Calls() || in.Kind == insn.Push):
		sp.at += in.SPChange
		s.regs[f.sp] = sp
	}
	if sum.kind != none {
		s.regs[in.Sum.Dst] = sum
	}
	if element.kind != none {
		s.regs[in.Derived.Dst] = element
	}
	if loaded.kind != none && in.ValueReg != f.sp {
		s.regs[in.ValueReg] = loaded
	}
	if scales {
		s.regs[into] = product
	}
	if in.Kind == insn.Call {
		if t := f.result(in.Target); t != nil {
			s.regs[resultRegister] = value{kind: object, typ: t}
		}
	}
	if f.fresh != nil {
		f.markFresh(s, in)
	}
	if r, ok := f.zeroes(in); ok {
		s.regs[r] = value{kind: null}
	}
}

// markFresh sets the register that a call, or a load of 8 bytes, fills with an unknown value to a
// type of its own.
func (f *flow) markFresh(s *state, in *insn.Inst) {
	switch {
	case in.Kind.Calls():
		if s.regs[resultRegister].kind == unknown {
			s.forget(f.fresh(in.Addr))
			s.regs[resultRegister] = value{kind: object, typ: f.fresh(in.Addr)}
		}
	case in.Known && in.NMem == 1 && in.Mem[0].Read && in.Mem[0].Size == 8 && in.ValueReg < numRegs && in.ValueReg != f.sp && in.Writes.Has(in.ValueReg):
		if s.regs[in.ValueReg].kind == unknown {
			s.forget(f.fresh(in.Addr))
			s.regs[in.ValueReg] = value{kind: object, typ: f.fresh(in.Addr)}
		}
	}
}

// resultRegister is rax on x86-64 and x0 on arm64.
const resultRegister = 0

// result returns the type that the result of a function points to; nil if not known.
func (f *flow) result(target uint64) *dw.Type {
	if t := f.p.results[target]; t != nil {
		return t
	}
	if name, ok := f.stubs[target]; ok {
		return f.p.named[name]
	}
	return nil
}

// zeroes returns the register that the instruction sets to zero as xor or sub of a register with
// itself.
func (f *flow) zeroes(in *insn.Inst) (insn.Reg, bool) {
	b := f.bytes(in)
	if f.arch != insn.AMD64 || len(b) < 2 || !in.Known {
		return 0, false
	}
	rex := byte(0)
	if b[0]&0xf0 == 0x40 {
		rex, b = b[0], b[1:]
	}
	if len(b) != 2 || b[0] != 0x31 && b[0] != 0x33 && b[0] != 0x29 && b[0] != 0x2b || b[1] < 0xc0 {
		return 0, false
	}
	reg, rm := b[1]>>3&7|rex&4<<1, b[1]&7|rex&1<<3
	return insn.Reg(rm), reg == rm
}

func (f *flow) bytes(in *insn.Inst) []byte {
	for _, r := range f.fn.ranges {
		if r.Contains(in.Addr) {
			c := f.code[r.Lo]
			return c[in.Addr-r.Lo:][:in.Len]
		}
	}
	return nil
}

// loaded returns the value that an instruction loads into ValueReg; its kind is none if it is not
// known.
func (f *flow) loaded(s *state, in *insn.Inst) value {
	if !in.Known || in.NMem != 1 || in.ValueReg >= numRegs || !in.Writes.Has(in.ValueReg) {
		return value{}
	}
	m := &in.Mem[0]
	if m.Write || !m.Read || m.Size != 8 {
		return value{}
	}
	if m.Fixed {
		if addr, ok := f.slots[m.Addr]; ok {
			return value{kind: fixed, at: int64(addr)}
		}
	}
	at := f.address(s, m, in.Addr)
	declared := f.declared(at, in.Addr)
	if at.kind == frame && m.Index == insn.NoReg {
		if v, ok := s.spills.Get(at.at); ok {
			return f.cast(v, declared)
		}
	}
	return declared
}

// declared returns a value for the declared type of the pointer stored at an address; its kind is
// none if there is no pointer.
func (f *flow) declared(at value, pc uint64) value {
	t, off, ok := f.typed(at, pc)
	if !ok {
		return value{}
	}
	if to := f.p.db.pointerAt(t, off); to != nil {
		return value{kind: object, typ: to}
	}
	return value{}
}

// cast returns the value that a variable of a declared type holds after v was assigned to it. A
// cast, for example to a derived class, changes what it points to. If the declared type is a part
// of v's object at that offset, v is kept, because it also records the enclosing object.
func (f *flow) cast(v, declared value) value {
	if v.kind != object || declared.kind != object || f.p.db.contains(v.typ, v.at, declared.typ) {
		return v
	}
	return declared
}

// address returns the address of a memory operand as a value. An index is assumed to select another
// element of an array, at the same member.
func (f *flow) address(s *state, m *insn.Mem, pc uint64) value {
	switch {
	case m.Segment:
		return value{kind: unknown}
	case m.Fixed:
		return value{kind: fixed, at: int64(m.Addr)}
	}
	m = f.pointerFirst(s, m, pc)
	v := f.get(s, m.Base, pc)
	switch {
	case m.Index == insn.NoReg || v.kind == object || v.kind == fixed || v.kind == frame:
	case m.Base == insn.NoReg:
		v = value{kind: fixed} // an operand in static memory needs no base
	default:
		return value{kind: unknown}
	}
	v.at += m.Disp
	return v
}

// pointerFirst swaps base and index of an operand if the index register holds the pointer and the
// base register an index in bytes.
func (f *flow) pointerFirst(s *state, m *insn.Mem, pc uint64) *insn.Mem {
	if m.Index == insn.NoReg || m.Base == insn.NoReg || m.Scale != 1 || m.Index == f.sp {
		return m
	}
	base, index := f.get(s, m.Base, pc), f.get(s, m.Index, pc)
	if base.kind == object || base.kind == fixed || base.kind == frame {
		return m
	}
	index.at += m.Disp
	if _, _, ok := f.typed(index, pc); !ok {
		return m
	}
	changed := *m
	changed.Base, changed.Index = m.Index, m.Base
	return &changed
}

// typed returns the type that an address points into, and the offset in it.
func (f *flow) typed(v value, pc uint64) (t *dw.Type, off int64, ok bool) {
	switch v.kind {
	case object:
		if v.typ != nil && v.typ.IsPointer() && v.at >= 0 {
			return v.typ, v.at % v.typ.Size(), true // the pointer may be an element of an array: argv[2]
		}
		return v.typ, v.at, v.typ != nil && v.at >= 0 && v.at < max(v.typ.Size(), 1)
	case fixed:
		return f.p.globalAt(uint64(v.at))
	case frame:
		return f.slotAt(v.at, pc)
	}
	return nil, 0, false
}

// slotAt returns the type of the variable in the frame that contains an offset from the canonical
// frame address, and the offset in it.
func (f *flow) slotAt(at int64, pc uint64) (t *dw.Type, off int64, ok bool) {
	x, off, ok := f.slotOf(at, pc)
	return x.typ, off, ok
}

func (f *flow) slotOf(at int64, pc uint64) (x slot, off int64, ok bool) {
	base := int64(0)
	switch f.fn.base {
	case noBase:
		return slot{}, 0, false
	case fromFramePointer: // the caller's frame pointer is pushed just below the return address
		if f.arch != insn.AMD64 {
			return slot{}, 0, false
		}
		base = -16
	}
	for i := range f.fn.slots {
		x := &f.fn.slots[i]
		if off := at - base - x.off; x.Contains(pc) && off >= 0 && off < max(x.typ.Size(), 1) {
			return *x, off, true
		}
	}
	return slot{}, 0, false
}

// sum returns the value of the instruction's Sum; its kind is none if it has none.
func (f *flow) sum(s *state, in *insn.Inst) value {
	dst, src, add := in.Sum.Dst, in.Sum.Src, in.Sum.Add
	if !in.Known || dst >= numRegs {
		return value{}
	}
	if src == insn.NoReg && add == insn.NoReg {
		if c := in.Sum.Imm; c >= 0 && c < 4096 {
			return value{kind: null}
		}
		return value{kind: fixed, at: in.Sum.Imm}
	}
	v := f.get(s, src, in.Addr)
	if add != insn.NoReg && f.strict {
		return value{kind: unknown}
	}
	if add != insn.NoReg {
		w := f.get(s, add, in.Addr)
		v, w = f.element(v, in.Addr), f.element(w, in.Addr)
		if v.kind != object {
			v, w = w, v
		}
		if v.kind != object || w.kind == object || w.kind == frame {
			return value{kind: unknown}
		}
	}
	switch v.kind {
	case null, unknown:
		return value{kind: unknown}
	case object:
		v.at += in.Sum.Imm
		if size := v.typ.Size(); size > 0 && v.at%size == 0 && !f.strict {
			v.at = 0 // assumed to be another element of an array
		}
		if v.at < -maxAway || v.at > maxAway {
			return value{kind: unknown}
		}
	default:
		v.at += in.Sum.Imm
	}
	return v
}

// element returns the value of an address to which an index is added. If the address is in an array
// of a variable, that is the same member of any element.
func (f *flow) element(v value, pc uint64) value {
	if v.kind != fixed && v.kind != frame {
		return v
	}
	if t, off, ok := f.typed(v, pc); ok && f.p.db.locate(t, off).stride != 0 {
		return value{kind: object, typ: t, at: off}
	}
	return v
}

// indexing returns the value that a lea makes from a pointer and an index; its kind is none for any
// other instruction.
func (f *flow) indexing(s *state, in *insn.Inst) value {
	code := f.bytes(in)
	if len(code) > 1 && code[0]&0xf0 == 0x40 {
		code = code[1:]
	}
	if f.strict || f.arch != insn.AMD64 || !in.Known || in.Derived.Dst >= numRegs || len(code) == 0 || code[0] != 0x8d {
		return value{}
	}
	found := value{}
	for r := range insn.Reg(numRegs) {
		if !in.Derived.From.Has(r) {
			continue
		}
		v := f.get(s, r, in.Addr)
		v.at += in.Derived.Imm // added before element, because only the sum is in the array
		switch v = f.element(v, in.Addr); {
		case v.kind == object && found.kind == none:
			found = v
		case v.kind == object || v.kind == frame:
			return value{}
		}
	}
	return found
}

// maxAway bounds the distance from an object's beginning at which an address is tracked, in bytes.
const maxAway = 1 << 20

// stores records the values that the instruction stores in the frame.
func (f *flow) stores(s *state, in *insn.Inst) {
	if !in.Known {
		return
	}
	if in.StackWrite {
		if sp := s.regs[f.sp]; sp.kind == frame && in.Kind == insn.Push {
			s.spill(sp.at+in.SPChange, 8, value{kind: unknown})
		}
	}
	for i := range in.NMem {
		m := &in.Mem[i]
		if !m.Write {
			continue
		}
		at := f.address(s, m, in.Addr)
		if at.kind != frame || m.Index != insn.NoReg {
			continue // a store with an index goes to an array, not to a spilled register
		}
		v := value{kind: unknown}
		if m.Size == 8 && !m.Read && in.ValueReg < numRegs {
			v = f.get(s, in.ValueReg, in.Addr)
			if d := f.declared(at, in.Addr); (v.kind == unknown || v.kind == scaled) && d.kind == object {
				s.regs[in.ValueReg], v = d, d // it has the variable's type
			}
		}
		s.spill(at.at, m.Size, v)
	}
}

// clobber marks as unknown every register that the instruction writes.
func (f *flow) clobber(s *state, in *insn.Inst) {
	writes := in.Overwrites(f.arch)
	for r := range s.regs {
		if writes.Has(insn.Reg(r)) {
			s.regs[r] = value{kind: unknown}
		}
	}
}
