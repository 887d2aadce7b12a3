package hang

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

const (
	left event.ObjectID = iota + 1
	right
	news
)

func holdsLock(t event.ThreadID, o event.ObjectID) event.Event {
	return event.Event{Op: event.Holds, Thread: t, Object: o, Kind: event.KindMutex, Stack: event.StackID(10*uint32(t) + uint32(o)), Value: uint64(event.Acquire), Flags: event.HasValue}
}

func holdsToRead(t event.ThreadID, o event.ObjectID) event.Event {
	e := holdsLock(t, o)
	e.Value = uint64(event.AcquireRead)
	return e
}

func blockedAt(t event.ThreadID, o event.ObjectID, a event.Attempt) event.Event {
	return event.Event{Op: event.Blocked, Thread: t, Object: o, Value: a.Value(), Flags: event.HasValue}
}

func analyse(events ...event.Event) []finding.Finding {
	a := New()
	for i := range events {
		events[i].Seq = uint64(i + 1)
		a.Event(&events[i])
	}
	return a.Finish()
}

func TestCycle(t *testing.T) {
	got := analyse(
		holdsLock(1, left), blockedAt(1, right, event.Attempt{Op: event.Acquire, Following: 1, Cycle: true}),
		holdsLock(2, right), holdsToRead(2, left+10), blockedAt(2, left, event.Attempt{Op: event.AcquireRead, Cycle: true}),
		holdsLock(3, left), blockedAt(3, left, event.Attempt{Op: event.Acquire, Cycle: true}),
	)
	want := []finding.Finding{{
		Kind: finding.Deadlock, Confidence: finding.Observed, Objects: []event.ObjectID{right, left}, Threads: []event.ThreadID{1, 2}, Count: 1,
		Evidence: []finding.Step{
			{Seq: 2, Thread: 1, Op: event.Acquire, Object: right, Held: []event.ObjectID{left}, HeldAt: []event.StackID{11}, Blocked: true},
			{Seq: 5, Thread: 2, Op: event.AcquireRead, Object: left, Held: []event.ObjectID{right, left + 10}, HeldAt: []event.StackID{22, 31}, HeldRead: 2, Blocked: true},
		},
	}, {
		Kind: finding.Misuse, Rule: finding.Relock, Confidence: finding.Observed, Objects: []event.ObjectID{left}, Threads: []event.ThreadID{3}, Count: 1,
		Evidence: []finding.Step{{Seq: 7, Thread: 3, Op: event.Acquire, Object: left, Held: []event.ObjectID{left}, HeldAt: []event.StackID{31}, Blocked: true}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLostSignals checks that the signals reported as lost are those for which no thread waited.
func TestLostSignals(t *testing.T) {
	signal := func(t event.ThreadID) event.Event {
		return event.Event{Op: event.Signal, Thread: t, Object: news}
	}
	waits := event.Event{Op: event.Wait, Thread: 1, Object: news, Object2: left}
	wakes := event.Event{Op: event.Wake, Thread: 1, Object: news, Object2: left}
	end := blockedAt(1, news, event.Attempt{Op: event.Wait})
	for _, c := range []struct {
		name   string
		events []event.Event
		lost   event.ThreadID
	}{
		{"lost", []event.Event{signal(2), waits, end}, 2},
		{"heard", []event.Event{waits, signal(2), wakes, waits, end}, 0},
		{"the last", []event.Event{signal(3), signal(2), waits, end}, 2},
		{"of an earlier condition", []event.Event{signal(2), {Op: event.Destroy, Thread: 2, Object: news}, waits, end}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := analyse(c.events...)
			if len(got) != 1 || !got[0].NoCycle || got[0].Confidence != finding.Observed {
				t.Fatalf("%+v", got)
			}
			var lost event.ThreadID
			for _, s := range got[0].Lost {
				lost = s.Thread
			}
			if lost != c.lost {
				t.Errorf("lost a signal of T%d, want T%d", lost, c.lost)
			}
		})
	}
}

func TestHandlersMakeItPotential(t *testing.T) {
	got := analyse(blockedAt(1, news, event.Attempt{Op: event.Wait, Handlers: true}))
	if len(got) != 1 || got[0].Confidence != finding.Potential || got[0].Reason == "" {
		t.Errorf("%+v", got)
	}
}
