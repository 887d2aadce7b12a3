package probes

import (
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/pointer"
)

// This file plans the calls, in the program's own code, of functions that allocate memory: what threads share on
// the heap is named by where it was allocated. Two probes see each call: one at it, which remembers the size, and
// one behind it, which has the block. The entry of the function would cost as much for blocks that libraries
// allocate for themselves, and could not be removed for one hot call alone.

// allocates returns what a function does that allocates memory, or moves it; nil if it is another one. The blocks of
// mimalloc's heaps may end together, which is not seen.
func allocates(symbol string) *allocator {
	if symbol == "" || strings.HasPrefix(symbol, "mi_heap_") {
		return nil
	}
	a, ok := allocatorNamed(symbol)
	if !ok || a.op != bpf.OpAlloc && a.op != bpf.OpMove || a.size == 0 {
		return nil
	}
	return &a
}

// operatorNames are the names of the allocation functions of C++ in reports, by the beginnings of their mangled
// names.
var operatorNames = map[string]string{"_Znwm": "operator new", "_Znam": "operator new[]"}

// allocations plans the probes of the calls that allocate. At most most sites are planned in all: what has no room
// is not named by where it was allocated.
func (b *builder) allocations(calls []pointer.Call, most int) error {
	for _, c := range calls {
		a := allocates(c.Callee)
		if a == nil || c.Tail || b.inStub(c.Addr) || len(b.plan.Sites)+2 > most {
			continue
		}
		sites, err := b.allocationSites(c, a)
		if err != nil {
			return err
		}
		for i := range sites {
			b.sitesAt[sites[i].Addr]++
		}
		b.plan.Sites = append(b.plan.Sites, sites...)
	}
	return nil
}

// allocationSites plans the probes of one call that allocates; none if one of them has no place.
func (b *builder) allocationSites(c pointer.Call, a *allocator) ([]Site, error) {
	at, ok, err := b.atCall(c)
	if !ok || err != nil {
		return nil, err
	}
	behind, ok, err := b.behindCall(c, cheapsite.Want{Reads: insn.RegSet(0).With(b.resultRegister()), Pass: b.keepsBlock})
	if !ok || err != nil || behind.Addr == at.Addr {
		return nil, err
	}
	sites := []Site{newSite(c.Addr, at, ""), newSite(c.Addr, behind, "")}
	for i := range sites {
		s := &sites[i]
		s.Program, s.Variable, s.Conditional, s.Callee = ProgramPointer, Unnamed, true, calleeName(c.Callee)
		s.BPF = bpf.Site{Op: uint8(bpf.OpAlloc), Action: uint8(bpf.ActionEmit)}
	}
	begun, done := &sites[0].BPF, &sites[1].BPF
	begun.When = c.Cond
	register := func(argument int) uint8 { return 1 + uint8(b.argument(argument)) }
	begun.Access = bpf.AccessSite{Reach: uint8(bpf.ReachCalled), Extra: register(a.size)}
	if a.factor > 0 {
		begun.Access.Times = register(a.factor)
	}
	if a.indirect {
		begun.ObjectFrom, begun.ObjectReg, begun.Flags = uint8(bpf.FromReg), uint8(b.argument(a.object)), bpf.SiteIndirect
	}
	done.SpDelta = int32(behind.SPDelta)
	done.Access = bpf.AccessSite{Reach: uint8(bpf.ReachReturned), Home: int64(at.Addr - behind.Addr)}
	return sites, nil
}

// keepsBlock reports whether the store at an address cannot give a block to other threads: one in the frame of its
// function, or of a constant. A probe that passed another one might see the block when it has been freed already, and
// has been allocated again.
func (b *builder) keepsBlock(store uint64) bool {
	in, err := b.image.Decode(store)
	if err != nil {
		return false
	}
	for i := range in.NMem {
		if m := &in.Mem[i]; m.Write && (m.Fixed || m.Segment || b.accessAt[store] && !in.HasImm) {
			return false
		}
	}
	return true
}

// calleeName returns the name of a function that allocates in reports.
func calleeName(symbol string) string {
	if len(symbol) >= 5 && operatorNames[symbol[:5]] != "" {
		return operatorNames[symbol[:5]]
	}
	return strings.TrimPrefix(symbol, "__libc_")
}

// Allocates reports whether the site is that of a call that allocates memory.
func (s *Site) Allocates() bool {
	return s.Program == ProgramPointer && bpf.Op(s.BPF.Op) == bpf.OpAlloc
}
