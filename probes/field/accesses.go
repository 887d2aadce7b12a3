package field

import (
	"cmp"
	"slices"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// maxFunction bounds the size of a function that is followed, in bytes.
const maxFunction = 1 << 19

// finder finds the accesses of one field.
type finder struct {
	p   *program
	fd  Field
	out Result
	at  map[uint64]bool
	// within are the definitions of the type, each with the offset of the field in it.
	within map[*dw.Type]int64
	// bases are the base classes that contain the field, with its offset in each. Whether an object
	// of such a class is one of the watched type is not known.
	bases map[*dw.Type]int64
	stubs map[uint64]string
	slots map[uint64]uint64
}

func (db *database) accesses(fd Field) (Result, error) {
	p, err := db.collect()
	if err != nil {
		return Result{}, err
	}
	fi := &finder{p: p, fd: fd, at: map[uint64]bool{}, within: map[*dw.Type]int64{}, bases: map[*dw.Type]int64{}, stubs: db.file.PLTTargets(), slots: p.slotAddresses()}
	fi.out.Unknown = map[string]int{}
	fi.out.Lifetimes, fi.out.Inlined = p.lifetimes, p.inlined
	for _, t := range db.sortedTargets() {
		if pl, err := db.member(t, fd.Spec.Path); err == nil {
			if db.formOf(pl) == db.form(fd) {
				off := pl.at
				fi.within[t] = off
				db.inherited(t, off, fd.Spec.Path[0], fi.bases)
			}
		}
	}
	for _, fn := range p.functions {
		fi.function(fn)
	}
	slices.SortFunc(fi.out.Accesses, func(a, b Access) int { return cmp.Compare(a.Inst.Addr, b.Inst.Addr) })
	slices.SortFunc(fi.out.Lifetimes, func(a, b Lifetime) int { return cmp.Compare(a.Addr, b.Addr) })
	return fi.out, nil
}

// slotAddresses returns, for each slot of the global offset table that refers to a variable of this
// file, the address of the variable.
func (p *program) slotAddresses() map[uint64]uint64 {
	out := map[uint64]uint64{}
	for slot, name := range p.db.file.GOTSlots() {
		for _, s := range p.db.file.Lookup(name) {
			if s.Kind == bin.Object && s.Addr != 0 {
				out[slot] = s.Addr
			}
		}
	}
	return out
}

func (fi *finder) function(fn *function) {
	f, whole := newFlow(fi.p, fn, fi.stubs, fi.slots)
	switch {
	case !whole:
		fi.out.Unknown[fn.name]++
		return
	case len(f.Insts) == 0:
		return
	}
	fi.out.Functions++
	f.run(f.atEntry())
	f.before.Each(f.Graph, func(s *state, in *insn.Inst) {
		fi.recordAccess(f, s, in)
		f.step(s, in)
	})
}

// recordAccess records what an instruction does to the field.
func (fi *finder) recordAccess(f *flow, s *state, in *insn.Inst) {
	for i := range in.NMem {
		m := &in.Mem[i]
		if !in.Known || !m.Read && !m.Write || fi.at[in.Addr] {
			continue
		}
		fi.operand(f, s, in, m)
	}
}

func (fi *finder) operand(f *flow, s *state, in *insn.Inst, m *insn.Mem) {
	m = f.pointerFirst(s, m, in.Addr)
	at := f.address(s, m, in.Addr)
	for _, v := range f.views(at, m, in.Addr) {
		if h, ok := fi.touches(f, v, m, in.Addr); ok {
			if m.Index != insn.NoReg && h.stride == 0 {
				break // the operand is in the object or beside it, but its index is not understood
			}
			fi.access(f, in, m, h)
			return
		}
	}
	if at.kind == unknown && m.Base != f.sp && fi.mayAccess(m) || fi.inNextObject(f, at, m, in.Addr) || at.kind == object && fi.inBase(at) {
		fi.out.Unknown[f.fn.name]++
	}
}

// inNextObject reports whether an operand would be the field of a second object that directly
// follows the object pointed to. The object may be one of several, or be followed by other data
// that belongs to it.
func (fi *finder) inNextObject(f *flow, v value, m *insn.Mem, pc uint64) bool {
	if v.kind != object || v.typ == nil || !isStructure(v.typ) || v.typ.Size() <= 0 || v.at < v.typ.Size() {
		return false
	}
	v.at %= v.typ.Size()
	_, ok := fi.touches(f, v, m, pc)
	return ok
}

// inBase reports whether an address is that of the field in an object of a base class.
func (fi *finder) inBase(at value) bool {
	off, ok := fi.bases[at.typ]
	return ok && off == at.at
}

// views returns the possible values of a memory operand's address: that of the flow, and those that
// the debug information states for its base register.
func (f *flow) views(at value, m *insn.Mem, pc uint64) []value {
	out := []value{at}
	if m.Fixed || m.Base >= numRegs {
		return out
	}
	for i := range f.fn.seeds {
		x := &f.fn.seeds[i]
		if x.reg == m.Base && x.Contains(pc) {
			out = append(out, value{kind: object, typ: x.to, at: m.Disp - x.off})
		}
	}
	return out
}

// hit describes how an operand touches the field.
type hit struct {
	toField int64 // from the operand to the field's beginning
	inside  int64 // the field's offset in the object
	// stride, for an operand with an index, is the number that index times scale must be a multiple
	// of; 0: not known.
	stride int64
}

// touches reports whether an operand at an address touches the field.
func (fi *finder) touches(f *flow, v value, m *insn.Mem, pc uint64) (h hit, ok bool) {
	t, off, ok := f.typed(v, pc)
	if !ok {
		return h, false
	}
	sp := fi.p.db.locate(t, off)
	if !sp.inside {
		return h, false
	}
	if h.inside, ok = fi.insideOf(t, sp.object); !ok {
		return h, false
	}
	begin := sp.object + h.inside
	if off >= begin+int64(fi.fd.Size) || begin >= off+int64(max(m.Size, 1)) {
		return h, false
	}
	h.toField = begin - off
	if m.Index != insn.NoReg && (off != begin || m.Size != fi.fd.Size) && fi.fd.BitSize == 0 {
		return h, false
	}
	if m.Index != insn.NoReg {
		h.stride = sp.stride
		if v.kind == object && isStructure(t) { // a pointer may lead to one element of an array
			h.stride = commonDivisor(sp.stride, t.Size())
		}
		if h.stride > maxStride || h.stride%int64(max(m.Scale, 1)) != 0 {
			h.stride = 0
		}
	}
	return h, true
}

// maxStride bounds the size of an array's elements, in bytes.
const maxStride = 1 << 30

func commonDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// insideOf returns the field's offset in the object of the watched type that begins at an offset of
// t.
func (fi *finder) insideOf(t *dw.Type, at int64) (int64, bool) {
	if off, ok := fi.within[t]; ok && at == 0 {
		return off, true
	}
	for target, off := range fi.within {
		if fi.p.db.contains(t, at, target) {
			return off, true
		}
	}
	return 0, false
}

// contains reports whether an object of a type begins at an offset of t.
func (db *database) contains(t *dw.Type, at int64, target *dw.Type) bool {
	base := int64(0)
	for range maxNesting {
		if t == nil || t == target {
			return t != nil && base == at
		}
		inner, begin, _ := db.part(t, at-base)
		t, base = inner, base+begin
	}
	return false
}

// mayAccess reports whether an operand with an unknown base has the field's size and offset.
func (fi *finder) mayAccess(m *insn.Mem) bool {
	if m.Size != fi.fd.Size || m.Segment {
		return false
	}
	for _, off := range fi.within {
		if m.Disp == off {
			return true
		}
	}
	return false
}

// access records an access.
func (fi *finder) access(f *flow, in *insn.Inst, m *insn.Mem, h hit) {
	fi.at[in.Addr] = true
	fi.out.Accesses = append(fi.out.Accesses, Access{Inst: *in, Mem: *m, Offset: -h.toField, Inside: h.inside, Stride: h.stride, Func: f.rangeOf(in.Addr)})
}

func (f *flow) rangeOf(addr uint64) bin.Range {
	for _, r := range f.fn.ranges {
		if r.Contains(addr) {
			return r
		}
	}
	return bin.Range{}
}
