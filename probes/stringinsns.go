package probes

import (
	"math"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// This file plans the accesses of string instructions with a repeat prefix (rep movs, rep stos), as which compilers
// copy and clear structures. The kernel steps such an instruction one iteration at a time, and a probe at it would
// be hit in each of them. So the probe sits before it, where registers hold the address and the number of elements
// already; or behind it, where the pointer has moved to the end of what was accessed, if it is known how far.

// symbolic is what a register holds: the value that a register had somewhere, which a number stands for, plus a
// constant; or the constant alone.
type symbolic struct {
	of  int
	imm int64
}

// constant is symbolic.of of a value that is the constant alone.
const constant = -1

// plus returns a value with a constant added.
func (s symbolic) plus(n int64) symbolic {
	s.imm += n
	return s
}

// stringLine is the code before a string instruction that is certain to be executed with it.
type stringLine struct {
	in     *insn.Inst
	line   []insn.Inst
	values [][16]symbolic // before each instruction of the line, and before the string instruction
	first  int            // the instructions from that one on are no accesses of their own
}

// stringLine returns the line before a string instruction.
func (b *builder) stringLine(in *insn.Inst) *stringLine {
	l := &stringLine{in: in, line: b.image.LineBefore(in.Addr)}
	var v [16]symbolic
	for r := range v {
		v[r].of = r
	}
	fresh := len(v)
	for i := range l.line {
		l.values = append(l.values, v)
		x := &l.line[i]
		if x.Locked || !x.Known || b.accessAt[x.Addr] {
			l.first = i + 1
		}
		before := v
		for r := range v {
			if x.Overwrites(insn.AMD64).Has(insn.Reg(r)) {
				v[r] = symbolic{of: fresh}
				fresh++
			}
		}
		switch {
		case !x.Known:
		case x.Sum.Const():
			v[x.Sum.Dst] = symbolic{constant, x.Sum.Imm}
		case x.Sum.Offset():
			v[x.Sum.Dst] = before[x.Sum.Src].plus(x.Sum.Imm)
		}
	}
	l.values = append(l.values, v)
	return l
}

// holding returns a register that holds a value up to a constant, which is returned too. It is none of those
// excepted.
func holding(values *[16]symbolic, want symbolic, except insn.RegSet) (r insn.Reg, plus int64, ok bool) {
	for r := range insn.Reg(len(values)) {
		if !except.Has(r) && values[r].of == want.of && want.of != constant {
			return r, want.imm - values[r].imm, true
		}
	}
	return insn.NoReg, 0, false
}

// changed returns the registers that the instruction changes, and the stack pointer, which what follows may change.
func (l *stringLine) changed() insn.RegSet { return l.in.Writes.With(insn.RSP) }

// stops reports whether the instruction may end before RCX is 0: it compares.
func (l *stringLine) stops() bool {
	return !l.in.Writes.Has(insn.RAX) && !slices.ContainsFunc(l.in.Mem[:l.in.NMem], func(m insn.Mem) bool { return m.Write })
}

// stringSites plans the probes of what one operand of a string instruction with a repeat prefix accesses. There is
// none if it cannot be observed.
func (b *builder) stringSites(p throughPointer, in *insn.Inst) ([]Site, error) {
	l := b.stringLine(in)
	if !l.stops() {
		if s, ok, err := b.stringBefore(p, l); ok || err != nil {
			return []Site{s}, err
		}
	}
	return b.stringBehind(p, l)
}

// stringBefore plans a probe before a string instruction, where its address and the number of elements are in
// registers.
func (b *builder) stringBefore(p throughPointer, l *stringLine) (Site, bool, error) {
	at, n := l.values[len(l.line)][p.Operand.Base], l.values[len(l.line)][insn.RCX]
	for i := len(l.line) - 1; i >= l.first; i-- {
		base, disp, found := holding(&l.values[i], at, 0)
		count, plus, counted := holding(&l.values[i], n, 0)
		if !found || n.of != constant && (!counted || plus != 0) {
			continue
		}
		where, ok, err := b.placeAt(l.line[i].Addr)
		if err != nil {
			return Site{}, false, err
		}
		if !ok {
			continue
		}
		s := b.stringSite(p, where, bpf.ReachRange)
		s.BPF.ObjectReg, s.BPF.ObjectDisp = uint8(base), disp
		d := &s.BPF.Access
		if n.of != constant {
			d.Times = 1 + uint8(count)
		} else if n.imm < 0 || n.imm > math.MaxInt32/int64(p.Operand.Size) {
			return Site{}, false, nil
		} else {
			d.Span *= uint32(n.imm)
		}
		b.sitesAt[where.Addr]++
		return s, true, nil
	}
	return Site{}, false, nil
}

// stringBehind plans a probe behind a string instruction. How far the pointer has moved follows from the number of
// elements; or from what it, or the other pointer, was before, which a register still holds, or another probe
// remembers.
func (b *builder) stringBehind(p throughPointer, l *stringLine) ([]Site, error) {
	before := &l.values[len(l.line)]
	n := before[insn.RCX]
	d := bpf.AccessSite{Span: uint32(p.Operand.Size)}
	reads := insn.RegSet(0).With(p.Operand.Base)
	if l.stops() {
		d.Extra, reads = 1+uint8(insn.RCX), reads.With(insn.RCX)
	}
	count, plus, counted := holding(before, n, l.changed())
	switch {
	case n.of == constant:
		d.Imm = uint64(n.imm)
	case counted:
		d.Times, d.Imm, reads = 1+uint8(count), uint64(plus), reads.With(count)
	default:
		return b.stringMoved(p, l)
	}
	s, ok, err := b.behindString(p, reads, d)
	if !ok || err != nil {
		return nil, err
	}
	b.sitesAt[s.Addr]++
	return []Site{s}, nil
}

// stringMoved plans a probe behind a string instruction that compares its pointer, or the other one, with what it
// was before.
func (b *builder) stringMoved(p throughPointer, l *stringLine) ([]Site, error) {
	before := &l.values[len(l.line)]
	for _, pointer := range []insn.Reg{insn.RDI, insn.RSI} {
		if !l.in.Writes.Has(pointer) {
			continue
		}
		d := bpf.AccessSite{Span: math.MaxUint32, Extra: 1 + uint8(pointer)} // minus 1: what it was less what it is
		reads := insn.RegSet(0).With(p.Operand.Base).With(pointer)
		if was, plus, ok := holding(before, before[pointer], l.changed()); ok {
			d.Times, d.Imm = 1+uint8(was), uint64(plus)
			s, ok, err := b.behindString(p, reads.With(was), d)
			if err != nil {
				return nil, err
			}
			if ok {
				b.sitesAt[s.Addr]++
				return []Site{s}, nil
			}
			continue
		}
		for i := len(l.line) - 1; i >= l.first && l.values[i][pointer] == before[pointer]; i-- {
			where, placed, err := b.placeAt(l.line[i].Addr)
			if err != nil {
				return nil, err
			}
			if !placed {
				continue
			}
			d.Times = bpf.TimesRemembered
			behind, ok, err := b.behindString(p, reads, d)
			if !ok || err != nil {
				return nil, err
			}
			s := b.stringSite(p, where, bpf.ReachRemember)
			s.BPF.ObjectReg = uint8(pointer)
			b.sitesAt[s.Addr]++
			b.sitesAt[behind.Addr]++
			return []Site{s, behind}, nil
		}
	}
	return nil, nil
}

// placeAt returns the site of a probe exactly at an instruction; ok is false if it can have none.
func (b *builder) placeAt(addr uint64) (s cheapsite.Site, ok bool, err error) {
	s, err = b.image.Place(cheapsite.Want{At: addr, Sense: cheapsite.After, Stop: func(to uint64) bool { return to != addr }})
	return s, err == nil && s.Class != cheapsite.Refused && s.Addr == addr && b.sitesAt[addr] < bpf.MaxChain, err
}

// behindString places a probe behind a string instruction, where it reads registers; ok is false if it can have
// none.
func (b *builder) behindString(p throughPointer, reads insn.RegSet, d bpf.AccessSite) (s Site, ok bool, err error) {
	where, err := b.image.Place(cheapsite.Want{
		At: p.Addr, Sense: cheapsite.After, Reads: reads,
		Mem:  []insn.Mem{{Base: insn.NoReg, Index: insn.NoReg, Fixed: true, Size: 1, Read: true}}, // any: so it is behind
		Stop: func(addr uint64) bool { return b.accessAt[addr] },
	})
	if err != nil || !b.free(where, p.Addr) {
		return Site{}, false, err
	}
	s = b.stringSite(p, where, bpf.ReachString)
	d.Reach = uint8(bpf.ReachString)
	s.BPF.Access = d
	return s, true, nil
}

// stringSite returns the site of an access by a string instruction, whose address is in the register of its
// operand.
func (b *builder) stringSite(p throughPointer, where cheapsite.Site, reach bpf.Reach) Site {
	s := newSite(p.Addr, where, "")
	s.Program, s.Variable, s.Conditional = ProgramPointer, Unnamed, true
	s.Argument = 1 + slices.Index(b.arch.Arguments(), p.Operand.Base)
	s.BPF = bpf.Site{Op: uint8(accessOps[p.as.Kind]), Action: uint8(bpf.ActionEmit), SpDelta: int32(where.SPDelta)}
	s.BPF.ObjectFrom, s.BPF.ObjectReg = uint8(bpf.FromReg), uint8(p.Operand.Base)
	s.BPF.Access.Reach, s.BPF.Access.Span = uint8(reach), uint32(p.Operand.Size)
	return s
}
