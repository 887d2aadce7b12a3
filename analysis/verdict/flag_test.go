package verdict

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// log is a Record of events.
type log struct {
	someStacks
	events []event.Event
}

func (l log) Kept(yield func(*event.Event) bool) {
	for i := range l.events {
		if !yield(&l.events[i]) {
			return
		}
	}
}

// TestHandOvers checks when a variable that races is used as a flag.
func TestHandOvers(t *testing.T) {
	const flag, data, lock, wrong = 1, 2, 3, 4
	of := func(thread event.ThreadID, op event.Op, o event.ObjectID, value ...uint64) event.Event {
		e := event.Event{Thread: thread, Op: op, Object: o, Stack: event.StackID(10*thread) + event.StackID(o)}
		for _, v := range value {
			e.Value, e.Flags = v, event.HasValue
		}
		return e
	}
	fills, stores, looks, uses := of(2, event.Write, data), of(2, event.Write, flag), of(3, event.Read, flag), of(3, event.Read, data)
	locks := func(t event.ThreadID) event.Event { return of(t, event.Acquire, lock) }
	unlocks := func(t event.ThreadID) event.Event { return of(t, event.Release, lock) }
	for _, c := range []struct {
		name   string
		events []event.Event
		want   bool
	}{
		{"handed over", []event.Event{fills, stores, looks, uses}, true},
		{"stored first", []event.Event{stores, fills, looks, uses}, false},
		{"used first", []event.Event{uses, fills, stores, looks}, false},
		{"only read", []event.Event{of(2, event.Read, data), stores, looks, uses}, false},
		{"read, and written then", []event.Event{of(2, event.Read, data), stores, looks, of(3, event.Write, data)}, true},
		{"guarded", []event.Event{locks(2), fills, unlocks(2), stores, looks, locks(3), uses, unlocks(3)}, false},
		{"guarded on one side", []event.Event{locks(2), fills, unlocks(2), stores, looks, uses}, true},
		{"other data", []event.Event{of(2, event.Write, 9), stores, looks, uses}, false},
		{"racing data", []event.Event{of(2, event.Write, wrong), stores, looks, of(3, event.Read, wrong)}, false},
		{"counted by both", []event.Event{fills, stores, looks, of(3, event.Write, flag), uses}, false},
		{"an update in between", []event.Event{fills, stores, of(4, event.Update, flag), looks, uses}, false},
		{"another value seen", []event.Event{fills, of(2, event.Write, flag, 1), of(3, event.Read, flag, 0), uses}, false},
		{"the value seen", []event.Event{fills, of(2, event.Write, flag, 1), of(3, event.Read, flag, 1), uses}, true},
		{"no change", []event.Event{of(2, event.Write, flag, 1), fills, of(2, event.Write, flag, 1), of(3, event.Read, flag, 1), uses}, false},
		{"a post before the store", []event.Event{fills, of(2, event.SemPost, 5), stores, looks, uses}, false},
		{"a wait behind the load", []event.Event{fills, stores, looks, of(3, event.SemWait, 5), uses}, false},
	} {
		races := []finding.Finding{
			{Kind: finding.Race, Confidence: finding.Observed, Objects: []event.ObjectID{flag}},
			{Kind: finding.Race, Confidence: finding.Observed, Objects: []event.ObjectID{wrong}},
		}
		got := handOvers(log{events: c.events}, races)[flag]
		if len(got) > 0 != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
		if c.name == "handed over" && got[0] != (handOver{writer: 2, reader: 3, read: 31, data: data, at: 32}) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
