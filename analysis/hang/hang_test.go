package hang

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
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
	a := newAnalysis(nil)
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
	if len(got) != 1 || got[0].Confidence != finding.Potential || got[0].Reason.What != reason.Handlers {
		t.Errorf("%+v", got)
	}
}

// TestGoesOn checks that a hang whose threads go on is withdrawn, that one whose process ends is
// not, and that a wait with a time limit, which ends by itself, is not either.
func TestGoesOn(t *testing.T) {
	cycle := func(flags event.Flags) []event.Event {
		second := blockedAt(2, left, event.Attempt{Op: event.Acquire, Cycle: true})
		second.Flags |= flags
		return []event.Event{
			holdsLock(1, left), blockedAt(1, right, event.Attempt{Op: event.Acquire, Following: 1, Cycle: true}),
			holdsLock(2, right), second,
		}
	}
	all := func(op event.Op) []event.Event {
		return []event.Event{blockedAt(1, news, event.Attempt{Op: op, Following: 1}), blockedAt(2, news, event.Attempt{Op: op})}
	}
	joins := blockedAt(1, 0, event.Attempt{Op: event.Join})
	joins.Peer = 2
	for _, c := range []struct {
		name   string
		events []event.Event
		then   event.Event
		over   bool
	}{
		{"the lock is acquired", cycle(0), event.Event{Op: event.Acquire, Thread: 2, Object: left}, true},
		{"the attempt fails", cycle(0), event.Event{Op: event.AcquireFailed, Thread: 1, Object: right}, true},
		{"a handler takes another lock", cycle(0), event.Event{Op: event.Acquire, Thread: 2, Object: news}, false},
		{"another thread takes it", cycle(0), event.Event{Op: event.Acquire, Thread: 3, Object: left}, false},
		{"the process ends", cycle(0), event.Event{Op: event.End, Thread: 2, Flags: event.WithProcess}, false},
		{"the thread ends", cycle(0), event.Event{Op: event.End, Thread: 2}, true},
		{"an end that was deduced", cycle(0), event.Event{Op: event.End, Thread: 2, Flags: event.Inferred}, false},
		{"it is seen again", cycle(0), holdsLock(2, right), false},
		{"a time limit", cycle(event.Timed), event.Event{Op: event.AcquireFailed, Thread: 2, Object: left, Flags: event.TimedOut}, false},
		{"woken", all(event.Wait), event.Event{Op: event.Wake, Thread: 2, Object: news}, true},
		{"woken at another condition", all(event.Wait), event.Event{Op: event.Wake, Thread: 2, Object: left}, false},
		{"a post", all(event.SemWait), event.Event{Op: event.SemWait, Thread: 1, Object: news}, true},
		{"an arrival", all(event.BarrierArrive), event.Event{Op: event.BarrierDepart, Thread: 1, Object: news}, true},
		{"the end of another", []event.Event{joins}, event.Event{Op: event.Join, Thread: 1, Peer: 2}, true},
		{"the end of a third", []event.Event{joins}, event.Event{Op: event.Join, Thread: 1, Peer: 3}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			told := 0
			a := newAnalysis(func(*finding.Finding) { told++ })
			for i, e := range append(c.events, c.then) {
				e.Seq = uint64(i + 1)
				if i == len(c.events) && !a.wants(&e) && c.over {
					t.Fatal("the analysis does not want the event")
				}
				a.Event(&e)
			}
			left := 1
			if c.over {
				left = 0
			}
			if n := len(a.Finish()); n != left || a.wentOn() != 1-left || told != 1-left {
				t.Errorf("%d hangs, %d withdrawn, told %d times; want %d", n, a.wentOn(), told, left)
			}
			if len(a.findings()) != 1 {
				t.Errorf("%d hangs were found, want 1", len(a.findings()))
			}
		})
	}
}
