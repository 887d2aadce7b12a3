package goodlock

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

const (
	a event.ObjectID = 11
	b event.ObjectID = 12
	c event.ObjectID = 13
	g event.ObjectID = 19
)

// trace concatenates parts of a run, numbers the events and stamps them with clocks.
func trace(parts ...[]event.Event) []event.Event {
	events := slices.Concat(parts...)
	for i := range events {
		events[i].Seq = uint64(i + 1)
		if events[i].Stack == 0 && events[i].Op.IsAcquire() {
			events[i].Stack = event.StackID(100*uint64(events[i].Thread) + uint64(events[i].Object))
		}
	}
	eventtest.Stamp(events)
	return events
}

func fork(parent, child event.ThreadID) []event.Event {
	return []event.Event{{Thread: parent, Op: event.Fork, Peer: child}, {Thread: child, Op: event.Begin}}
}

func join(parent, child event.ThreadID) []event.Event {
	return []event.Event{{Thread: child, Op: event.End}, {Thread: parent, Op: event.Join, Peer: child}}
}

func acquire(t event.ThreadID, l event.ObjectID, flags ...event.Flags) event.Event {
	e := event.Event{Thread: t, Op: event.Acquire, Object: l, Kind: event.KindMutex}
	for _, f := range flags {
		e.Flags |= f
	}
	return e
}

func acquireRead(t event.ThreadID, l event.ObjectID) event.Event {
	return event.Event{Thread: t, Op: event.AcquireRead, Object: l, Kind: event.KindRWLock}
}

func release(t event.ThreadID, l event.ObjectID) event.Event {
	return event.Event{Thread: t, Op: event.Release, Object: l}
}

// nest acquires the locks in order and releases them in reverse.
func nest(t event.ThreadID, locks ...event.ObjectID) []event.Event {
	var acquires []event.Event
	for _, l := range locks {
		acquires = append(acquires, acquire(t, l))
	}
	return closed(acquires...)
}

// closed appends the releases of the acquires, in reverse order.
func closed(acquires ...event.Event) []event.Event {
	out := slices.Clone(acquires)
	for _, e := range slices.Backward(acquires) {
		out = append(out, release(e.Thread, e.Object))
	}
	return out
}

func TestFinding(t *testing.T) {
	got := run(Options{}, trace(fork(1, 2), fork(1, 3), fork(1, 4),
		nest(3, c, a), nest(2, a, b), nest(4, b, g, c), nest(2, a, b))).Finish()
	want := []finding.Finding{{
		Kind: finding.Deadlock, Confidence: finding.Potential,
		Objects: []event.ObjectID{a, b, c}, Threads: []event.ThreadID{3, 2, 4},
		Evidence: []finding.Step{
			{Seq: 8, Thread: 3, Op: event.Acquire, Object: a, Stack: 311, Held: []event.ObjectID{c}, HeldAt: []event.StackID{313}},
			{Seq: 12, Thread: 2, Op: event.Acquire, Object: b, Stack: 212, Held: []event.ObjectID{a}, HeldAt: []event.StackID{211}},
			{Seq: 17, Thread: 4, Op: event.Acquire, Object: c, Stack: 413, Held: []event.ObjectID{b, g}, HeldAt: []event.StackID{412, 419}},
		},
		Count: 1,
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestAcquisitions checks which kinds of acquire can wait, and for which threads.
func TestAcquisitions(t *testing.T) {
	two := slices.Concat(fork(1, 2), fork(1, 3))
	tests := map[string]struct {
		events []event.Event
		want   int
	}{
		"two orders":                     {slices.Concat(nest(2, a, b), nest(3, b, a)), 1},
		"one order":                      {slices.Concat(nest(2, a, b), nest(3, a, b)), 0},
		"one thread":                     {slices.Concat(nest(2, a, b), nest(2, b, a)), 0},
		"trylock wanted":                 {slices.Concat(closed(acquire(2, a), acquire(2, b, event.Try)), nest(3, b, a)), 0},
		"trylock held":                   {slices.Concat(closed(acquire(2, a, event.Try), acquire(2, b)), nest(3, b, a)), 1},
		"inferred held":                  {slices.Concat(closed(acquire(2, a, event.Inferred), acquire(2, b)), nest(3, b, a)), 1},
		"failed trylock":                 {slices.Concat([]event.Event{acquire(2, a), {Thread: 2, Op: event.AcquireFailed, Object: b, Flags: event.Try}, release(2, a)}, nest(3, b, a)), 0},
		"two readers, one waits to read": {slices.Concat(closed(acquireRead(2, a), acquire(2, b)), closed(acquire(3, b), acquireRead(3, a))), 0},
		"reader, writer waits":           {slices.Concat(closed(acquireRead(2, a), acquire(2, b)), closed(acquire(3, b), acquire(3, a))), 1},
		"writer, reader waits":           {slices.Concat(closed(acquire(2, a), acquire(2, b)), closed(acquire(3, b), acquireRead(3, a))), 1},
		"gate":                           {slices.Concat(nest(2, g, a, b), nest(3, g, b, a)), 0},
		"gate held for reading by both":  {slices.Concat(closed(acquireRead(2, g), acquire(2, a), acquire(2, b)), closed(acquireRead(3, g), acquire(3, b), acquire(3, a))), 1},
		"gate held for reading by one":   {slices.Concat(closed(acquireRead(2, g), acquire(2, a), acquire(2, b)), closed(acquire(3, g), acquire(3, b), acquire(3, a))), 0},
		"released in between":            {slices.Concat([]event.Event{acquire(2, a), acquire(2, b), release(2, a), acquire(2, c), release(2, b), release(2, c)}, nest(3, c, a)), 0},
		"destroyed and made anew":        {slices.Concat(nest(2, a, b), []event.Event{{Thread: 2, Op: event.Destroy, Object: a}}, nest(3, b, a+100)), 0},
		"wait takes the outer lock again": {slices.Concat(
			[]event.Event{acquire(2, a), acquire(2, b), release(2, a)},
			[]event.Event{{Thread: 2, Op: event.Wait, Object: 99, Object2: a}},
			nest(3, a, b),
			[]event.Event{{Thread: 2, Op: event.Wake, Object: 99, Object2: a}, acquire(2, a, event.InCondWait), release(2, b), release(2, a)}), 1},
	}
	for name, tc := range tests {
		if got := run(Options{}, trace(two, tc.events)).Finish(); len(got) != tc.want {
			t.Errorf("%s: %d findings, want %d: %+v", name, len(got), tc.want, got)
		}
	}
}

func TestTimedIsNoted(t *testing.T) {
	got := run(Options{}, trace(fork(1, 2), fork(1, 3), closed(acquire(2, a), acquire(2, b, event.Timed)), nest(3, b, a))).Finish()
	if len(got) != 1 || !got[0].Reason.Given() || got[0].Evidence[0].Flags != event.Timed {
		t.Errorf("%+v", got)
	}
}

func TestExplain(t *testing.T) {
	at := func(events []event.Event, stack event.StackID) []event.Event {
		for i := range events {
			if events[i].Op == event.Fork || events[i].Op == event.Join {
				events[i].Stack = stack
			}
		}
		return events
	}
	tests := map[string]struct {
		events []event.Event
		want   []string
	}{
		"one thread": {slices.Concat(fork(1, 2), nest(2, a, b), nest(2, b, a)), []string{"one-thread 0 [11 12]"}},
		"gate":       {slices.Concat(fork(1, 2), nest(1, g, a, b), nest(2, g, b, a)), []string{"gate-lock 19 [11 12]"}},
		"joined": {slices.Concat(fork(1, 2), nest(2, a, b), at(join(1, 2), 7), nest(1, b, a)),
			[]string{"ordered 0 [11 12] by T1 join T2 at 7"}},
		"joined, then created": {slices.Concat(fork(1, 2), nest(2, a, b), at(join(1, 2), 7), fork(1, 3), nest(3, b, a)),
			[]string{"ordered 0 [11 12] by T1 join T2 at 7"}},
		"created later": {slices.Concat(nest(1, a, b), at(fork(1, 2), 8), nest(2, b, a)),
			[]string{"ordered 0 [11 12] by T1 fork T2 at 8"}},
		"a grandchild": {slices.Concat(nest(1, a, b), at(fork(1, 2), 8), at(fork(2, 3), 9), nest(3, b, a)),
			[]string{"ordered 0 [11 12] by T1 fork T2 at 8"}},
		"signalled": {slices.Concat(fork(1, 2), fork(1, 3), nest(2, a, b),
			[]event.Event{{Thread: 2, Op: event.SemPost, Object: 30}, {Thread: 3, Op: event.SemWait, Object: 30}}, nest(3, b, a)), nil},
		"parent's gate": {slices.Concat(fork(1, 2), []event.Event{acquire(1, g)}, fork(1, 3), nest(3, a, b), join(1, 3), []event.Event{release(1, g)}, nest(2, g, b, a)),
			[]string{"parent-gate-lock 19 [11 12]"}},
		"reported": {slices.Concat(fork(1, 2), nest(1, a, b), nest(2, b, a)), nil},
	}
	for name, tc := range tests {
		got, findings := explained(Options{}, tc.events)
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if (findings == 0) != (tc.want != nil) {
			t.Errorf("%s: %d findings", name, findings)
		}
	}
}

// explained returns what an analysis reports of the cycles that it prunes, and the number of its
// findings.
func explained(opts Options, events []event.Event) (got []string, findings int) {
	opts.Explain = func(p finding.Pruned) {
		if p.Why == finding.Budget {
			got = append(got, fmt.Sprint(p.Reason.What, " ", p.Reason.Count, " ", p.Reason.Length))
			return
		}
		text := fmt.Sprint(p.Why, " ", p.Lock, " ", slices.Sorted(slices.Values(p.Objects)))
		if p.By.Op != event.None {
			text += fmt.Sprintf(" by T%d %v T%d at %d", p.By.Thread, p.By.Op, p.By.Peer, p.By.Stack)
		}
		got = append(got, text)
	}
	return got, len(run(opts, trace(events)).Finish())
}

func TestExplainLimits(t *testing.T) {
	cycle := slices.Concat(fork(1, 2), fork(1, 3), nest(1, a, b), nest(2, b, c), nest(3, c, a))
	for _, tc := range []struct {
		opts Options
		want []string
	}{
		{Options{}, nil},
		{Options{MaxThreads: 2}, []string{"longer-cycles 0 2"}},
		{Options{Budget: 1}, []string{"search-ended 1 2"}},
		{Options{MaxEdges: 1}, []string{"no-room 2 0"}},
	} {
		if got, _ := explained(tc.opts, cycle); !slices.Equal(got, tc.want) {
			t.Errorf("%+v: %q, want %q", tc.opts, got, tc.want)
		}
	}
	// Where the budget ends within a cycle, it is unknown whether the cycle can occur.
	two := slices.Concat(fork(1, 2), fork(1, 3), nest(2, a, b), nest(3, b, a))
	for budget := 1; ; budget++ {
		got, findings := explained(Options{Budget: budget}, two)
		if findings == 1 {
			break
		}
		if len(got) != 1 || !strings.HasPrefix(got[0], string(reason.SearchEnded)) {
			t.Fatalf("budget %d: %q", budget, got)
		}
	}
}

// TestParentGateHoldsForAllItsChildren checks that a lock of the parent does not exclude its
// children from each other.
func TestParentGateHoldsForAllItsChildren(t *testing.T) {
	events := trace([]event.Event{acquire(1, g)}, fork(1, 2), fork(1, 3), nest(2, a, b), nest(3, b, a), join(1, 2), join(1, 3), []event.Event{release(1, g)})
	if got := run(Options{}, events).Finish(); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

// TestManyThreads checks that ten thousand short threads cost no more than the bound on instances.
func TestManyThreads(t *testing.T) {
	const threads = 10000
	events := trace(fork(1, 2))
	x := run(Options{}, events)
	m := uint64(len(events))
	for i := event.ThreadID(3); i < 3+threads; i++ {
		order := []event.ObjectID{a, b}
		if i%2 == 0 {
			order = []event.ObjectID{b, a}
		}
		part := slices.Concat(fork(1, i), nest(i, order...), join(1, i))
		for j := range part {
			e := &part[j]
			m++
			e.Seq, e.Slot, e.Epoch = m, uint32(i%8), event.Epoch(m)
			e.Must = &event.Clock{}
			e.Must.Set(e.Slot, e.Epoch)
			x.Event(e)
		}
	}
	if n := len(x.threads); n > 2 {
		t.Errorf("%d threads in memory", n)
	}
	if s := x.Stats(); s.Edges != 2 || s.EvictedInstances != threads-2*defaultHistory {
		t.Errorf("%+v", s)
	}
	for _, p := range x.edgesByID {
		if len(p.instances) != defaultHistory {
			t.Errorf("%d instances kept", len(p.instances))
		}
	}
	if f := x.Finish(); len(f) != 1 || f[0].Count < 2 {
		t.Errorf("%+v", f)
	}
}

// TestInstancesSpreadOverThreads checks that many instances of one thread do not evict those of
// another.
func TestInstancesSpreadOverThreads(t *testing.T) {
	parts := [][]event.Event{fork(1, 2), fork(1, 3), nest(3, a, b)}
	for range 100 {
		parts = append(parts, nest(2, a, b), []event.Event{{Thread: 2, Op: event.Signal, Object: 99}})
	}
	x := run(Options{History: 4}, trace(slices.Concat(parts...), nest(3, a, b)))
	threads := map[event.ThreadID]int{}
	for _, i := range x.edgesByID[0].instances {
		threads[i.thread.id]++
	}
	if threads[3] == 0 || threads[2] == 0 {
		t.Errorf("instances by thread: %v", threads)
	}
}

func TestInstancesAreBounded(t *testing.T) {
	parts := [][]event.Event{fork(1, 2)}
	for range 20 {
		for l := event.ObjectID(100); l < 110; l++ {
			parts = append(parts, nest(2, l, l+1), []event.Event{{Thread: 2, Op: event.Signal, Object: 99}})
		}
	}
	s := run(Options{MaxInstances: 50}, trace(parts...)).Stats()
	if s.Instances != 50 || s.EvictedInstances != 150 {
		t.Errorf("%+v", s)
	}
}

// TestDestroyedLocksMakeRoom checks that destroyed locks make room, after a search for the cycles
// among them.
func TestDestroyedLocksMakeRoom(t *testing.T) {
	const rounds = 200
	x := run(Options{MaxEdges: 16}, nil)
	var parts [][]event.Event
	parts = append(parts, fork(1, 2), fork(1, 3))
	for i := event.ObjectID(0); i < rounds; i++ {
		l, m := 100+2*i, 101+2*i
		parts = append(parts, nest(2, l, m), nest(3, m, l),
			[]event.Event{{Thread: 1, Op: event.Destroy, Object: l}, {Thread: 1, Op: event.Destroy, Object: m}})
	}
	events := trace(parts...)
	for i := range events {
		x.Event(&events[i])
	}
	s := x.Stats()
	if f := x.Finish(); len(f) != rounds {
		t.Errorf("%d findings, want %d", len(f), rounds)
	}
	if s.Edges > 16 || s.DroppedEdges != 0 || s.EvictedEdges == 0 || len(x.destroyed) > 32 || x.nodes > 4*16+4 {
		t.Errorf("%+v, %d destroyed locks, %d nodes", s, len(x.destroyed), x.nodes)
	}
}

// TestEdgesAreBounded checks that without destroyed locks no room can be made, and that what is
// dropped is counted.
func TestEdgesAreBounded(t *testing.T) {
	parts := [][]event.Event{fork(1, 2)}
	for i := event.ObjectID(100); i < 200; i++ {
		parts = append(parts, nest(2, i, i+1))
	}
	s := run(Options{MaxEdges: 10}, trace(parts...)).Stats()
	if s.Edges != 10 || s.DroppedEdges != 90 {
		t.Errorf("%+v", s)
	}
}

func philosophers(n int) []event.Event {
	var parts [][]event.Event
	for i := range n {
		parts = append(parts, fork(1, event.ThreadID(i+2)))
	}
	for i := range n {
		parts = append(parts, nest(event.ThreadID(i+2), event.ObjectID(100+i), event.ObjectID(100+(i+1)%n)))
	}
	return trace(parts...)
}

// TestThousandPhilosophers checks that a cycle of a thousand threads is found within the default
// budget.
func TestThousandPhilosophers(t *testing.T) {
	const n = 1000
	x := run(Options{}, philosophers(n))
	f := x.Finish()
	if s := x.Stats(); len(f) != 1 || len(f[0].Evidence) != n || s.BudgetHit || s.LongerCycles {
		t.Errorf("%d findings, %+v", len(f), s)
	}
	y := run(Options{MaxThreads: n - 1}, philosophers(n))
	if f := y.Finish(); len(f) != 0 || !y.Stats().LongerCycles {
		t.Errorf("%d findings beyond MaxThreads, %+v", len(f), y.Stats())
	}
}

func TestLongCycle(t *testing.T) {
	const n = 40
	x := run(Options{}, philosophers(n))
	f := x.Finish()
	if len(f) != 1 || len(f[0].Evidence) != n || x.Stats().BudgetHit {
		t.Errorf("%d findings, %+v", len(f), x.Stats())
	}
	if f := run(Options{MaxThreads: n - 1}, philosophers(n)).Finish(); len(f) != 0 {
		t.Errorf("%d findings beyond MaxThreads", len(f))
	}
}

// TestBudget has threads that acquire two of many locks in any order. The number of cycles is
// exponential, so the search ends early, reports so, and has found the short ones.
func TestBudget(t *testing.T) {
	const n = 12
	var parts [][]event.Event
	for i := range n {
		parts = append(parts, fork(1, event.ThreadID(i+2)))
	}
	for i := range n {
		for l := range event.ObjectID(n) {
			for m := range event.ObjectID(n) {
				if l != m {
					parts = append(parts, nest(event.ThreadID(i+2), 100+l, 100+m))
				}
			}
		}
	}
	events := slices.Concat(parts...)
	for i := range events {
		events[i].Stack = 1 // all in one loop
	}
	x := run(Options{Budget: 2000000, MaxFindings: 100}, trace(events))
	f := x.Finish()
	pairs := 0
	for _, r := range f {
		if len(r.Evidence) == 2 {
			pairs++
		}
	}
	if s := x.Stats(); pairs != n*(n-1)/2 || len(f) != 100 || s.DroppedFindings == 0 || !s.BudgetHit {
		t.Errorf("%d findings, %d of two threads, %+v", len(f), pairs, s)
	}
}

func TestNewEdgesAreReported(t *testing.T) {
	var got []string
	reported := func(s finding.Step) { got = append(got, fmt.Sprint(s.Thread, s.Held, s.Object)) }
	run(Options{OnEdge: reported}, trace(fork(1, 2), nest(1, a, b, c), nest(2, a, b, c), nest(2, b, a, c)))
	want := []string{"1 [11] 12", "1 [11 12] 13", "2 [12] 11"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func steadyState() (*Analysis, []event.Event) {
	events := trace(fork(1, 2), fork(1, 3), nest(2, a, b, c), nest(3, c, b), nest(3, b, c, a),
		[]event.Event{acquire(2, a), acquire(2, b), release(2, a), release(2, b)})
	x := run(Options{}, events)
	for i := range events[4:] {
		x.Event(&events[4+i])
	}
	return x, events[4:]
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	x, events := steadyState()
	n := testing.AllocsPerRun(100, func() {
		for i := range events {
			x.Event(&events[i])
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSteadyStateWithSignals checks that threads that influence each other between their acquires
// make new instances, which reuse the memory of old ones.
func TestSteadyStateWithSignals(t *testing.T) {
	x, events := steadyState()
	signals := []event.Event{{Thread: 2, Op: event.Signal, Object: 99}, {Thread: 3, Op: event.Signal, Object: 99}}
	epoch := event.Epoch(1000)
	var clock event.Clock
	round := func() {
		for i := range events {
			e := events[i]
			epoch++
			e.Epoch = epoch
			clock.Set(e.Slot, epoch)
			clock.Set(7, epoch)
			e.Must = &clock
			x.Event(&e)
		}
		for i := range signals {
			x.Event(&signals[i])
		}
	}
	for range 2 * defaultHistory {
		round()
	}
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEvent(b *testing.B) {
	x, events := steadyState()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		x.Event(&events[i%len(events)])
	}
}
