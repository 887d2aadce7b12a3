package probes

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/variable"
)

// This file finds loads that are executed whether the program wants their value or not. A conditional
// move from memory always loads. Compilers make one of c ? a : b, and load the other one of the two
// before it, whose value the move then replaces. What is not moved is used by nobody: the program does
// not access it, and in its source nothing races with it.

// maxSelected bounds the instructions between a load and the conditional move that may replace its value.
const maxSelected = 16

// selection is a conditional move that decides whether the value of a load is used.
type selection struct {
	at    uint64 // its address
	when  uint8  // the condition under which the value is used, as bpf.Site.When
	later bool   // the load comes before it, and its register still holds the value
}

// selected returns the conditional move that decides whether the program uses what an access reads; ok is
// false if it always does, or may.
func (b *builder) selected(a variable.Access) (s selection, ok bool) {
	if b.arch != insn.AMD64 || a.Kind != variable.Read || a.Atomic || a.Callee != "" || a.Repeats {
		return selection{}, false
	}
	in, err := b.image.Decode(a.Addr)
	if err != nil || !in.Known {
		return selection{}, false
	}
	if cond, _, is := b.conditionalMove(&in); is {
		return selection{at: a.Addr, when: cond}, true
	}
	value := in.ValueReg
	if value == insn.NoReg || in.NMem != 1 || in.Mem[0].Write || !in.Kind.Straight() {
		return selection{}, false
	}
	for range maxSelected {
		next, err := b.image.Decode(in.End())
		if err != nil || !next.Known || !next.Kind.Straight() || b.image.Landings().Has(next.Addr) {
			return selection{}, false
		}
		if cond, dst, is := b.conditionalMove(&next); is && dst == value && (next.NMem == 0 || next.Mem[0].Base != value && next.Mem[0].Index != value) {
			return selection{at: next.Addr, when: (cond - 1) ^ 1 + 1, later: true}, true
		}
		if (next.Reads | next.Writes).Has(value) {
			return selection{}, false
		}
		in = next
	}
	return selection{}, false
}

// conditionalMove returns the condition of a conditional move, as bpf.Site.When, and the register that it
// may replace.
func (b *builder) conditionalMove(in *insn.Inst) (when uint8, dst insn.Reg, ok bool) {
	code, err := b.plan.File.Bytes(in.Addr, in.Len)
	if err != nil || len(code) != in.Len {
		return 0, insn.NoReg, false
	}
	rex := byte(0)
	for len(code) > 3 && (code[0] == 0x66 || code[0]&0xf0 == 0x40) {
		if code[0] != 0x66 {
			rex = code[0]
		}
		code = code[1:]
	}
	if len(code) < 3 || code[0] != 0x0f || code[1]&0xf0 != 0x40 {
		return 0, insn.NoReg, false
	}
	return code[1]&0xf + 1, insn.Reg(code[2]>>3&7 | rex&4<<1), true
}

// selectedSite plans the probe of such a load: at the conditional move, where the flags show whether the
// value is used.
func (b *builder) selectedSite(v variable.Variable, a variable.Access, s selection) (Site, bool, error) {
	where, err := b.image.Place(cheapsite.Want{At: s.at, Sense: cheapsite.After, Stop: func(uint64) bool { return true }})
	if err != nil {
		return Site{}, false, err
	}
	if where.Class == cheapsite.Refused {
		b.note("the %s of %s at 0x%x cannot be probed (%s): it is not seen", a.Kind, v.Name, a.Addr, where.Why)
		return Site{}, false, nil
	}
	where.Moved = s.later
	w := want{from: bpf.FromMemory}
	if s.later && a.Value.Source == variable.FromReg && a.Width == v.Size {
		w.from = bpf.FromReg
	}
	site := b.accessSite(v, a, w, where)
	if !s.later && site.BPF.Access.ValueFrom == uint8(bpf.FromNowhere) {
		site.BPF.Access.ValueFrom = uint8(bpf.FromMemory) // the load comes at once
	}
	site.BPF.When = s.when
	return site, true, nil
}
