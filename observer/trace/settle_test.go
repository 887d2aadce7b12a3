package trace

import (
	"io"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// listed is a source of events that are in memory.
type listed struct {
	events []event.Event
	sum    run.Summary
}

func (l *listed) Next(e *event.Event) error {
	if len(l.events) == 0 {
		return io.EOF
	}
	*e, l.events = l.events[0], l.events[1:]
	return nil
}

func (l *listed) Names() *run.Names { return nil }

func (l *listed) Summary() (run.Summary, bool) { return l.sum, true }

// settle returns the events of a run with its late accesses where they were made.
func settle(t rapid.TB, events []event.Event, sum run.Summary) ([]event.Event, *Settled) {
	s := Settle(&listed{events: events}, &listed{events: events, sum: sum})
	var out []event.Event
	for {
		var e event.Event
		if err := s.Next(&e); err == io.EOF {
			return out, s
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
}

// TestSettle checks that the events of each thread come by time, whatever accesses were recorded late;
// that nothing else changes its order; and which numbers the events have.
func TestSettle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var inTime, late, recorded []event.Event // Value tells events apart
		for i := range rapid.IntRange(0, 40).Draw(t, "events") {
			e := event.Event{Op: event.Write, Value: uint64(i), Time: uint64(i + 1), Thread: event.ThreadID(rapid.IntRange(1, 3).Draw(t, "thread"))}
			inTime = append(inTime, e)
			if rapid.Bool().Draw(t, "late") {
				e.Flags = event.Past
				late = append(late, e)
			} else {
				recorded = append(recorded, e)
			}
			for len(late) > 0 && rapid.Bool().Draw(t, "second thread comes") {
				n := rapid.IntRange(0, len(late)-1).Draw(t, "which")
				recorded, late = append(recorded, late[n]), slices.Delete(late, n, n+1)
			}
		}
		recorded = append(recorded, late...)
		for i := range recorded {
			recorded[i].Seq = uint64(i + 1)
		}
		got, s := settle(t, recorded, run.Summary{})
		for thread := range event.ThreadID(4) {
			if of, want := values(got, thread), values(inTime, thread); !slices.Equal(of, want) {
				t.Fatalf("thread %d: events %v, want %v", thread, of, want)
			}
		}
		var before []uint64
		for i, e := range got {
			if e.Seq != uint64(i+1) || e.Flags != 0 {
				t.Fatalf("event %d has number %d, flags %d", i+1, e.Seq, e.Flags)
			}
		}
		for _, e := range recorded {
			if e.Flags&event.Past != 0 {
				continue
			}
			at := s.Number(e.Seq)
			if at < 1 || at > uint64(len(got)) || got[at-1].Value != e.Value {
				t.Fatalf("event %d has number %d among %v", e.Seq, at, got)
			}
			before = append(before, at)
		}
		if !slices.IsSorted(before) {
			t.Fatalf("events that were recorded in time change their order: %v", before)
		}
	})
}

// values returns the values of a thread's events.
func values(events []event.Event, thread event.ThreadID) (out []uint64) {
	for _, e := range events {
		if e.Thread == thread {
			out = append(out, e.Value)
		}
	}
	return out
}

// TestSettleBegin checks that no access comes before the begin of its thread, which is inferred at the
// thread's first record and may be later than an access.
func TestSettleBegin(t *testing.T) {
	got, s := settle(t, []event.Event{
		{Seq: 1, Op: event.Begin, Thread: 1, Time: 10},
		{Seq: 2, Op: event.Acquire, Thread: 1, Time: 20},
		{Seq: 3, Op: event.Write, Thread: 1, Time: 5, Flags: event.Past},
	}, run.Summary{Untracked: []run.Untracked{{After: 2}}})
	if ops := []event.Op{got[0].Op, got[1].Op, got[2].Op}; !slices.Equal(ops, []event.Op{event.Begin, event.Write, event.Acquire}) {
		t.Errorf("events %v", ops)
	}
	if sum, whole := s.Summary(); !whole || sum.Untracked[0].After != 3 {
		t.Errorf("summary %+v, whole %t; want event 3", sum, whole)
	}
}

// TestSettleLocks checks that the accesses of a variable that the run used as a lock are events of a lock, which numbers
// the events then have, and that those of other variables stay.
func TestSettleLocks(t *testing.T) {
	at := func(thread event.ThreadID, object event.ObjectID, op event.Op, value uint64, flags event.Flags) event.Event {
		return event.Event{Thread: thread, Object: object, Kind: event.KindVariable, Op: op, Value: value, Flags: flags | event.Atomic | event.HasValue, Stack: 1}
	}
	const takes = event.Takes | event.Repeated
	events := []event.Event{
		at(1, 1, event.Write, 0, 0),
		at(1, 1, event.Update, 1, takes),
		at(2, 1, event.Read, 1, event.Repeated),
		at(1, 2, event.Update, 1, takes),
		at(1, 1, event.Write, 0, 0),
		at(2, 1, event.Read, 0, 0),
		at(2, 1, event.Update, 1, takes),
		at(2, 1, event.Write, 0, 0),
	}
	for i := range events {
		events[i].Seq, events[i].Time = uint64(i+1), uint64(i+1)
	}
	got, s := settle(t, events, run.Summary{})
	var ops []event.Op
	for i, e := range got {
		if e.Seq != uint64(i+1) {
			t.Errorf("event %d has number %d", i+1, e.Seq)
		}
		ops = append(ops, e.Op)
	}
	want := []event.Op{event.Write, event.Read, event.Acquire, event.Update, event.Release, event.Read, event.Acquire, event.Release, event.Acquire, event.Release}
	if !slices.Equal(ops, want) {
		t.Errorf("events %v, want %v", ops, want)
	}
	for seq, want := range map[uint64]uint64{1: 1, 2: 3, 4: 4, 5: 5, 6: 8, 7: 9, 8: 10} {
		if got := s.Number(seq); got != want {
			t.Errorf("event %d has number %d, want %d", seq, got, want)
		}
	}
	if locks := s.Locks(); len(locks) != 1 || !locks[1] {
		t.Errorf("locks %v", locks)
	}
	if at, ok := s.Lock(1); !ok || at != 1 {
		t.Errorf("lock 1 was initialised at %d, %v", at, ok)
	}
}

// TestSettleWider checks that a past read which is wider than its variable, because that was divided then, marks the reads of
// this variable that were recorded before, and nothing else.
func TestSettleWider(t *testing.T) {
	const divided, other = 1, 2
	got, _ := settle(t, []event.Event{
		{Seq: 1, Op: event.Read, Thread: 1, Object: divided, Time: 10, Value: 1},
		{Seq: 2, Op: event.Read, Thread: 1, Object: other, Time: 20, Value: 2},
		{Seq: 3, Op: event.Write, Thread: 1, Object: divided, Time: 30, Value: 3},
		{Seq: 4, Op: event.Read, Thread: 2, Object: divided, Time: 15, Value: 4, Flags: event.Past},
		{Seq: 5, Op: event.Read, Thread: 1, Object: divided, Time: 10, Value: 5, Flags: event.Past | event.Wider},
		{Seq: 6, Op: event.Read, Thread: 2, Object: divided, Time: 12, Value: 6, Flags: event.Past},
		{Seq: 7, Op: event.Read, Thread: 1, Object: divided, Time: 40, Value: 7},
	}, run.Summary{})
	wider := map[uint64]bool{}
	for _, e := range got {
		wider[e.Value] = e.Flags&event.Wider != 0
	}
	if want := map[uint64]bool{1: true, 2: false, 3: false, 4: true, 5: true, 6: false, 7: false}; !maps.Equal(wider, want) {
		t.Errorf("by value: %v, want %v", wider, want)
	}
}
