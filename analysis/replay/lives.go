package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// severalLives returns the reason for doubt that an object of a finding lies in memory that may have
// been used again: its sides may then be about two objects. Tracked reports that the ends of memory
// were recorded up to the last side. Then a lock that a call initialised has one life, while the memory
// of another may have gone through a pool of the program's own. Memory on a stack ends with its frame.
func severalLives(f *finding.Finding, names run.Namer, tracked bool) string {
	for _, id := range f.Objects {
		o := names.Object(id)
		if f.Kind == finding.Race && o.Kind == event.KindField && !tracked {
			return "its memory may have been freed and used again in between, which was not recorded"
		}
		onStack := o.Member != "" && !strings.Contains(o.Member, ".")
		if f.Kind != finding.Deadlock || o.Addr == 0 || o.Name != "" || onStack {
			continue
		}
		what := cmp.Or(o.Member, fmt.Sprintf("the lock at %#x", o.Addr))
		if !tracked {
			return fmt.Sprintf("the memory of %s may have been freed and used again in between, which was not recorded", what)
		}
		if o.Init == 0 {
			return fmt.Sprintf("the memory of %s may have been used again in between, as by a pool of the program's own: no call initialised the lock", what)
		}
	}
	return ""
}

// tracked reports whether the ends of memory were recorded up to the last side of a finding, whose
// processes are own.
func tracked(all []run.Untracked, f *finding.Finding, own []uint32) bool {
	return !slices.ContainsFunc(all, func(u run.Untracked) bool {
		return concerns(u.Processes, own) && slices.ContainsFunc(f.Evidence, func(e finding.Step) bool { return e.Seq > u.After })
	})
}
