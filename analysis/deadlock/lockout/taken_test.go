package lockout_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/deadlock/lockout"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestTaken checks which signals another thread may take that waits for something else. Threads 1 and 2
// wait on a condition, and thread 3 sends a signal to each.
func TestTaken(t *testing.T) {
	const x, y event.ObjectID = 20, 21
	waits := func(t event.ThreadID, looks event.ObjectID, flags event.Flags) []event.Event {
		wait := flagged(stacked(of(t, event.Wait, cond), event.StackID(t)), flags)
		if looks == 0 {
			return []event.Event{of(t, event.Acquire, a), flagged(of(t, event.Release, a), event.InCondWait), wait}
		}
		return []event.Event{of(t, event.Acquire, a), of(t, event.Read, looks), flagged(of(t, event.Release, a), event.InCondWait), wait}
	}
	wakes := func(t event.ThreadID) []event.Event {
		return []event.Event{of(t, event.Wake, cond), flagged(of(t, event.Acquire, a), event.InCondWait), of(t, event.Release, a)}
	}
	sends := func(op event.Op) []event.Event {
		return []event.Event{of(3, event.Acquire, a), of(3, op, cond), of(3, event.Release, a)}
	}
	signal, broadcast := sends(event.Signal), sends(event.Broadcast)
	both := slices.Concat(waits(1, 0, 0), waits(2, 0, 0))
	sites := [2]event.StackID{1, 2}
	for _, tt := range []struct {
		name string
		run  []event.Event
		want []lockout.Candidate
	}{
		{"one signal each", slices.Concat(both, signal, wakes(1), signal, wakes(2)), []lockout.Candidate{{Taken: 8, Wake: 10, Sites: sites}}},
		{"both wakes come late", slices.Concat(both, signal, signal, wakes(1), wakes(2)), []lockout.Candidate{{Taken: 8, Wake: 13, Sites: sites}}},
		{"the wakes come in the other order", slices.Concat(both, signal, signal, wakes(2), wakes(1)), []lockout.Candidate{{Taken: 8, Wake: 13, Sites: [2]event.StackID{2, 1}}}},
		{"looks at different variables", slices.Concat(waits(1, x, 0), waits(2, y, 0), signal, wakes(1), signal, wakes(2)), []lockout.Candidate{{Taken: 10, Wake: 12, Sites: sites, Data: true}}},
		{"looks at the same variable", slices.Concat(waits(1, x, 0), waits(2, x, 0), signal, wakes(1), signal, wakes(2)), []lockout.Candidate{{Taken: 10, Wake: 12, Sites: sites}}},
		{"one at a time", slices.Concat(waits(1, 0, 0), signal, wakes(1), waits(2, 0, 0), signal, wakes(2)), nil},
		{"the second waits after the first signal", slices.Concat(waits(1, 0, 0), signal, waits(2, 0, 0), wakes(1), signal, wakes(2)), nil},
		{"the first is a broadcast", slices.Concat(both, broadcast, wakes(1), signal, wakes(2)), nil},
		{"the second is a broadcast", slices.Concat(both, signal, wakes(1), broadcast, wakes(2)), nil},
		{"a time limit", slices.Concat(waits(1, 0, event.Timed), waits(2, 0, 0), signal, wakes(1), signal, wakes(2)), nil},
		{"a time limit of the other", slices.Concat(waits(1, 0, 0), waits(2, 0, event.Timed), signal, wakes(1), signal, wakes(2)), nil},
		{"both signals in one section", slices.Concat(both, signal[:2], signal[1:], wakes(1), wakes(2)), nil},
		{"the other thread notifies too", slices.Concat(both, signal, wakes(1), signal, wakes(2), []event.Event{of(2, event.Signal, cond)}), nil},
		{"the first thread notifies too", slices.Concat(both, signal, wakes(1), []event.Event{of(1, event.Signal, cond)}, signal, wakes(2)), []lockout.Candidate{{Taken: 8, Wake: 10, Sites: sites}}},
		{"a wake by nobody", slices.Concat(both, wakes(1), signal, wakes(2)), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, _ := find(tt.run)
			all = slices.DeleteFunc(all, func(c lockout.Candidate) bool { return c.Taken == 0 })
			if diff := cmp.Diff(tt.want, all); diff != "" && len(all)+len(tt.want) > 0 {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
