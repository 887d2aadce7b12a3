package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/run"
)

// LockOrderEdge returns a sentence for a new lock-order edge, for users who watch the program while
// it runs: a thread acquired a lock while it held others. Locks appear by their names, else by
// the location of their initialisation. The key locks is equal for edges of the same locks,
// and for those of other locks that were initialised at the same source location.
func LockOrderEdge(s finding.Step, r run.Namer) (text, locks string) {
	b := newBuilder(r)
	steps := b.steps([]finding.Step{s})
	step, n := steps[0], namesIn(stacksOf(steps))
	wanted := n.lockName(*step.Object)
	var held, at []string
	for _, h := range step.Held {
		name := n.lockName(*h.Object)
		held = append(held, name)
		at = append(at, name+prefixed(" from ", n.At(h.Stack)))
	}
	slices.Sort(held)
	text = fmt.Sprintf("%s takes %s%s while it holds %s", b.thread(s.Thread).ShortLabel(), wanted, n.in(step.Stack), strings.Join(at, " and "))
	return text, strings.Join(append(held, wanted), "\n")
}

// Resolve returns one finding with its names and its sentence, to be reported while the
// program runs.
func Resolve(f finding.Finding, r run.Namer) Finding {
	out := newBuilder(r).finding(canonical(f))
	out.Message = namesIn(stacksOf(out.Evidence)).sentence(&out)
	return out
}

// lockName returns the name of a lock, without its address if anything else is known about it.
func (n Names) lockName(o Object) string {
	if where := n.origin(o); o.Anonymous && where != "" {
		return fmt.Sprintf("a %s %s", o.Kind, where)
	}
	if o.ByMember {
		return fmt.Sprintf("a '%s'", o.Name)
	}
	return Quoted(&o)
}
