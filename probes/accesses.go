package probes

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// accesses plans the probes of one variable in this file.
func (b *builder) accesses(v variable.Variable) error {
	res, err := b.code.Accesses(v)
	if err != nil {
		return err
	}
	b.table = slotOf(v, res)
	cover := Coverage{Variable: v, Escapes: b.escapes(res)}
	atomic := v.Atomic || anyAtomic(res.Accesses)
	stores := storesIn(res.Accesses, func(a variable.Access) bool { return !a.Atomic && !a.Inside })
	for _, a := range res.Accesses {
		sites, err := b.accessSites(v, a, stores, atomic)
		if err != nil {
			return err
		}
		if len(sites) == 0 {
			cover.Escapes = append(cover.Escapes, b.unprobed(a.Addr))
			continue
		}
		cover.Sites++
		for i := range sites {
			sites[i].Atomic = atomic && indivisible(v, a)
		}
		b.plan.Sites = append(b.plan.Sites, sites...)
	}
	b.plan.Coverage = append(b.plan.Coverage, cover)
	b.coverageNotes(cover)
	return nil
}

// storesIn maps the address of each access to whether it is a write for which counts reports true.
// The probe of a load may move past those writes, because they are observed themselves.
func storesIn(accesses []variable.Access, counts func(variable.Access) bool) map[uint64]bool {
	stores := map[uint64]bool{}
	for _, a := range accesses {
		stores[a.Addr] = a.Kind == variable.Write && counts(a)
	}
	return stores
}

// accessSites plans the probes of one access of a watched variable. An access of an atomic variable
// is planned as synchronisation if Options.Atomics is set, except those of calls, of repeated
// string instructions and of bit strings.
func (b *builder) accessSites(v variable.Variable, a variable.Access, stores map[uint64]bool, atomic bool) ([]Site, error) {
	several := a.Callee != "" || a.Repeats || a.Scale >= variable.BitString32
	if atomic && b.opts.Atomics && !several {
		return b.syncAccess(v, a, 0)
	}
	var sites []Site
	for _, outcome := range outcomes(v, a) {
		s, ok, err := b.access(v, outcome, stores)
		if err != nil || !ok {
			return nil, err
		}
		sites = append(sites, s)
	}
	return sites, nil
}

// checks reports whether the address of an access must be compared with the variable's at each
// execution, because the instruction may access other memory too.
func checks(a variable.Access) bool { return a.Inside || a.Maybe }

// fixed reports whether an access is certain to be one of the variable, at an address that the
// instruction alone determines.
func (b *builder) fixed(v variable.Variable, a variable.Access) bool {
	return !checks(a) && a.Stride == 0 && (a.Base == insn.NoReg || v.File == b.plan.File)
}

// slotAddress says how to find a variable of another file: its address is the word at slot, in the
// global offset table, plus disp. A slot of 0 means that there is no such word.
type slotAddress struct {
	slot uint64
	disp int64
}

func slotOf(v variable.Variable, res variable.Result) slotAddress {
	return slotAddress{res.Slot, int64(v.Addr - res.SlotHolds)}
}

// extendedSize is the size of the numbers of the x87 unit, in bytes. No compiler joins other loads to one of so many.
const extendedSize = 10

// Wider reports whether a load of width bytes is of more than a variable of size bytes, so that the source may not
// read that one.
func Wider(width, size int) bool { return width > size && width != extendedSize }

// loads reports whether an instruction makes the access, and only reads.
func loads(a variable.Access) bool {
	return a.Kind == variable.Read && a.Callee == "" && !a.Repeats
}

// anyAtomic reports whether one of the accesses is an atomic instruction. The variable is then
// treated as atomic, because debug information does not always say that it is.
func anyAtomic(as []variable.Access) bool {
	for _, a := range as {
		if a.Atomic {
			return true
		}
	}
	return false
}

// indivisible reports whether an access of an atomic variable may be an atomic operation. Every load and
// store may be. A read-modify-write that is not indivisible is none, unless the variable's type says
// that it is: compilers combine a relaxed load, an addition and a relaxed store.
func indivisible(v variable.Variable, a variable.Access) bool {
	return a.Atomic || a.Kind != variable.Update || v.Atomic && !v.AtomicByUse
}

// index returns the index register of the address of an access; NoReg if it has none.
func index(a variable.Access) insn.Reg {
	if a.Scale == 0 {
		return insn.NoReg
	}
	return a.Index
}

// outcomes returns the accesses that an instruction may perform, each with its condition: a
// compare-and-exchange that fails only reads, and leaves the value in RAX.
func outcomes(v variable.Variable, a variable.Access) []variable.Access {
	if a.If == 0 || a.Kind != variable.Update {
		return []variable.Access{a}
	}
	done, failed := a, a
	failed.Kind, failed.If = variable.Read, (a.If-1)^1+1
	if a.Width == v.Size && a.Width <= 8 {
		failed.Value = variable.Value{Source: variable.FromReg, Reg: insn.RAX}
		if a.New != insn.NoReg {
			done.Value = variable.Value{Source: variable.FromReg, Reg: a.New}
		}
	}
	return []variable.Access{done, failed}
}

// want is one way to observe an access: what the probe must read, and where it then finds the
// value.
type want struct {
	reads insn.RegSet
	mem   bool
	from  bpf.Operand
}

// valueSources lists where the value of an access can be read, best first. A register or a constant
// is the thread's own; memory may have been written by another thread since. If an instruction
// accesses more or less than the variable, only memory has the variable's value.
func valueSources(v variable.Variable, a variable.Access) []want {
	memory := want{from: bpf.FromMemory, mem: a.Kind != variable.Read}
	// In x = x + 1 the only cheap site of the load is after the store, where the loaded value is
	// lost.
	unknown := want{from: bpf.FromNowhere}
	whole := a.Width == v.Size && (a.Inside || a.Offset == 0)
	register := want{from: bpf.FromReg, reads: insn.RegSet(0).With(a.Value.Reg)}
	switch {
	case (a.Callee != "" || a.Repeats) && a.Kind != variable.Read:
		return []want{unknown} // the call or string instruction has not written yet, and afterwards its address is unknown
	case a.If != 0 && whole && a.Value.Source == variable.FromReg:
		return []want{register, memory, unknown}
	case a.Kind == variable.Read && (!whole || a.Value.Source != variable.FromReg):
		return []want{memory, unknown}
	case !whole:
		return []want{memory}
	case a.Value.Source == variable.FromImm && a.Kind == variable.Write:
		return []want{{from: bpf.FromImm}}
	case a.Value.Source == variable.FromReg && a.Kind == variable.Read:
		return []want{{from: bpf.FromReg, reads: insn.RegSet(0).With(a.Value.Reg)}, memory, unknown}
	case a.Value.Source == variable.FromReg && a.Kind == variable.Write:
		return []want{{from: bpf.FromReg, reads: insn.RegSet(0).With(a.Value.Reg)}, memory}
	}
	return []want{memory}
}

// access plans the probe of one access. ok is false if the access cannot be probed.
func (b *builder) access(v variable.Variable, a variable.Access, stores map[uint64]bool) (Site, bool, error) {
	if checks(a) && v.File != b.plan.File && b.table.slot == 0 {
		b.note("the %s of %s at 0x%x is not seen: nothing there tells where the variable is", a.Kind, v.Name, a.Addr)
		return Site{}, false, nil
	}
	if s, ok := b.selected(a); ok && b.fixed(v, a) {
		return b.selectedSite(v, a, s)
	}
	var best Site
	var why string
	found := false
	for _, w := range valueSources(v, a) {
		where, err := b.placeAccess(v, a, w, stores)
		if err != nil {
			return Site{}, false, err
		}
		if where.Class == cheapsite.Refused || a.If != 0 && where.Before {
			why = where.Why
			continue
		}
		if !found || where.Class == cheapsite.Emulated && best.Class != cheapsite.Emulated {
			best, found = b.accessSite(v, a, w, where), true
		}
		if best.Class == cheapsite.Emulated {
			break
		}
	}
	if !found {
		b.note("the %s of %s at 0x%x cannot be probed (%s): it is not seen", a.Kind, v.Name, a.Addr, why)
	}
	return best, found, nil
}

func (b *builder) placeAccess(v variable.Variable, a variable.Access, w want, stores map[uint64]bool) (cheapsite.Site, error) {
	cs := cheapsite.Want{At: a.Addr, Sense: cheapsite.After, Reads: w.reads, Flags: a.If != 0}
	if w.from != bpf.FromMemory {
		cs.Pass = func(addr uint64) bool { return stores[addr] }
	}
	if !b.fixed(v, a) {
		needs := insn.RegSet(0).With(a.Base).With(index(a))
		cs.Reads |= needs
		if in, err := b.image.Decode(a.Addr); err != nil || in.Writes&needs != 0 || !in.Known {
			cs.Stop = func(addr uint64) bool { return addr != a.Addr }
		}
	}
	if w.mem {
		m := insn.Mem{Base: insn.NoReg, Index: insn.NoReg, Fixed: true, Addr: v.Addr, Size: v.Size, Read: true}
		if v.File != b.plan.File && (a.Base != insn.NoReg || a.Stride != 0) {
			m = insn.Mem{Base: a.Base, Index: index(a), Scale: a.Scale, Disp: a.Disp, Size: v.Size, Read: true}
		}
		cs.Mem = []insn.Mem{m}
	}
	if b.opts.EntrySites {
		limit := a.Addr
		if w.mem {
			limit += uint64(a.Len)
		}
		stop := cs.Stop
		cs.Stop = func(addr uint64) bool { return addr > limit || stop != nil && stop(addr) }
	}
	return b.image.Place(cs)
}

var accessOps = map[variable.Kind]bpf.Op{variable.Read: bpf.OpRead, variable.Write: bpf.OpWrite, variable.Update: bpf.OpUpdate}

func (b *builder) accessSite(v variable.Variable, a variable.Access, w want, where cheapsite.Site) Site {
	s := newSite(a.Addr, where, "")
	s.Variable, s.Conditional, s.ResultUnused = v.Name, a.Inside, b.resultUnused(a)
	s.Test, s.Adds = b.use(a)
	if loads(a) {
		s.Wider = Wider(a.Width, v.Size)
		if v.Assumed {
			s.Width = a.Width
		}
	}
	s.BPF = bpf.Site{Op: uint8(accessOps[a.Kind]), Action: uint8(bpf.ActionEmit), When: a.If, SpDelta: int32(where.SPDelta)}
	d := &s.BPF.Access
	d.Width = uint8(v.Size)
	switch {
	case b.fixed(v, a):
		s.BPF.ObjectFrom, s.BPF.ObjectDisp = uint8(bpf.FromFixed), int64(v.Addr-where.Addr)
	case checks(a):
		b.checkedSite(&s.BPF, v, a, where)
	case a.Stride != 0 && v.Array != nil:
		d.Reach, d.Home = uint8(bpf.ReachArray), int64(v.Addr-where.Addr)
		d.Span, d.Stride = uint32(v.Array.Span()), uint32(a.Stride)
		touchedAddress(&s.BPF, a, a.Disp, where)
	case a.Stride != 0:
		d.Reach, d.Span, d.Stride = uint8(bpf.ReachElement), uint32(v.Size), uint32(a.Stride)
		touchedAddress(&s.BPF, a, a.Disp, where)
	default:
		s.Target = TargetCompared
		s.BPF.ObjectFrom, s.BPF.ObjectReg, s.BPF.ObjectDisp = uint8(bpf.FromReg), uint8(a.Base), a.Disp
	}
	d.ValueFrom = uint8(w.from)
	switch w.from {
	case bpf.FromReg:
		d.ValueReg = uint8(a.Value.Reg)
		if a.Kind == variable.Read && !where.Moved {
			d.ValueFrom = uint8(bpf.FromMemory) // not loaded yet
		}
	case bpf.FromImm:
		d.Imm = a.Value.Imm
	case bpf.FromMemory:
		if where.Before {
			d.ValueFrom = uint8(bpf.FromNowhere)
		}
	}
	return s
}

// checkedSite records in the site what memory the instruction accesses and where the variable is,
// so that the BPF program can compare the two.
func (b *builder) checkedSite(s *bpf.Site, v variable.Variable, a variable.Access, where cheapsite.Site) {
	d := &s.Access
	d.Reach, d.Span = uint8(bpf.ReachHome), uint32(max(a.Width, 1))
	if a.Repeats {
		d.Times = bpf.TimesEach
	}
	if a.Callee != "" && a.Count != insn.NoReg {
		d.Times = 1 + uint8(a.Count)
	}
	if v.File == b.plan.File {
		d.Home = int64(v.Addr - where.Addr)
	} else {
		d.Reach = uint8(bpf.ReachTable)
		d.Home, d.TableDisp = int64(b.table.slot-where.Addr), int32(b.table.disp)
	}
	disp := a.Disp
	if a.Maybe {
		disp += a.Offset // Disp is the displacement of the variable's address, not of the access's
	}
	touchedAddress(s, a, disp, where)
}

// touchedAddress records in the site how to compute the address of the memory that the instruction
// accesses.
func touchedAddress(s *bpf.Site, a variable.Access, disp int64, where cheapsite.Site) {
	if a.Base != insn.NoReg {
		s.ObjectFrom, s.ObjectReg, s.ObjectDisp = uint8(bpf.FromReg), uint8(a.Base), disp
	} else {
		s.ObjectFrom, s.ObjectDisp = uint8(bpf.FromFixed), disp-int64(where.Addr)
	}
	if a.Scale != 0 {
		s.Access.IndexReg, s.Access.Scale = uint8(a.Index), a.Scale
	}
}
