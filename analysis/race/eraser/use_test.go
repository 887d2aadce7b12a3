package eraser

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// usesOf runs the analysis with Options.Uses and returns the uses.
func usesOf(events []event.Event) []run.Use {
	a := New(Options{Uses: true})
	for i := range events {
		a.Event(&events[i])
	}
	return a.Uses()
}

func TestUses(t *testing.T) {
	locked := func(th event.ThreadID, acquire event.Op, lock event.ObjectID, op event.Op) []event.Event {
		return []event.Event{at(th, acquire, lock, 1), at(th, op, x, 2), at(th, event.Release, lock, 3)}
	}
	join := func(parts ...[]event.Event) (all []event.Event) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	for name, c := range map[string]struct {
		events []event.Event
		want   run.Use
	}{
		"one thread": {
			[]event.Event{at(2, event.Write, x, 1), at(2, event.Read, x, 2)},
			run.Use{Threads: 1, Accesses: 2, Writes: 1, StableAccesses: 2, ThreadSwitches: 1},
		},
		"guarded": {
			join(locked(2, event.Acquire, l, event.Write), locked(3, event.Acquire, l, event.Write), locked(2, event.Acquire, l, event.Write)),
			run.Use{Threads: 2, Accesses: 3, Writes: 3, Conflicts: true, Guards: []event.ObjectID{l}, StableAccesses: 2, ThreadSwitches: 2},
		},
		"writers alone exclude": {
			join(locked(2, event.AcquireRead, l, event.Read), locked(3, event.Acquire, l, event.Write)),
			run.Use{Threads: 2, Accesses: 2, Writes: 1, Conflicts: true, Guards: []event.ObjectID{l}, StableAccesses: 1, ThreadSwitches: 1},
		},
		"another lock": {
			join(locked(2, event.Acquire, l, event.Write), locked(3, event.Acquire, m, event.Write)),
			run.Use{Threads: 2, Accesses: 2, Writes: 2, Conflicts: true, StableAccesses: 1, ThreadSwitches: 1},
		},
		"only read": {
			[]event.Event{at(2, event.Read, x, 1), at(3, event.Read, x, 2)},
			run.Use{Threads: 2, Accesses: 2, StableAccesses: 2, ThreadSwitches: 2},
		},
		"handed over": {
			[]event.Event{at(2, event.Write, x, 1), {Thread: 2, Op: event.End}, {Thread: 1, Op: event.Join, Peer: 2}, at(1, event.Write, x, 2)},
			run.Use{Threads: 2, Accesses: 2, Writes: 2, StableAccesses: 2, ThreadSwitches: 2},
		},
	} {
		c.want.Variable = x
		if diff := cmp.Diff([]run.Use{c.want}, usesOf(twoTasks(c.events...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
