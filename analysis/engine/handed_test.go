package engine_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestHandedUnseen checks what is said of an item that one thread fills, and whose address it puts into a slot under
// a lock, from where another thread takes it: it is no race if both are recorded. If the write is not, it is
// potential, whatever the second thread does with the address.
func TestHandedUnseen(t *testing.T) {
	const lock, item, slot, own, lo, hi = 1, 2, 3, 4, 0x10000, 0x10040
	none := func(*finding.Finding) reason.Reason { return reason.Reason{} }
	block := func(event.ObjectID) (uint64, uint64) { return lo, hi }
	of := func(t event.ThreadID, op event.Op, o event.ObjectID, value uint64) event.Event {
		return event.Event{Thread: t, Op: op, Object: o, Kind: event.KindVariable, Value: value, Flags: event.HasValue, Stack: event.StackID(o)}
	}
	fill, put, take, use := of(2, event.Write, item, 1), of(2, event.Write, slot, lo+8), of(3, event.Read, slot, lo+8), of(3, event.Read, item, 1)
	elsewhere := of(3, event.Read, slot, hi)
	for _, c := range []struct {
		name           string
		push, pop      []event.Event // in the critical sections
		before, behind []event.Event // of the second thread, and of the third one
		block          func(event.ObjectID) (uint64, uint64)
		want           []string
	}{
		{"all is recorded", []event.Event{put}, []event.Event{take}, []event.Event{fill}, []event.Event{use}, block, nil},
		{"the write is not", nil, []event.Event{take}, []event.Event{fill}, []event.Event{use}, block, []string{"potential race"}},
		{"it is stored and read again", nil, []event.Event{take, of(3, event.Write, own, lo+8)}, []event.Event{fill}, []event.Event{of(3, event.Read, own, lo+8), use}, block, []string{"potential race"}},
		{"another value is not written", nil, []event.Event{elsewhere}, []event.Event{fill}, []event.Event{use}, block, []string{"predicted race"}},
		{"no address is read", nil, nil, []event.Event{fill}, []event.Event{use}, block, []string{"predicted race"}},
		{"no block is known", nil, []event.Event{take}, []event.Event{fill}, []event.Event{use}, nil, []string{"predicted race"}},
	} {
		events := []event.Event{
			{Op: event.Begin, Thread: 1}, {Op: event.Fork, Thread: 1, Peer: 2}, {Op: event.Fork, Thread: 1, Peer: 3},
			{Op: event.Begin, Thread: 2}, {Op: event.Begin, Thread: 3},
		}
		section := func(t event.ThreadID, within []event.Event) []event.Event {
			acquire := event.Event{Op: event.Acquire, Kind: event.KindMutex, Thread: t, Object: lock, Stack: 5}
			release := event.Event{Op: event.Release, Kind: event.KindMutex, Thread: t, Object: lock, Stack: 6}
			return slices.Concat([]event.Event{acquire}, within, []event.Event{release})
		}
		events = slices.Concat(events, c.before, section(2, c.push), section(3, c.pop), c.behind)
		s := engine.New(engine.Options{})
		stampInto(s, events)
		if diff := cmp.Diff(c.want, brief(finish(s, verdict.Run{Doubt: none}, part.Known{Block: c.block}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
