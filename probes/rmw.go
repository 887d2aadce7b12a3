package probes

import (
	"fmt"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// This file finds the values that an atomic instruction read and wrote. Threads synchronise by such
// accesses, and the record of one may be ordered wrongly relative to that of another: no probe can
// sit at an instruction with a lock prefix, so the record is made after it. Only the values then
// show which access came first, and they must be the instruction's own: memory that is read a
// moment later may hold what another thread wrote. Registers hold the values, except for operations
// whose register holds only what they add: their result is read from memory. Such a result and the
// value before it must differ by what was added; if another thread wrote in between, they do not,
// and the observer detects it.

// modify describes how an instruction of x86-64 changes memory.
type modify struct {
	op  modifyOp
	reg insn.Reg // its register operand, NoReg if it has none
	imm uint64   // the constant that it adds, if it has no register operand
}

type modifyOp uint8

const (
	modifyOther modifyOp = iota
	modifyExchange
	modifyExchangeAdd
	modifyCompareExchange
	modifyAdd      // adds reg, or imm
	modifySubtract // subtracts reg
)

// decodeModify decodes an instruction that changes memory. It returns modifyOther for an
// instruction that it does not know.
func decodeModify(code []byte) modify {
	other := modify{reg: insn.NoReg}
	rex, wide := byte(0), false
	for len(code) > 0 && (code[0] == 0xf0 || code[0] == 0x66 || code[0] == 0xf2 || code[0] == 0xf3) {
		code = code[1:]
	}
	if len(code) > 0 && code[0]&0xf0 == 0x40 {
		rex, code = code[0], code[1:]
	}
	if len(code) > 0 && code[0] == 0x0f {
		wide, code = true, code[1:]
	}
	if len(code) < 2 {
		return other
	}
	op, modrm := code[0], code[1]
	field := modrm >> 3 & 7
	reg := insn.Reg(field | rex&4<<1)
	if op&1 == 0 && rex == 0 && field >= 4 {
		return other // ah, ch, dh, bh
	}
	switch {
	case wide && op|1 == 0xc1:
		return modify{op: modifyExchangeAdd, reg: reg}
	case wide && op|1 == 0xb1:
		return modify{op: modifyCompareExchange, reg: reg}
	case wide:
		return other
	case op|1 == 0x87:
		return modify{op: modifyExchange, reg: reg}
	case op|1 == 0x01:
		return modify{op: modifyAdd, reg: reg}
	case op|1 == 0x29:
		return modify{op: modifySubtract, reg: reg}
	}
	return addConstant(op, field, code)
}

// addConstant decodes the instructions that add or subtract a constant.
func addConstant(op, field byte, code []byte) modify {
	m := modify{op: modifyAdd, reg: insn.NoReg}
	switch {
	case op|1 == 0xff && field == 0:
		m.imm = 1
	case op|1 == 0xff && field == 1:
		m.imm = ^uint64(0)
	case (op == 0x80 || op == 0x83) && (field == 0 || field == 5):
		m.imm = uint64(int64(int8(code[len(code)-1])))
	case op == 0x81 && (field == 0 || field == 5) && len(code) >= 6:
		at := code[len(code)-4:]
		m.imm = uint64(int64(int32(uint32(at[0]) | uint32(at[1])<<8 | uint32(at[2])<<16 | uint32(at[3])<<24)))
	default:
		return modify{reg: insn.NoReg}
	}
	if field == 5 {
		m.imm = -m.imm
	}
	return m
}

// syncWant is a wanted probe of an access that synchronises: what it records, and how the values of
// the access follow from the record.
type syncWant struct {
	op      bpf.Op
	when    uint8 // Site.When
	second  bpf.Operand
	reg     insn.Reg // register of second
	imm     uint64
	extra   insn.Reg // the register recorded as Extra; NoReg for none
	values  bpf.Values
	delta   uint64
	atNext  bool // the probe must sit at the next instruction, because it reads the flags
	mayStay bool // the probe may sit at the access itself, and so fire before it
	spin    bool
	// exchange means that what the instruction writes does not depend on what it reads.
	exchange bool
}

const (
	ifEqual    = 1 + 4 // je
	ifNotEqual = 1 + 5 // jne
)

// syncWants returns what to record of an atomic instruction. A failed compare-and-swap is a read.
func (b *builder) syncWants(a variable.Access) []syncWant {
	code, err := b.plan.File.Bytes(a.Addr, a.Len)
	if err != nil || b.arch != insn.AMD64 || len(code) != a.Len {
		return []syncWant{{op: bpf.OpUpdate, extra: insn.NoReg}}
	}
	m := decodeModify(code)
	switch m.op {
	case modifyExchange:
		w := syncWant{op: bpf.OpUpdate, extra: m.reg, values: bpf.ValuesOld, exchange: true}
		if b.operandBefore(a, m.reg, &w) {
			w.values, w.spin = bpf.ValuesBoth, true
		} else if b.resultUnused(a) {
			// Of a store, memory has the value, unless another thread has stored meanwhile. What this
			// store wrote then shows in the old value that the other one's exchange finds.
			w.values, w.second = bpf.ValuesBoth, bpf.FromMemory
		}
		return []syncWant{w}
	case modifyExchangeAdd:
		w := syncWant{op: bpf.OpUpdate, extra: m.reg, values: bpf.ValuesOld}
		if b.operandBefore(a, m.reg, &w) {
			w.values = bpf.ValuesAddedReg
			if w.second == bpf.FromImm {
				w.values, w.delta, w.second = bpf.ValuesAdded, w.imm, bpf.FromNowhere
			}
		}
		return []syncWant{w}
	case modifyCompareExchange:
		return []syncWant{
			{op: bpf.OpUpdate, when: ifEqual, second: bpf.FromReg, reg: m.reg, extra: insn.RAX, values: bpf.ValuesBoth, atNext: true, spin: true},
			{op: bpf.OpRead, when: ifNotEqual, second: bpf.FromReg, reg: insn.RAX, extra: insn.NoReg, atNext: true, spin: true},
		}
	case modifySubtract:
		return []syncWant{{op: bpf.OpUpdate, second: bpf.FromMemory, extra: m.reg, values: bpf.ValuesResultLess}}
	case modifyAdd:
		if m.reg != insn.NoReg {
			return []syncWant{{op: bpf.OpUpdate, second: bpf.FromMemory, extra: m.reg, values: bpf.ValuesResultReg}}
		}
		return []syncWant{{op: bpf.OpUpdate, second: bpf.FromMemory, extra: insn.NoReg, values: bpf.ValuesResult, delta: m.imm}}
	}
	return []syncWant{{op: bpf.OpUpdate, second: bpf.FromMemory, extra: insn.NoReg}}
}

// operandBefore finds where the value of reg, a register that the access reads and overwrites, can
// be read after the access: the value is a constant, or still in the register that it was copied
// from.
func (b *builder) operandBefore(a variable.Access, reg insn.Reg, w *syncWant) bool {
	line := b.image.LineBefore(a.Addr)
	var later insn.RegSet // registers written between this instruction and the access
	for i := len(line) - 1; i >= 0; i-- {
		in := &line[i]
		if !in.Known {
			return false
		}
		if !in.Writes.Has(reg) {
			later |= in.Writes
			continue
		}
		switch {
		case in.Sum.Dst == reg && in.Sum.Const():
			w.second, w.imm = bpf.FromImm, uint64(in.Sum.Imm)
			return true
		case in.Sum.Dst == reg && in.Sum.Offset() && in.Sum.Imm == 0 && in.Sum.Src != reg && !later.Has(in.Sum.Src):
			w.second, w.reg = bpf.FromReg, in.Sum.Src
			return true
		}
		return b.copied(in, reg, a.Width, later, w)
	}
	return false
}

// copied does what operandBefore does if in, the last instruction that writes the register before
// the access, copies 32 bits of another register to it, or clears it.
func (b *builder) copied(in *insn.Inst, reg insn.Reg, width int, later insn.RegSet, w *syncWant) bool {
	code, err := b.plan.File.Bytes(in.Addr, in.Len)
	if err != nil || width > 4 {
		return false
	}
	to, from, cleared := copy32(code)
	switch {
	case to != reg:
		return false
	case cleared:
		w.second, w.imm = bpf.FromImm, 0
		return true
	case from == reg || later.Has(from):
		return false
	}
	w.second, w.reg = bpf.FromReg, from
	return true
}

// copy32 decodes an instruction of x86-64 that copies the lower half of a register, or clears a
// register by an exclusive or with itself. to is NoReg for any other instruction.
func copy32(code []byte) (to, from insn.Reg, cleared bool) {
	rex := byte(0)
	if len(code) == 3 && code[0]&0xf8 == 0x40 {
		rex, code = code[0], code[1:]
	}
	if len(code) != 2 || code[1] < 0xc0 {
		return insn.NoReg, insn.NoReg, false
	}
	reg, rm := insn.Reg(code[1]>>3&7|rex&4<<1), insn.Reg(code[1]&7|rex&1<<3)
	switch code[0] {
	case 0x89:
		return rm, reg, false
	case 0x8b:
		return reg, rm, false
	case 0x31, 0x33:
		if reg == rm {
			return reg, reg, true
		}
	}
	return insn.NoReg, insn.NoReg, false
}

// plainWants returns what to record of a load or store, best first. The probe sits after the
// access: the recorded value of a load must be the one that was loaded, and a load in between would
// contradict a store that is recorded before it happens.
func plainWants(a variable.Access) []syncWant {
	memory := syncWant{op: accessOps[a.Kind], second: bpf.FromMemory, extra: insn.NoReg, spin: a.Kind == variable.Read}
	w := memory
	switch {
	case a.Value.Source == variable.FromReg:
		w.second, w.reg = bpf.FromReg, a.Value.Reg
	case a.Value.Source == variable.FromImm && a.Kind == variable.Write:
		w.second, w.imm = bpf.FromImm, a.Value.Imm
	default:
		return []syncWant{memory}
	}
	if a.Kind == variable.Read {
		return []syncWant{w, memory}
	}
	stay := w
	stay.mayStay = true
	return []syncWant{w, stay}
}

// syncAccess plans the probes of an access that synchronises. The access orders its thread's
// operations before and after it, so it must not be recorded after the thread's next load, and an
// atomic instruction must not be recorded before it is executed.
func (b *builder) syncAccess(v variable.Variable, a variable.Access, may uint8) ([]Site, error) {
	sites, err := b.syncSites(v, a)
	initial, known := initial(v)
	for i := range sites {
		s := &sites[i]
		s.Atomic, s.Sync, s.Initial, s.HasInitial = indivisible(v, a), true, initial, known
		if may&bpf.SiteSpin == 0 {
			s.BPF.Flags &^= bpf.SiteSpin
		}
	}
	return sites, err
}

// initial returns the value of a variable when the program starts. For an array it returns the
// value of each of its elements, if that is 0.
func initial(v variable.Variable) (value uint64, known bool) {
	if v.Array == nil {
		return v.File.Initial(v.Addr, v.Size)
	}
	return 0, v.File.Zeroed(v.Addr, v.Array.Span())
}

// elementAccess plans the probes of an access of an element of an atomic array. An access of more
// or less than an element is not observed.
func (b *builder) elementAccess(v variable.Variable, a variable.Access, may uint8) ([]Site, error) {
	sure, whole := !checks(a) || a.Certain, v
	switch {
	case a.Callee != "" || a.Repeats || a.Scale >= variable.BitString32 || a.Width != v.Size:
		return nil, nil
	case checks(a) && v.File != b.plan.File: // the address in the other file is not known in this one
		return nil, nil
	case checks(a):
		if a.Maybe {
			a.Disp += a.Offset
		}
		a.Stride, a.Offset, a.Inside, a.Maybe = int64(v.Array.Stride), 0, false, false
	default:
		if a.Offset < 0 || uint64(a.Offset)%v.Array.Stride != 0 {
			return nil, nil
		}
		v.Addr += uint64(a.Offset)
		if a.Base != insn.NoReg {
			a.Disp += a.Offset
		}
		a.Offset = 0
	}
	sites, err := b.syncAccess(v, a, may)
	for i := range sites {
		sites[i].Conditional = !sure
		sites[i].Initial, sites[i].HasInitial = initial(whole)
	}
	return sites, err
}

func (b *builder) syncSites(v variable.Variable, a variable.Access) ([]Site, error) {
	whole := a.Offset == 0 && a.Width == v.Size && !checks(a)
	switch {
	case whole && a.Kind == variable.Update && a.Atomic:
		return b.syncAll(v, a, b.syncWants(a))
	case whole && a.Kind != variable.Update:
		for _, w := range plainWants(a) {
			if where, err := b.placeSync(v, a, w); err != nil {
				return nil, err
			} else if where.Class != cheapsite.Refused && (w.mayStay || where.Addr != a.Addr) {
				return []Site{b.syncSite(v, a, w, where)}, nil
			}
		}
	}
	s, ok, err := b.access(v, a, nil)
	if err != nil || !ok {
		return nil, err
	}
	return []Site{s}, nil
}

// syncAll plans all wanted probes of one instruction, or none if one of them has no site.
func (b *builder) syncAll(v variable.Variable, a variable.Access, wants []syncWant) ([]Site, error) {
	var sites []Site
	for _, w := range wants {
		where, err := b.placeSync(v, a, w)
		if err != nil {
			return nil, err
		}
		if where.Class == cheapsite.Refused || where.Addr == a.Addr {
			b.note("the %s of %s at 0x%x cannot be probed (%s): it is not seen", a.Kind, v.Name, a.Addr, where.Why)
			return nil, nil
		}
		sites = append(sites, b.syncSite(v, a, w, where))
	}
	return sites, nil
}

func (b *builder) placeSync(v variable.Variable, a variable.Access, w syncWant) (cheapsite.Site, error) {
	cs, fixed := cheapsite.Want{At: a.Addr, Sense: cheapsite.After}, b.fixed(v, a)
	if !w.mayStay { // a probe that reads memory moves after the access
		cs.Mem = []insn.Mem{{Base: insn.NoReg, Index: insn.NoReg, Fixed: true, Addr: v.Addr, Size: v.Size, Read: true}}
		if !fixed {
			cs.Mem[0] = insn.Mem{Base: a.Base, Index: index(a), Scale: a.Scale, Disp: a.Disp, Size: v.Size, Read: true}
		}
	}
	if !fixed {
		cs.Reads = cs.Reads.With(a.Base).With(index(a))
	}
	if w.second == bpf.FromReg {
		cs.Reads = cs.Reads.With(w.reg)
	}
	cs.Reads = cs.Reads.With(w.extra)
	next := a.Addr + uint64(a.Len)
	loads := b.behindLoad(a)
	cs.Stop = func(addr uint64) bool { return loads(addr) || (w.atNext || b.opts.EntrySites) && addr > next }
	return b.image.Place(cs)
}

// behindLoad returns a function that reports, for addresses in ascending order, whether an
// instruction between the access and the address loads from memory other than the stack.
func (b *builder) behindLoad(a variable.Access) func(addr uint64) bool {
	behind := false
	return func(addr uint64) bool {
		if behind || addr <= a.Addr {
			return behind
		}
		in, err := b.image.Decode(addr)
		behind = err != nil || !in.Known
		for i := range in.NMem {
			m := &in.Mem[i]
			behind = behind || m.Read && m.Base != b.arch.SP()
		}
		return err != nil
	}
}

func (b *builder) syncSite(v variable.Variable, a variable.Access, w syncWant, where cheapsite.Site) Site {
	s := b.accessSite(v, a, want{from: w.second}, where)
	d := &s.BPF.Access
	s.BPF.Op, s.BPF.When = uint8(w.op), w.when
	d.ValueFrom, d.ValueReg, d.Imm = uint8(w.second), 0, w.imm
	if w.second == bpf.FromReg {
		d.ValueReg = uint8(w.reg)
	}
	if w.extra != insn.NoReg {
		d.Extra = 1 + uint8(w.extra)
	}
	if w.spin {
		s.BPF.Flags |= bpf.SiteSpin
	}
	s.Values, s.Delta = w.values, w.delta
	s.Store = w.exchange && s.ResultUnused
	if w.when != 0 && !b.opts.Terse {
		s.Why = fmt.Sprintf("%s, if it %s", s.Why, map[uint8]string{ifEqual: "succeeded", ifNotEqual: "failed"}[w.when])
	}
	return s
}
