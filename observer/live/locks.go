package live

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// This file lets the rest of the package know which variables the run used as locks, once that is known; see package
// lockword.

// TakeForLocks says that atomic accesses at these call stacks acquire or release locks: what they access, the whole
// run used as locks. Sites that other variables are accessed at must not be among them.
func (l *Link) TakeForLocks(at []event.StackID) {
	if len(at) == 0 {
		return // what was asked so far has the same answers
	}
	l.readings = readings{}
	r := l.given()
	r.locks = map[uint32]bool{}
	for _, id := range at {
		if s, ok := l.observed.StackOf(id); ok {
			r.locks[s.Site] = true
		}
	}
}

// DischargePointers removes from a summary that the addresses of some static variables go where all accesses through
// pointers are observed. The whole run used the variables, which are given by their addresses, as locks, and what was
// observed includes what is done through those pointers.
func (l *Link) DischargePointers(sum *run.Summary, locks map[uint64]bool) {
	if l.Session == nil || len(locks) == 0 {
		return
	}
	sum.Executed = slices.DeleteFunc(sum.Executed, func(e run.Executed) bool {
		m, probe, ok := l.Session.UnseenProbe(e.Number)
		return ok && probe.What == elf.UnseenPointer && l.onlyTo(m.Plan, probe.Offset, locks)
	})
}

// onlyTo reports whether all that a probe at an offset stands for is that addresses of such variables are passed to
// code that is followed.
func (l *Link) onlyTo(plan *probes.Plan, offset uint64, locks map[uint64]bool) bool {
	return !slices.ContainsFunc(plan.UnseenProbes, func(p probes.UnseenProbe) bool {
		return p.Offset == offset && (p.What != elf.UnseenPointer || !p.Followed || !locks[l.Session.VariableAddr(l.Session.PID(), p.Variable)])
	})
}
