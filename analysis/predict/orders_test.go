package predict

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestOrders: Orders names the event by which one event comes before another in every schedule.
func TestOrders(t *testing.T) {
	tests := []struct {
		name string
		run  func(f *feed) (a, b uint64)
		want event.Op
		by   event.ThreadID
	}{
		{"nothing", func(f *feed) (a, b uint64) { return f.nest(1, lockA), f.nest(2, lockA) }, event.None, 0},
		{"one thread", func(f *feed) (a, b uint64) { return f.nest(1, lockA), f.nest(1, lockA) }, event.None, 0},
		{"evicted", func(f *feed) (a, b uint64) { return 99, f.nest(1, lockA) }, event.None, 0},
		{"a value", func(f *feed) (a, b uint64) {
			a = f.nest(1, lockA)
			f.add(event.Event{Thread: 1, Op: event.Write, Object: varX})
			f.add(event.Event{Thread: 2, Op: event.Read, Object: varX})
			return a, f.nest(2, lockB)
		}, event.Read, 2},
		{"a value that knows of it", func(f *feed) (a, b uint64) {
			a = f.nest(1, lockA)
			f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 3})
			f.add(event.Event{Thread: 3, Op: event.Write, Object: varX})
			f.add(event.Event{Thread: 2, Op: event.Update, Object: varX})
			return a, f.nest(2, lockB)
		}, event.Update, 2},
		{"a value of somebody else, and a join", func(f *feed) (a, b uint64) {
			f.add(event.Event{Thread: 1, Op: event.Write, Object: varX})
			a = f.nest(2, lockA)
			f.add(event.Event{Thread: 2, Op: event.End})
			f.add(event.Event{Thread: 1, Op: event.Read, Object: varX})
			f.add(event.Event{Thread: 1, Op: event.Join, Peer: 2})
			return a, f.nest(1, lockB)
		}, event.Join, 1},
		{"a creation", func(f *feed) (a, b uint64) {
			a = f.nest(1, lockA)
			f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 3})
			return a, f.nest(3, lockB)
		}, event.Fork, 1},
		{"a join, and a thread in the slot of that which ended", func(f *feed) (a, b uint64) {
			a = f.nest(2, lockA)
			f.add(event.Event{Thread: 2, Op: event.End})
			f.add(event.Event{Thread: 1, Op: event.Join, Peer: 2})
			f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 3})
			return a, f.nest(3, lockB)
		}, event.Join, 1},
		{"a post", func(f *feed) (a, b uint64) {
			f.add(event.Event{Thread: 2, Op: event.Init, Object: theSem, Kind: event.KindSemaphore, Flags: event.HasValue})
			a = f.nest(1, lockA)
			f.add(event.Event{Thread: 1, Op: event.SemPost, Object: theSem, Kind: event.KindSemaphore})
			f.add(event.Event{Thread: 2, Op: event.SemWait, Object: theSem, Kind: event.KindSemaphore})
			return a, f.nest(2, lockB)
		}, event.SemWait, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFeed(Options{})
			f.add(event.Event{Thread: 1, Op: event.Fork, Peer: 2})
			f.add(event.Event{Thread: 2, Op: event.Begin})
			if got := f.h.Orders(tt.run(f)); got.Op != tt.want || got.Thread != tt.by {
				t.Errorf("%s by T%d, want %s by T%d", got.Op, got.Thread, tt.want, tt.by)
			}
		})
	}
}
