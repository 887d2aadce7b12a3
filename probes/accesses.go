package probes

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// accesses plans the probes of one variable in this file.
func (b *builder) accesses(v variable.Variable) error {
	res, err := variable.Accesses(b.plan.File, v)
	if err != nil {
		return err
	}
	stores := map[uint64]bool{}
	for _, a := range res.Accesses {
		stores[a.Addr] = a.Kind == variable.Write && !a.Atomic
	}
	names := symbolize.New(b.plan.File, symbolize.WithoutDWARF())
	atomic := v.Atomic || anyAtomic(res.Accesses)
	for _, a := range res.Accesses {
		s, ok, err := b.access(v, a, stores)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		s.Atomic = atomic
		if frames := names.Frames(a.Addr); len(frames) > 0 {
			s.Function = frames[0].Function
		}
		b.plan.Sites = append(b.plan.Sites, s)
	}
	b.accessNotes(v, res)
	return nil
}

// anyAtomic: a variable that one instruction accesses indivisibly is taken for
// an atomic one, since debug information does not always tell.
func anyAtomic(as []variable.Access) bool {
	for _, a := range as {
		if a.Atomic {
			return true
		}
	}
	return false
}

func (b *builder) accessNotes(v variable.Variable, res variable.Result) {
	name := b.plan.File.Name()
	if n := len(res.AddressTaken); n > 0 && v.File == b.plan.File {
		b.note("the address of %s is taken at %d places in %s (first: 0x%x): accesses through pointers are not seen", v.Name, n, name, res.AddressTaken[0])
	}
	if n := len(res.Unknown) + len(res.Undecoded); n > 0 {
		b.note("%d instructions of %s that may access %s are not understood: they are not seen", n, name, v.Name)
	}
}

// want is a way to see an access: where the probe must sit and what it then
// reads the value from.
type want struct {
	reads insn.RegSet
	mem   bool
	from  bpf.Operand
}

// ways lists how the value can be had, best first: a register or constant is
// the thread's own, memory may have been written since.
func ways(a variable.Access) []want {
	whole := !a.Partial && a.Offset == 0 && a.Width > 0 && a.Width <= 8
	if !whole {
		return []want{{from: bpf.FromNowhere}}
	}
	memory := want{from: bpf.FromMemory, mem: a.Kind != variable.Read}
	// x = x + 1: the load is only cheap behind the store, where its value is gone.
	blind := want{from: bpf.FromNowhere}
	switch {
	case a.Value.From == variable.FromImm && a.Kind == variable.Write:
		return []want{{from: bpf.FromImm}}
	case a.Value.From == variable.FromReg && a.Kind == variable.Read:
		return []want{{from: bpf.FromReg, reads: insn.RegSet(0).With(a.Value.Reg)}, memory, blind}
	case a.Value.From == variable.FromReg && a.Kind == variable.Write:
		return []want{{from: bpf.FromReg, reads: insn.RegSet(0).With(a.Value.Reg)}, memory}
	case a.Kind == variable.Read:
		return []want{memory, blind}
	}
	return []want{memory}
}

// access plans one access; ok is false if it cannot be probed.
func (b *builder) access(v variable.Variable, a variable.Access, stores map[uint64]bool) (Site, bool, error) {
	fixed := a.Base == insn.NoReg || v.File == b.plan.File && !a.Maybe
	var best Site
	var why string
	found := false
	for _, w := range ways(a) {
		where, err := b.placeAccess(v, a, w, fixed, stores)
		if err != nil {
			return Site{}, false, err
		}
		if where.Class == cheapsite.Refused {
			why = where.Why
			continue
		}
		if !found || where.Class == cheapsite.Emulated && best.Class != cheapsite.Emulated {
			best, found = b.accessSite(v, a, w, where, fixed), true
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

func (b *builder) placeAccess(v variable.Variable, a variable.Access, w want, fixed bool, stores map[uint64]bool) (cheapsite.Site, error) {
	cs := cheapsite.Want{At: a.Addr, Sense: cheapsite.After, Reads: w.reads}
	if w.from != bpf.FromMemory {
		cs.Pass = func(addr uint64) bool { return stores[addr] }
	}
	if !fixed {
		cs.Reads = cs.Reads.With(a.Base)
		if in, err := b.decode(a); err != nil || in.Writes.Has(a.Base) || !in.Known {
			cs.Stop = func(addr uint64) bool { return addr != a.Addr }
		}
	}
	if w.mem {
		m := insn.Mem{Base: insn.NoReg, Index: insn.NoReg, Fixed: true, Addr: v.Addr, Size: v.Size, Read: true}
		if !fixed {
			m = insn.Mem{Base: a.Base, Index: insn.NoReg, Disp: a.Disp, Size: v.Size, Read: true}
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

func (b *builder) decode(a variable.Access) (insn.Inst, error) {
	code, err := b.plan.File.Bytes(a.Addr, b.arch.MaxLen())
	if err != nil {
		return insn.Inst{}, err
	}
	return insn.Decode(b.arch, code, a.Addr)
}

var accessOps = map[variable.Kind]bpf.Op{variable.Read: bpf.OpRead, variable.Write: bpf.OpWrite, variable.Update: bpf.OpUpdate}

func (b *builder) accessSite(v variable.Variable, a variable.Access, w want, where cheapsite.Site, fixed bool) Site {
	s := Site{At: a.Addr, Addr: where.Addr, Class: where.Class, Why: where.Why, Variable: v.Name, Check: !fixed}
	d := &s.BPF
	d.Op, d.Action, d.Width, d.SpDelta = uint8(accessOps[a.Kind]), uint8(bpf.ActionEmit), uint8(a.Width), int32(where.SPDelta)
	if fixed {
		d.ObjectFrom, d.ObjectDisp = uint8(bpf.FromFixed), int64(v.Addr-where.Addr)
	} else {
		d.ObjectFrom, d.ObjectReg, d.ObjectDisp = uint8(bpf.FromReg), uint8(a.Base), a.Disp
	}
	d.SecondFrom = uint8(w.from)
	switch w.from {
	case bpf.FromReg:
		d.SecondReg = uint8(a.Value.Reg)
		if a.Kind == variable.Read && !where.Moved {
			d.SecondFrom = uint8(bpf.FromMemory) // not loaded yet
		}
	case bpf.FromImm:
		d.Imm = a.Value.Imm
	case bpf.FromMemory:
		if where.Before {
			d.SecondFrom = uint8(bpf.FromNowhere)
		}
	}
	return s
}
