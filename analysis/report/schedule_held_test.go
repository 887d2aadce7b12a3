package report

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestSchedulesShareLocks checks that steps which hold the same locks share them: n deadlocks of n locks need memory
// for n² of them, not n³.
func TestSchedulesShareLocks(t *testing.T) {
	b := newBuilder(nil)
	holding := func(ids ...event.ObjectID) []finding.Step {
		return []finding.Step{{Thread: 1, Op: event.Acquire, Object: 9, Held: ids, HeldAt: make([]event.StackID, len(ids))}}
	}
	first, second := b.schedule(holding(1, 2, 3, 4)), b.schedule(holding(1, 2, 3, 4))
	if &first[0].Held[0] != &second[0].Held[0] {
		t.Error("equal locks are two slices")
	}
	if other := b.schedule(holding(1, 2, 3)); len(other[0].Held) != 3 || &other[0].Held[0] == &first[0].Held[0] {
		t.Errorf("other locks: %v", other[0].Held)
	}
	if own := b.steps(holding(1, 2, 3, 4)); &own[0].Held[0] == &first[0].Held[0] {
		t.Error("the sides share with a schedule, and show more frames")
	}
}
