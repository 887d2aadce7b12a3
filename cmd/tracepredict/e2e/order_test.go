package e2e

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestOrderAcrossCPUs: events are in the order of the run though those of each CPU come by a ring buffer of its own: the
// sections of a lock come one after the other, and what they write is what the program wrote, in its order.
func TestOrderAcrossCPUs(t *testing.T) {
	needBPF(t)
	t.Parallel()
	r := observe(t, build(t, "gcc", "counted_turns.c", "-O1", "-g", "-pthread"), options{Watch: []string{"counter"}})
	r.expectExit(t, 0)
	written, holder := uint64(0), event.ThreadID(0)
	for i := range r.Events {
		e := &r.Events[i]
		switch e.Op {
		case event.Write:
			if written++; e.Value != written || e.Flags&event.HasValue == 0 || e.Thread != holder {
				t.Fatalf("write %d: T%d wrote %d while T%d had the lock", written, e.Thread, e.Value, holder)
			}
		case event.Acquire:
			if holder != 0 {
				t.Fatalf("T%d acquired what T%d had", e.Thread, holder)
			}
			holder = e.Thread
		case event.Release:
			if holder != e.Thread {
				t.Fatalf("T%d released what T%d had", e.Thread, holder)
			}
			holder = 0
		}
	}
	if written != 4*5000 || r.Observer.Stats().Lost != 0 {
		t.Errorf("%d writes, %d lost", written, r.Observer.Stats().Lost)
	}
}
