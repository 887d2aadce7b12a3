package deadlock

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
)

// early holds the deadlocks that were predicted while the program ran. At the end of the run the
// history may have evicted the events that prove one, or its locks may be gone: then the early
// finding, whose witness was checked when it was made, is the result.
type early struct {
	found  map[string][]finding.Finding // by cycleKey
	n      int
	report func(*finding.Finding)      // nil: nothing is reported before the end
	keeps  func(*finding.Finding) bool // reports whether there is room for one more
}

// maxEarly bounds the deadlocks that are kept.
const maxEarly = 1000

func (k *early) add(f *finding.Finding) {
	f.HasTimeout = finding.AnyTimed(f.Evidence)
	verdict.Attempt(f)
	if k.n < maxEarly && k.keeps(f) {
		key := cycleKey(f)
		k.found[key] = append(k.found[key], *f)
		k.n++
	}
	if k.report != nil {
		k.report(f)
	}
}

// remember adds the threads and objects of the findings.
func (k *early) remember(n *event.Names) {
	for _, same := range k.found {
		for i := range same {
			same[i].Remember(n)
		}
	}
}

// settle replaces a deadlock that could not be predicted at the end by the earlier prediction of the
// same cycle, if there is one. It discards the earlier findings of that cycle.
func (k *early) settle(f *finding.Finding) {
	key := cycleKey(f)
	same := k.found[key]
	delete(k.found, key)
	if len(same) == 0 || f.Confidence != finding.Potential {
		return
	}
	count, timed := f.Count, f.HasTimeout
	*f = same[0]
	f.Count, f.HasTimeout = count, timed
}

// rest returns the earlier findings that settle has not discarded, in the order of the run.
func (k *early) rest() []finding.Finding {
	var all []finding.Finding
	for _, same := range k.found {
		all = append(all, same[0])
	}
	slices.SortFunc(all, func(a, b finding.Finding) int { return cmp.Compare(lastSeq(&a), lastSeq(&b)) })
	return all
}

func lastSeq(f *finding.Finding) (last uint64) {
	for i := range f.Evidence {
		last = max(last, f.Evidence[i].Seq)
	}
	return last
}

// cycleKey identifies a cycle: the requests of its sides, in any order.
func cycleKey(f *finding.Finding) string {
	type request struct {
		stack  event.StackID
		object event.ObjectID
		op     event.Op
	}
	sides := make([]request, 0, len(f.Evidence))
	for i := range f.Evidence {
		s := &f.Evidence[i]
		sides = append(sides, request{s.Stack, s.Object, s.Op})
	}
	slices.SortFunc(sides, func(a, b request) int {
		return cmp.Or(cmp.Compare(a.stack, b.stack), cmp.Compare(a.object, b.object), cmp.Compare(a.op, b.op))
	})
	return fmt.Sprint(sides)
}
