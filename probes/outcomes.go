package probes

import (
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// outcomes plans probes that fire when the outcome of a call is certain, instead of one probe at
// its entry (of the class entry) and one at its return (a uretprobe, if ret). It reports whether
// that is possible and costs less. A join is left out, because the time of its entry is needed, and
// the creation of a key, because it may store the key when its outcome is already certain.
func (b *builder) outcomes(c call, entry cheapsite.Class, ret bool) (bool, error) {
	if b.opts.EntrySites || b.arch != insn.AMD64 || c.entry.Op == bpf.OpJoin || c.entry.Op == bpf.OpKeyCreate {
		return false, nil
	}
	out, err := b.image.Outcomes(cheapsite.OutcomeWant{
		Entry:  c.addr,
		Reads:  b.registers(c.entry),
		Result: b.resultRegister(),
		Foreign: func(addr uint64) bool {
			_, known := b.tableCalls[addr]
			return known
		},
		Stub: func(addr uint64) string { return b.stubs[addr] },
	})
	if err != nil || costOf(out.Hot...) >= costOfCall(entry, ret) {
		return false, nil
	}
	for _, p := range out.Sites {
		s := b.callSite(c, bpf.ActionOutcome, cheapsite.Site{Addr: p.Addr, Class: p.Class, Why: p.Why, SPDelta: p.SPDelta})
		d := s.BPF.Sync()
		s.BPF.When, d.ResultFrom = uint8(p.When), uint8(bpf.FromReg)
		if p.Const {
			d.ResultFrom, d.Result = uint8(bpf.FromImm), int32(p.Value)
		}
		if c.entry.ObjectAt == "" {
			s.BPF.ObjectFrom, s.BPF.ObjectReg, s.BPF.ObjectDisp = b.operandAt(p, c.entry.Object)
		}
		if c.entry.Second > 0 {
			d.SecondFrom, d.SecondReg, d.SecondDisp = b.operandAt(p, c.entry.Second)
		}
		b.plan.Sites = append(b.plan.Sites, s)
	}
	for _, t := range out.Tails {
		s := b.callSite(c, bpf.ActionSave, cheapsite.Site{Addr: t.Addr, Class: cheapsite.Emulated, Why: t.Why})
		s.Return = ret
		b.plan.Sites = append(b.plan.Sites, s)
		if !ret {
			if err := b.returns(call{addr: t.Target, name: c.name}); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// operandAt returns where the value of argument n of the call is at a site where its outcome is
// certain.
func (b *builder) operandAt(p cheapsite.Outcome, n int) (from, reg uint8, disp int64) {
	if n == 0 {
		return uint8(bpf.FromNowhere), 0, 0
	}
	at := p.Operands[b.argument(n)]
	if at.Reg == insn.NoReg {
		return uint8(bpf.FromStack), 0, at.Slot
	}
	return uint8(bpf.FromReg), uint8(at.Reg), 0
}

// The costs of probes, in units of one hit of an emulated probe. A stepped probe costs eight times
// as much where exceptions are cheap, and twenty times where they are not; a uretprobe's return
// costs a system call.
const (
	costEmulated = 1
	costStepped  = 8
	costReturn   = 1
)

func costOf(classes ...cheapsite.Class) int {
	n := 0
	for _, c := range classes {
		if c == cheapsite.Emulated {
			n += costEmulated
		} else {
			n += costStepped
		}
	}
	return n
}

// costOfCall returns the cost of a call that is observed by a probe at its entry of this class and,
// if ret, by a uretprobe, else by a probe at its return instruction, which is rarely emulated.
func costOfCall(entry cheapsite.Class, ret bool) int {
	if ret {
		return costOf(entry) + costReturn
	}
	return costOf(entry, cheapsite.Stepped)
}
