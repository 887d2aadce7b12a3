package engine_test

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/misuse"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestDestroyUnordered checks that the destroy of a lock is a finding if and only if nothing in the run
// orders it after another thread's last use of the lock.
func TestDestroyUnordered(t *testing.T) {
	const lock, other, sem = 1, 2, 3
	section := func(thread event.ThreadID, o event.ObjectID) []event.Event {
		return []event.Event{
			{Op: event.Acquire, Kind: event.KindMutex, Thread: thread, Object: o, Stack: event.StackID(thread)},
			{Op: event.Release, Kind: event.KindMutex, Thread: thread, Object: o},
		}
	}
	one := func(e event.Event) []event.Event { return []event.Event{e} }
	destroy := event.Event{Op: event.Destroy, Kind: event.KindMutex, Thread: 1, Object: lock, Stack: 9}
	freed := destroy
	freed.Flags = event.Inferred
	end := one(event.Event{Op: event.End, Thread: 2})
	never, always := func(*finding.Finding) bool { return false }, func(*finding.Finding) bool { return true }
	for _, c := range []struct {
		name    string
		parts   [][]event.Event
		unseen  func(*finding.Finding) bool
		options misuse.Options
		want    int
	}{
		{name: "nothing orders them", parts: [][]event.Event{section(2, lock), end, one(destroy)}, unseen: never, want: 1},
		{name: "the thread lives on", parts: [][]event.Event{section(2, lock), one(destroy)}, unseen: never, want: 1},
		{name: "joined", parts: [][]event.Event{section(2, lock), end, one(event.Event{Op: event.Join, Thread: 1, Peer: 2}), one(destroy)}, unseen: never},
		{name: "the lock was acquired since", parts: [][]event.Event{section(2, lock), section(1, lock), one(destroy)}, unseen: never},
		{name: "another lock was passed on", parts: [][]event.Event{section(2, lock), section(2, other), section(1, other), one(destroy)}, unseen: never},
		{name: "another lock was passed on before", parts: [][]event.Event{section(2, other), section(1, other), section(2, lock), one(destroy)}, unseen: never, want: 1},
		{name: "a post was waited for", parts: [][]event.Event{section(2, lock), one(event.Event{Op: event.SemPost, Kind: event.KindSemaphore, Thread: 2, Object: sem}),
			one(event.Event{Op: event.SemWait, Kind: event.KindSemaphore, Thread: 1, Object: sem}), one(destroy)}, unseen: never},
		{name: "used by the destroying thread alone", parts: [][]event.Event{section(1, lock), one(destroy)}, unseen: never},
		{name: "its memory ends", parts: [][]event.Event{section(2, lock), one(freed)}, unseen: never},
		{name: "events were lost", parts: [][]event.Event{section(2, lock), one(event.Event{Op: event.Hole, Thread: 2}), one(destroy)}, unseen: never},
		{name: "perhaps synchronised unseen", parts: [][]event.Event{section(2, lock), one(destroy)}, unseen: always},
		{name: "not known whether synchronised unseen", parts: [][]event.Event{section(2, lock), one(destroy)}},
		{name: "the rule is off", parts: [][]event.Event{section(2, lock), one(destroy)}, unseen: never, options: misuse.Options{Except: []finding.Rule{finding.DestroyUnordered}}},
		{name: "all rules are off", parts: [][]event.Event{section(2, lock), one(destroy)}, unseen: never, options: misuse.Options{Off: true}},
	} {
		events := slices.Concat([]event.Event{{Op: event.Begin, Thread: 1}, {Op: event.Fork, Thread: 1, Peer: 2}, {Op: event.Begin, Thread: 2}}, slices.Concat(c.parts...))
		s := engine.New(engine.Options{Misuse: c.options})
		stampInto(s, events)
		got := 0
		for _, f := range finish(s, verdict.Run{}, part.Known{Unseen: c.unseen}) {
			if f.Rule != finding.DestroyUnordered {
				continue
			}
			got++
			if f.Confidence != finding.Likely || f.Evidence[0].Stack != 9 || f.Evidence[1].Stack != 2 {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		if got != c.want {
			t.Errorf("%s: %d findings, want %d", c.name, got, c.want)
		}
	}
}
