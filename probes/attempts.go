package probes

import (
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/attempt"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// This file finds the attempts of locks that are written by hand: atomic instructions that are repeated until they
// have changed a variable from 0. Whether a variable is a lock, the run shows.

// attempts marks the sites of attempts that are repeated, those of the loads in between, and those of the stores that
// may release what was acquired so.
func (b *builder) attempts() {
	if b.arch != insn.AMD64 || !slices.ContainsFunc(b.plan.Sites, func(s Site) bool { return s.synchronises() && s.changes() }) {
		return
	}
	c := attempt.NewCode(b.plan.File, b.image)
	c.Results = b.resultRegs
	loops := map[uint64]*attempt.Loop{} // by the address of an atomic instruction; nil: it is not repeated
	looks := map[uint64]bool{}
	for i := range b.plan.Sites {
		s := &b.plan.Sites[i]
		if !s.synchronises() || s.Lock != bpf.LockNone || s.ResultUnused || !s.changes() {
			continue
		}
		l, known := loops[s.At]
		if !known {
			if found, ok := attempt.Find(c, s.At); ok {
				found.Attempts = append(found.Attempts, s.At)
				l = &found
				lookAt(c, l, looks)
			}
			loops[s.At] = l
		}
		if l != nil {
			s.Repeats, s.Traceless, s.Kept = true, l.Traceless, true
		}
	}
	if len(loops) == 0 {
		return
	}
	repeated := slices.ContainsFunc(b.plan.Sites, func(s Site) bool { return s.Repeats })
	for i := range b.plan.Sites {
		s := &b.plan.Sites[i]
		s.Traceless = s.Traceless || looks[s.At]
		s.Kept = s.Kept || repeated && s.synchronises() && s.clears()
	}
}

// lookAt adds the loads of a loop to looks, by their addresses. They are marked if they are part of no loop in which it
// matters how often an attempt failed.
func lookAt(c *attempt.Code, l *attempt.Loop, looks map[uint64]bool) {
	for _, at := range l.Looks {
		may, seen := looks[at]
		looks[at] = l.Traceless && (may || !seen) && attempt.Leads(c, at, l.Attempts)
	}
}

// clears reports whether a site is that of a store of 0.
func (s *Site) clears() bool {
	return bpf.Op(s.BPF.Op) == bpf.OpWrite && bpf.Operand(s.BPF.Access.ValueFrom) == bpf.FromImm && s.BPF.Access.Imm == 0
}

// synchronises reports whether a site observes an access that orders threads.
func (s *Site) synchronises() bool {
	return s.Program == ProgramAtomic || s.Program == ProgramPointerAtomic || s.Sync
}

// changes reports whether a site is that of an instruction which may change what it accesses, if it reads it too.
func (s *Site) changes() bool {
	return bpf.Op(s.BPF.Op) == bpf.OpUpdate || bpf.Op(s.BPF.Op) == bpf.OpRead && s.BPF.When != 0
}
