package eraser

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// twoTasks returns a run of main, thread 1, which creates threads 2 and 3, followed by the body,
// stamped with clocks.
func twoTasks(body ...event.Event) []event.Event {
	events := append([]event.Event{
		{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 1, Op: event.Fork, Peer: 3},
		{Thread: 2, Op: event.Begin}, {Thread: 3, Op: event.Begin},
	}, body...)
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	eventtest.Stamp(events)
	return events
}

const (
	x event.ObjectID = 7
	l event.ObjectID = 8
	m event.ObjectID = 9
)

func at(t event.ThreadID, op event.Op, o event.ObjectID, p event.StackID) event.Event {
	return event.Event{Thread: t, Op: op, Object: o, Stack: p}
}

func TestFinding(t *testing.T) {
	write := at(3, event.Write, x, 31)
	write.Value, write.Time, write.Flags = 5, 99, event.HasValue
	got := analyse(Options{}, twoTasks(
		at(2, event.Acquire, m, 20), at(2, event.Acquire, l, 21), at(2, event.Read, x, 22),
		at(2, event.Release, m, 23), at(2, event.Release, l, 24),
		at(3, event.AcquireRead, l, 30), write, write, at(3, event.Release, l, 32),
		at(2, event.Write, x, 25),
		at(3, event.AcquireRead, l, 30), write, at(3, event.Release, l, 32),
	)).Finish()
	want := []finding.Finding{{
		Kind: finding.Race, Confidence: finding.Potential, Objects: []event.ObjectID{x},
		Threads: []event.ThreadID{3, 2},
		Evidence: []finding.Step{
			{Seq: 12, Time: 99, Thread: 3, Op: event.Write, Flags: event.HasValue, Object: x, Stack: 31, Value: 5,
				Held: []event.ObjectID{l}, HeldAt: []event.StackID{30}},
			{Seq: 14, Thread: 2, Op: event.Write, Object: x, Stack: 25},
		},
		Count: 2,
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestProtection checks which locks, in which modes, protect which accesses.
func TestProtection(t *testing.T) {
	atomic := func(e event.Event) event.Event { e.Flags |= event.Atomic; return e }
	under := func(t event.ThreadID, mode event.Op, lock event.ObjectID, e event.Event) []event.Event {
		return []event.Event{at(t, mode, lock, 1), e, at(t, event.Release, lock, 1)}
	}
	const acq, racq = event.Acquire, event.AcquireRead
	tests := map[string]struct {
		a, b []event.Event
		want int
	}{
		"two writes under one lock":       {under(2, acq, l, at(2, event.Write, x, 1)), under(3, acq, l, at(3, event.Write, x, 2)), 0},
		"two writes under two locks":      {under(2, acq, l, at(2, event.Write, x, 1)), under(3, acq, m, at(3, event.Write, x, 2)), 1},
		"read and write, modes fit":       {under(2, racq, l, at(2, event.Read, x, 1)), under(3, acq, l, at(3, event.Write, x, 2)), 0},
		"write under a read lock, reader": {under(2, racq, l, at(2, event.Write, x, 1)), under(3, racq, l, at(3, event.Read, x, 2)), 1},
		"two writes under read locks":     {under(2, racq, l, at(2, event.Write, x, 1)), under(3, racq, l, at(3, event.Write, x, 2)), 1},
		"two reads":                       {under(2, racq, l, at(2, event.Read, x, 1)), []event.Event{at(3, event.Read, x, 2)}, 0},
		"two atomics":                     {[]event.Event{atomic(at(2, event.Update, x, 1))}, []event.Event{atomic(at(3, event.Update, x, 2))}, 0},
		"one atomic":                      {[]event.Event{atomic(at(2, event.Update, x, 1))}, []event.Event{at(3, event.Write, x, 2)}, 1},
		"one thread":                      {[]event.Event{at(2, event.Write, x, 1)}, []event.Event{at(2, event.Write, x, 2)}, 0},
		"ordered by the fork":             {nil, []event.Event{at(1, event.Write, x, 1), {Thread: 1, Op: event.Fork, Peer: 4}, {Thread: 4, Op: event.Begin}, at(4, event.Write, x, 2)}, 0},
	}
	for name, tc := range tests {
		events := twoTasks(append(tc.a, tc.b...)...)
		if got := analyse(Options{EveryPair: true}, events).Finish(); len(got) != tc.want {
			t.Errorf("%s: %d findings, want %d: %+v", name, len(got), tc.want, got)
		}
	}
}

// TestLifetime checks that the state of a destroyed variable is dropped and its findings are kept.
func TestLifetime(t *testing.T) {
	events := twoTasks(
		at(2, event.Write, x, 1), at(3, event.Write, x, 2), at(1, event.Destroy, x, 3),
		at(2, event.Write, x+100, 1),
	)
	a := analyse(Options{}, events)
	if s := a.Stats(); s.Variables != 1 {
		t.Errorf("%d variables in memory, want 1", s.Variables)
	}
	if f := a.Finish(); len(f) != 1 || f[0].Objects[0] != x {
		t.Errorf("findings %+v, want the race of the destroyed variable", f)
	}
}

// TestBounds checks that what is discarded because of a bound is counted.
func TestBounds(t *testing.T) {
	var body []event.Event
	for p := event.StackID(1); p <= 10; p++ {
		body = append(body, at(2, event.Write, x, p), at(3, event.Write, x, 100+p))
	}
	a := analyse(Options{History: 4, MaxPairs: 5}, twoTasks(body...))
	s := a.Stats()
	if n := len(a.vars[x].accesses); n != 4 || s.EvictedAccesses != 16 {
		t.Errorf("%d accesses kept, %d evicted, want 4 and 16", n, s.EvictedAccesses)
	}
	if f := a.Finish(); len(f) != 5 || s.DroppedPairs == 0 {
		t.Errorf("%d findings, %d dropped, want 5 and some", len(f), s.DroppedPairs)
	}
}

// TestCompactBoundsTable checks that short-lived locks do not fill the table of locksets.
func TestCompactBoundsTable(t *testing.T) {
	a := New(Options{})
	a.limit = 10
	for i := event.ObjectID(1); i <= 100; i++ {
		a.Event(&event.Event{Thread: 1, Object: i, Op: event.Acquire})
		a.Event(&event.Event{Thread: 1, Object: i, Op: event.Release})
		a.limit = 10
	}
	if n := a.Stats().Locksets; n > 12 {
		t.Errorf("%d locksets, want at most 12", n)
	}
}

func TestStateNames(t *testing.T) {
	if s := sharedModified.String(); s != "SHARED-MODIFIED" {
		t.Error(s)
	}
	if s := state(9).String(); s != "UNKNOWN" {
		t.Error(s)
	}
}

func steadyState() (*Analysis, []event.Event) {
	var body []event.Event
	for range 2 {
		for t := event.ThreadID(2); t <= 3; t++ {
			body = append(body, at(t, event.Acquire, l, 1), at(t, event.Acquire, m, 2), at(t, event.Read, x, 3),
				at(t, event.Write, x, 4), at(t, event.Release, m, 5), at(t, event.Read, x, 6), at(t, event.Release, l, 7))
		}
	}
	events := twoTasks(body...)
	return analyse(Options{}, events), events[4:]
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	a, events := steadyState()
	n := testing.AllocsPerRun(100, func() {
		for i := range events {
			a.Event(&events[i])
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEvent(b *testing.B) {
	a, events := steadyState()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		a.Event(&events[i%len(events)])
	}
}

// TestRaces checks that Races with EveryPair marks the variables of which the state machine does
// not warn, and that it holds the latest accesses of each pair of threads.
func TestRaces(t *testing.T) {
	const lock, x = 1, 2
	run := []event.Event{}
	add := func(thread event.ThreadID, op event.Op, object event.ObjectID, stack event.StackID) {
		run = append(run, event.Event{Seq: uint64(len(run) + 1), Thread: thread, Op: op, Object: object, Stack: stack})
	}
	add(1, event.Write, x, 1)
	for _, thread := range []event.ThreadID{2, 3, 2} {
		add(thread, event.Acquire, lock, 2)
		add(thread, event.Write, x, 3)
		add(thread, event.Release, lock, 4)
	}
	for _, warned := range []bool{false, true} {
		if warned {
			add(3, event.Write, x, 3)
		}
		got := analyse(Options{EveryPair: true}, run).Races()
		want := [][]uint64{{1, 9}, {1, 6}}
		if warned {
			want[1][1] = 11
		}
		if len(got) == 0 || got[0].Warned != warned || got[0].Partial || !slices.EqualFunc(got[0].Instances, want, slices.Equal) {
			t.Errorf("%+v", got)
		}
		if all := analyse(Options{}, run).Races(); warned != (len(all) > 0) {
			t.Errorf("without EveryPair: %+v", all)
		}
	}
}
