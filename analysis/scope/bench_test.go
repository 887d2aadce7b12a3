package scope

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// BenchmarkRegions measures an event of a run of 64 readers and a writer, with some 200 events a region.
func BenchmarkRegions(b *testing.B) {
	const readers = 64
	f := formulaOf(b, "F a", []string{"a"})
	s := &Scope{
		Name: "s", Sync: isAction,
		Types:  []Type{{Name: "reader", Has: func(id event.ThreadID) bool { return id > 1 }}, {Name: "writer", Has: func(id event.ThreadID) bool { return id == 1 }}},
		Locals: []Local{{Name: "p", Type: 0, Events: []uint64{isA}, Formula: f}, {Name: "q", Type: 1, Events: []uint64{isB}, Formula: f}},
		Atoms:  []Atom{{Name: "all", Holds: func(c *Counts) bool { return c.Of(0, True) == c.Size(0) }}, {Name: "some", Holds: func(c *Counts) bool { return c.Of(0, True) > 0 }}},
		Checks: []Check{{Text: "always (some -> all)", Formula: formulaOf(b, "always (some -> all)", []string{"all", "some"})}},
	}
	var run []event.Event
	var declared []uint64
	add := func(e event.Event, d uint64) { run, declared = append(run, e), append(declared, d) }
	add(event.Event{Thread: 1, Op: event.Acquire, Object: 1}, isAction)
	add(event.Event{Thread: 1, Op: event.Call}, isB)
	add(event.Event{Thread: 1, Op: event.Release, Object: 1}, 0)
	add(event.Event{Thread: 2, Op: event.Acquire, Object: 1}, isAction)
	for id := event.ThreadID(2); id < 2+readers; id++ {
		add(event.Event{Thread: id, Op: event.Acquire, Object: 2}, 0)
		add(event.Event{Thread: id, Op: event.Call}, isA)
		add(event.Event{Thread: id, Op: event.Release, Object: 2}, 0)
	}
	add(event.Event{Thread: 2, Op: event.Acquire, Object: 2}, 0)
	add(event.Event{Thread: 2, Op: event.Release, Object: 2}, 0)
	add(event.Event{Thread: 2, Op: event.Release, Object: 1}, 0)
	m := New(Options{Scope: s})
	b.ReportAllocs()
	for i := range b.N {
		m.Event(&run[i%len(run)], declared[i%len(run)])
	}
}
