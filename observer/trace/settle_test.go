package trace

import (
	"io"
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
