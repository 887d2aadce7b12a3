package predict

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestNotificationAfterWait: in a schedule with reversals, a notification comes after the wait
// that it ends in the run, also where it might have ended another wait. Where the schedule ends
// before the wake, it may come first.
func TestNotificationAfterWait(t *testing.T) {
	const condition, x = 30, 31
	for _, c := range []struct {
		name      string
		readFirst bool // thread 2 reads before its wait, not after the wake
	}{
		{name: "wake is needed"},
		{name: "wake is not needed", readFirst: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFeed(Options{})
			add := func(thread event.ThreadID, op event.Op, object event.ObjectID) uint64 {
				return f.add(event.Event{Thread: thread, Op: op, Object: object})
			}
			for peer := event.ThreadID(2); peer <= 4; peer++ {
				f.add(event.Event{Thread: 1, Op: event.Fork, Peer: peer})
			}
			add(3, event.Wait, condition)
			add(4, event.Acquire, lockA)
			write := add(4, event.Write, x)
			add(4, event.Release, lockA)
			f.nest(2, lockA)
			read := uint64(0)
			if c.readFirst {
				read = add(2, event.Read, x)
			}
			add(2, event.Wait, condition)
			add(1, event.Signal, condition)
			add(2, event.Wake, condition)
			if !c.readFirst {
				read = add(2, event.Read, x)
			}
			r := f.h.Race(write, read)
			if r.Verdict != Predicted || r.Order != finding.OrderReversal {
				t.Fatalf("%v, %s: %s", r.Verdict, r.Order, r.Reason)
			}
			begin, notified := 0, 0
			for i, s := range r.Witness {
				switch {
				case s.Op == event.Wait && s.Thread == 2:
					begin = i + 1
				case s.Op == event.Signal:
					notified = i + 1
				}
			}
			if !c.readFirst && (begin == 0 || notified < begin) {
				t.Errorf("the signal is step %d, the wait step %d: %v", notified, begin, r.Witness)
			}
		})
	}
}
