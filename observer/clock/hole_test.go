package clock

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestHole: the events of a thread after a hole have event.AfterHole; those of other threads, and
// of the thread that takes its slot afterwards, do not.
func TestHole(t *testing.T) {
	const lost = event.AfterHole
	m := New()
	for i, c := range []struct {
		e    event.Event
		want event.Flags
	}{
		{event.Event{Thread: 1, Op: event.Fork, Peer: 2}, 0},
		{event.Event{Thread: 2, Op: event.Begin}, 0},
		{event.Event{Thread: 2, Op: event.Hole, Value: 7, Flags: event.HasValue}, event.HasValue},
		{event.Event{Thread: 2, Op: event.Acquire, Object: 1, Flags: event.Try}, event.Try | lost},
		{event.Event{Thread: 1, Op: event.Acquire, Object: 2}, 0},
		{event.Event{Thread: 2, Op: event.Hole, Value: 1}, lost},
		{event.Event{Thread: 2, Op: event.End}, lost},
		{event.Event{Thread: 1, Op: event.Join, Peer: 2}, 0},
		{event.Event{Thread: 1, Op: event.Fork, Peer: 3}, 0},
		{event.Event{Thread: 3, Op: event.Begin}, 0},
	} {
		m.Stamp(&c.e)
		m.Done(&c.e)
		if c.e.Flags != c.want {
			t.Errorf("event %d, %s: flags %b, want %b", i, c.e.Op, c.e.Flags, c.want)
		}
	}
}
