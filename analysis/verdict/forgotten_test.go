package verdict

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestForgottenCounts checks that a finding is doubted whose schedule ends a wait at a semaphore of which uses were
// forgotten, and that one is not whose semaphore was used since, or of which nothing was forgotten.
func TestForgottenCounts(t *testing.T) {
	none := func(event.ObjectID) *finding.Step { return nil }
	c := NewContradictions(none, func(event.ObjectID) bool { return false })
	use := func(seq uint64, semaphore event.ObjectID) {
		c.Event(&event.Event{Seq: seq, Op: event.SemPost, Thread: 1, Object: semaphore, Kind: event.KindSemaphore})
	}
	use(1, 1)
	use(2, 2)
	doubted := func(semaphore event.ObjectID) bool {
		return c.unsure(&finding.Finding{Witness: []finding.Step{{Op: event.SemWait, Thread: 2, Object: semaphore}}}).Given()
	}
	if c.Shrink(0); doubted(1) || doubted(2) {
		t.Error("doubted although nothing was forgotten")
	}
	if c.Shrink(2); !doubted(1) || doubted(2) {
		t.Errorf("the forgotten one: %t, the other one: %t", doubted(1), doubted(2))
	}
	use(3, 1)
	use(4, 3)
	if !doubted(1) || doubted(2) || doubted(3) {
		t.Errorf("the forgotten one, which is used again: %t, the others: %t, %t", doubted(1), doubted(2), doubted(3))
	}
}
