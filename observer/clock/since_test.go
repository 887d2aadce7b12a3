package clock_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestSince: two events of a slot have the same clock, except for the slot's own count, if the
// later one has a Since that is not after the earlier one.
func TestSince(t *testing.T) {
	same := 0
	rapid.Check(t, func(t *rapid.T) {
		m := clock.New()
		last := map[uint32]event.Event{}
		for _, e := range drawTrace(t) {
			m.Stamp(&e)
			old, ok := last[e.Slot]
			kept := e
			kept.Must = e.Must.Clone()
			m.Done(&e)
			last[e.Slot] = kept
			if e.Since == 0 || e.Since > e.Epoch {
				t.Fatalf("event %d of slot %d has Since %d", e.Epoch, e.Slot, e.Since)
			}
			if !ok || e.Since > old.Epoch {
				continue
			}
			same++
			old.Must.Set(e.Slot, e.Epoch)
			if !slices.Equal(old.Must.Entries(), kept.Must.Entries()) {
				t.Fatalf("Since %d, but the clock changed from %v to %v", e.Since, old.Must, kept.Must)
			}
		}
	})
	if same == 0 {
		t.Error("every event had an edge from another slot: the test shows nothing")
	}
}
