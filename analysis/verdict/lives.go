package verdict

import (
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// severalLives returns the reason for doubt that an object of a finding lies in memory that may have
// been used again: its sides may then be about two objects. Untracked says where the ends of memory were
// not recorded up to the last side. Elsewhere a lock that a call initialised has one life, while the
// memory of another may have gone through a pool of the program's own. Memory on a stack ends with its
// frame. Rust lets no memory of a lock be used again while threads may use the lock.
func severalLives(f *finding.Finding, names run.Namer, untracked []run.Untracked) reason.Reason {
	everywhere := slices.ContainsFunc(untracked, func(u run.Untracked) bool { return u.Hi == 0 })
	for _, id := range f.Objects {
		o := names.Object(id)
		onStack := o.Member != "" && !o.OfRust() && !strings.Contains(o.Member, ".")
		switch {
		case o.Addr == 0 && o.Kind != event.KindField:
		case slices.ContainsFunc(untracked, func(u run.Untracked) bool { return u.Lo <= o.Addr && o.Addr < u.Hi }):
			return reason.Reason{What: reason.LibraryUnloaded, Object: id}
		case f.Kind == finding.Race && o.Kind == event.KindField && everywhere:
			return reason.Reason{What: reason.FieldFreed, Object: id}
		case f.Kind != finding.Deadlock || o.Name != "" || onStack:
		case everywhere:
			return reason.Reason{What: reason.MemoryFreed, Object: id}
		case o.Init == 0 && !o.OfRust():
			return reason.Reason{What: reason.MemoryReused, Object: id}
		}
	}
	return reason.Reason{}
}

// untracked returns where the ends of memory were not recorded up to the last side of a finding, whose
// processes are own.
func untracked(all []run.Untracked, f *finding.Finding, own []uint32) []run.Untracked {
	return slices.DeleteFunc(slices.Clone(all), func(u run.Untracked) bool {
		return !concerns(u.Processes, own) || !slices.ContainsFunc(f.Evidence, func(e finding.Step) bool { return e.Seq > u.After })
	})
}
