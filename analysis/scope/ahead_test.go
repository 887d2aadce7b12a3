package scope

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestPredictedFarAndBegins: an event that was observed some regions later may come before an action, and a thread may begin
// on its other side, or get its name there; where something orders them, nothing is predicted.
func TestPredictedFarAndBegins(t *testing.T) {
	do := func(id event.ThreadID, op event.Op, object event.ObjectID) event.Event {
		return event.Event{Thread: id, Op: op, Object: object, Kind: event.KindMutex}
	}
	const lock, other = 1, 2
	act := []event.Event{do(1, event.Acquire, lock), do(1, event.Release, lock)}
	fork := []event.Event{{Thread: 1, Op: event.Fork, Peer: 2}}
	begin := []event.Event{{Thread: 2, Op: event.Begin, Peer: 1}}
	call := func(id event.ThreadID) []event.Event { return []event.Event{do(id, event.Call, 0)} }
	use := func(id event.ThreadID) []event.Event {
		return []event.Event{do(id, event.Acquire, other), do(id, event.Release, other)}
	}
	name := func(id, by event.ThreadID) []event.Event {
		return []event.Event{{Thread: id, Op: event.Named, Peer: by}}
	}
	for _, c := range []struct {
		what, check string
		run         [][]event.Event
		predicted   bool
		left        uint64
	}{
		{"an event three regions later", "always !(first && second)", [][]event.Event{fork, begin, act, call(1), act, act, act, call(2), act}, true, 0},
		{"that comes after the action", "always !(first && second)", [][]event.Event{fork, begin, act, call(1), act, use(1), act, act, use(2), call(2), act}, false, 0},
		{"an event four regions later", "always !(first && second)", [][]event.Event{fork, begin, act, call(1), act, act, act, act, call(2), act}, false, 0},
		{"a thread that begins later", "always !(first && one)", [][]event.Event{act, fork, begin, call(1), act, act}, true, 0},
		{"that the action comes after", "always !(first && one)", [][]event.Event{act, fork, begin, use(2), use(1), call(1), act, act}, false, 0},
		{"a thread that begins earlier", "always !(first && two)", [][]event.Event{act, fork, call(1), act, begin, act}, true, 0},
		{"that comes after the action", "always !(first && two)", [][]event.Event{act, call(1), act, fork, begin, act}, false, 0},
		{"a name that it has earlier", "always !(first && worker)", [][]event.Event{fork, begin, act, call(1), act, name(2, 2), act}, true, 0},
		{"that comes after the action", "always !(first && worker)", [][]event.Event{fork, begin, act, call(1), act, use(1), use(2), name(2, 2), act}, false, 0},
		{"that another thread gives", "always !(first && worker)", [][]event.Event{fork, begin, act, call(1), act, name(2, 0), act, act, act}, false, 2},
		{"a name that it has later", "always (first -> worker)", [][]event.Event{fork, begin, act, name(2, 2), call(1), act, act}, true, 0},
		{"that comes before the event", "always (first -> worker)", [][]event.Event{fork, begin, act, name(2, 2), use(2), use(1), call(1), act, act}, false, 0},
		{"a name that it begins with", "always !(second && worker)", [][]event.Event{act, fork, begin, call(2), act, name(2, 2), act}, true, 0},
		{"the event of the worker alone", "always !done", [][]event.Event{act, fork, begin, call(2), act, name(2, 2), act}, false, 0},
		{"with an event behind it", "always !(first && done)", [][]event.Event{act, fork, begin, call(1), act, name(2, 2), call(2), act}, true, 0},
	} {
		names := named{}
		s := &Scope{
			Name: "s", Sync: isAction, Types: []Type{
				{Name: "all", Has: func(event.ThreadID) bool { return true }},
				{Name: "main", Has: func(id event.ThreadID) bool { return id == 1 }}, {Name: "other", Has: func(id event.ThreadID) bool { return id == 2 }},
				{Name: "worker", Has: names.of(func(event.ThreadID) bool { return false })},
			},
			Locals: []Local{
				{Name: "p", Type: 1, Events: []uint64{isA}, Formula: formula(t, "F a", []string{"a"})},
				{Name: "q", Type: 2, Events: []uint64{isA}, Formula: formula(t, "F a", []string{"a"})},
				{Name: "r", Type: 3, Events: []uint64{isA}, Formula: formula(t, "F a", []string{"a"})},
			},
			Atoms: []Atom{
				{Name: "first", Holds: func(c *Counts) bool { return c.Of(0, True) > 0 }}, {Name: "second", Holds: func(c *Counts) bool { return c.Of(1, True) > 0 }},
				{Name: "one", Holds: func(c *Counts) bool { return c.Size(0) == 1 }}, {Name: "two", Holds: func(c *Counts) bool { return c.Size(0) == 2 }},
				{Name: "worker", Holds: func(c *Counts) bool { return c.Size(3) > 0 }}, {Name: "done", Holds: func(c *Counts) bool { return c.Of(2, True) > 0 }},
			},
		}
		s.Checks = []Check{{Text: c.check, Formula: formula(t, c.check, []string{"first", "second", "one", "two", "worker", "done"})}}
		var run []event.Event
		var declared []uint64
		for _, part := range c.run {
			for _, e := range part {
				e.Seq = uint64(len(run) + 1)
				mask := uint64(0)
				switch {
				case e.Op == event.Acquire && e.Object == lock:
					mask = isAction
				case e.Op == event.Call:
					mask = isA
				}
				run, declared = append(run, e), append(declared, mask)
			}
		}
		o := ordered{run: run, order: orderOf(run, edges{locks: true, forks: true}), names: names}
		m := New(Options{Scope: s, History: o})
		names.pass(m, run, declared)
		found := m.Finish()
		if (len(found) == 1 && found[0].Confidence == finding.Predicted) != c.predicted || len(found) > 1 || m.Searched().Left != c.left {
			t.Errorf("%s, %s: %+v, %+v", c.what, c.check, found, m.Searched())
			continue
		}
		for i := range found {
			checkPredicted(t, 0, s, o, declared, &found[i])
		}
	}
}
