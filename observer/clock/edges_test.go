package clock_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
	"github.com/tracepredict/tracepredict/observer/order"
)

// ev is one event of a table test.
type ev struct {
	thread event.ThreadID
	op     event.Op
	object event.ObjectID
	flags  event.Flags
	value  uint64
}

// stamped holds the slots, epochs and clocks of the events of a run.
type stamped struct {
	slots  []uint32
	epochs []event.Epoch
	clocks []*event.Clock
}

func (x *ev) event(i int) event.Event {
	e := event.Event{Seq: uint64(i + 1), Thread: x.thread, Op: x.op, Object: x.object, Flags: x.flags, Value: x.value, Kind: event.KindSemaphore}
	if x.object == barrierObject {
		e.Kind = event.KindBarrier
	}
	if x.op == event.Fork || x.op == event.Join || x.op == event.Detach {
		e.Peer, e.Object = event.ThreadID(x.object), 0
	}
	return e
}

func stamp(run []ev) *stamped {
	m, s := clock.New(), &stamped{}
	for i, x := range run {
		e := x.event(i)
		m.Stamp(&e)
		s.slots = append(s.slots, e.Slot)
		s.epochs = append(s.epochs, e.Epoch)
		s.clocks = append(s.clocks, e.Must.Clone())
		m.Done(&e)
	}
	return s
}

func (s *stamped) before(i, j int) bool {
	e := event.Event{Must: s.clocks[j]}
	return i < j && e.Before(s.slots[i], s.epochs[i])
}

// naive is a run in the plain model of the observed order.
type naive []eventtest.Set

func (n naive) before(i, j int) bool { return i < j && n[j][i+1] }

const (
	object        event.ObjectID = 7
	barrierObject event.ObjectID = 8
)

// TestEdges checks the rows of the order table: which pairs of events, given by index, are
// ordered by M, and which only by the observed order.
func TestEdges(t *testing.T) {
	const o = object
	tests := []struct {
		name string
		run  []ev
		must [][2]int
		sync [][2]int // besides must
		none [][2]int // in neither
	}{
		{"mutex", []ev{{1, event.Acquire, o, 0, 0}, {1, event.Release, o, 0, 0}, {2, event.Acquire, o, 0, 0}},
			nil, [][2]int{{1, 2}}, nil},
		{"failed try", []ev{{1, event.Acquire, o, 0, 0}, {2, event.AcquireFailed, o, event.Try, 0}, {1, event.Release, o, 0, 0}},
			nil, [][2]int{{0, 1}, {1, 2}}, nil},
		{"readers are unordered", []ev{{1, event.Acquire, o, 0, 0}, {1, event.Release, o, 0, 0}, {2, event.AcquireRead, o, 0, 0}, {3, event.AcquireRead, o, 0, 0}, {2, event.Release, o, 0, 0}, {3, event.Release, o, 0, 0}, {4, event.Acquire, o, 0, 0}},
			nil, [][2]int{{1, 2}, {1, 3}, {4, 6}, {5, 6}}, [][2]int{{2, 3}, {2, 5}, {4, 5}}},
		{"create and join", []ev{{1, event.Fork, 2, 0, 0}, {2, event.Begin, 0, 0, 0}, {1, event.Begin, 0, 0, 0}, {2, event.End, 0, 0, 0}, {1, event.Join, 2, 0, 0}},
			[][2]int{{0, 1}, {3, 4}}, nil, [][2]int{{1, 2}, {2, 3}}},
		{"signal to a single sleeper", []ev{{1, event.Wait, o, 0, 0}, {2, event.Signal, o, 0, 0}, {1, event.Wake, o, 0, 0}},
			[][2]int{{1, 2}}, [][2]int{{0, 1}}, nil},
		{"signal to one of two", []ev{{1, event.Wait, o, 0, 0}, {2, event.Wait, o, 0, 0}, {3, event.Signal, o, 0, 0}, {4, event.Signal, o, 0, 0}, {2, event.Wake, o, 0, 0}, {1, event.Wake, o, 0, 0}},
			[][2]int{{2, 4}, {3, 5}}, [][2]int{{3, 4}}, [][2]int{{0, 2}, {2, 5}}},
		{"signal without a waiter", []ev{{2, event.Signal, o, 0, 0}, {1, event.Wait, o, 0, 0}, {1, event.Wake, o, 0, 0}},
			nil, nil, [][2]int{{0, 1}, {0, 2}}},
		{"broadcast", []ev{{1, event.Wait, o, 0, 0}, {2, event.Wait, o, 0, 0}, {3, event.Broadcast, o, 0, 0}, {2, event.Wake, o, 0, 0}, {1, event.Wake, o, 0, 0}},
			[][2]int{{2, 3}, {2, 4}}, [][2]int{{0, 2}, {1, 2}}, [][2]int{}},
		{"timed-out wake", []ev{{1, event.Wait, o, 0, 0}, {2, event.Signal, o, 0, 0}, {1, event.Wake, o, event.TimedOut, 0}},
			nil, nil, [][2]int{{1, 2}}},
		{"barrier, and a fast thread in its next generation", []ev{
			{1, event.Init, barrierObject, event.HasValue, 2},
			{1, event.BarrierArrive, barrierObject, 0, 0}, {2, event.BarrierArrive, barrierObject, 0, 0},
			{1, event.BarrierDepart, barrierObject, 0, 0}, {1, event.BarrierArrive, barrierObject, 0, 0},
			{2, event.BarrierDepart, barrierObject, 0, 0}, {2, event.BarrierArrive, barrierObject, 0, 0}, {2, event.BarrierDepart, barrierObject, 0, 0},
		}, [][2]int{{2, 3}, {1, 5}, {4, 7}}, nil, [][2]int{{4, 5}, {3, 5}}},
		{"barrier of unknown size", []ev{
			{1, event.BarrierArrive, o, 0, 0}, {2, event.BarrierArrive, o, 0, 0}, {1, event.BarrierDepart, o, 0, 0},
			{1, event.BarrierArrive, o, 0, 0}, {2, event.BarrierDepart, o, 0, 0},
		}, [][2]int{{1, 2}, {0, 4}}, nil, [][2]int{{3, 4}}},
		{"semaphore, one poster", []ev{{1, event.Init, o, event.HasValue, 1}, {1, event.SemPost, o, 0, 0}, {2, event.SemWait, o, 0, 0}, {2, event.SemWait, o, 0, 0}},
			[][2]int{{0, 2}}, [][2]int{{1, 3}}, [][2]int{{1, 2}}},
		{"semaphore, a second poster later", []ev{{1, event.Init, o, event.HasValue, 0}, {1, event.SemPost, o, 0, 0}, {2, event.SemWait, o, 0, 0}, {3, event.SemPost, o, 0, 0}},
			[][2]int{{0, 2}}, [][2]int{{1, 2}}, [][2]int{{1, 3}, {2, 3}}},
		{"semaphore, two posters", []ev{{1, event.Init, o, event.HasValue, 0}, {1, event.SemPost, o, 0, 0}, {2, event.SemPost, o, 0, 0}, {3, event.SemWait, o, 0, 0}, {3, event.SemWait, o, 0, 0}},
			nil, [][2]int{{1, 3}, {2, 4}}, [][2]int{{2, 3}}},
		{"semaphore of unknown value", []ev{{1, event.SemPost, o, 0, 0}, {2, event.SemWait, o, 0, 0}},
			nil, nil, [][2]int{{0, 1}}},
		{"failed semaphore", []ev{{1, event.Init, o, event.HasValue, 1}, {2, event.SemWait, o, 0, 0}, {3, event.SemFailed, o, 0, 0}, {4, event.SemPost, o, 0, 0}},
			nil, [][2]int{{1, 2}, {2, 3}}, nil},
		{"once", []ev{{1, event.OnceEnter, o, 0, 0}, {2, event.OnceEnter, o, 0, 0}, {1, event.OnceDone, o, 0, 0}, {2, event.OnceLeave, o, 0, 0}},
			[][2]int{{2, 3}}, nil, [][2]int{{0, 1}}},
		{"lifetime", []ev{{1, event.Init, o, 0, 0}, {2, event.Acquire, o, 0, 0}, {2, event.Release, o, 0, 0}, {3, event.Destroy, o, 0, 0}},
			[][2]int{{0, 1}, {2, 3}}, nil, nil},
		{"atomic store and load", []ev{{1, event.Write, o, event.Atomic, 0}, {2, event.Read, o, event.Atomic, 0}, {2, event.Begin, 0, 0, 0}, {3, event.Write, o, event.Atomic, 0}},
			[][2]int{{0, 1}}, nil, [][2]int{{0, 3}, {1, 3}}},
		{"plain write and read: after the check", []ev{{1, event.Write, o, 0, 0}, {2, event.Read, o, 0, 0}, {2, event.Begin, 0, 0, 0}, {3, event.Read, o, 0, 0}, {3, event.Begin, 0, 0, 0}},
			[][2]int{{0, 2}, {0, 4}}, nil, [][2]int{{0, 1}, {0, 3}, {1, 4}}},
		{"a value that contradicts", []ev{{1, event.Write, o, event.HasValue, 1}, {2, event.Read, o, event.HasValue, 2}, {2, event.Begin, 0, 0, 0}},
			nil, nil, [][2]int{{0, 2}}},
		{"a read of another write", []ev{{1, event.Write, o, 0, 0}, {2, event.Read, o, event.NoSource, 0}, {2, event.Begin, 0, 0, 0}},
			nil, nil, [][2]int{{0, 2}}},
		{"an atomic value that contradicts", []ev{{1, event.Write, o, event.HasValue | event.Atomic, 1}, {2, event.Read, o, event.HasValue | event.Atomic, 2}, {2, event.Begin, 0, 0, 0}},
			nil, nil, [][2]int{{0, 1}, {0, 2}}},
		{"counters whose values nobody uses, and a load of their sum", []ev{{1, event.Update, o, event.Atomic | event.ResultUnused, 0}, {2, event.Update, o, event.Atomic | event.ResultUnused, 0}, {2, event.Begin, 0, 0, 0}, {3, event.Read, o, event.Atomic, 0}},
			[][2]int{{0, 3}, {1, 3}}, [][2]int{{0, 1}, {0, 2}}, nil},
		{"a counter whose value is used", []ev{{1, event.Update, o, event.Atomic | event.ResultUnused, 0}, {2, event.Update, o, event.Atomic, 0}, {3, event.Read, o, event.Atomic, 0}},
			[][2]int{{0, 1}, {0, 2}, {1, 2}}, nil, nil},
		{"a store between counters and a load", []ev{{1, event.Update, o, event.Atomic | event.ResultUnused, 0}, {2, event.Write, o, event.Atomic, 0}, {3, event.Update, o, event.Atomic | event.ResultUnused, 0}, {4, event.Read, o, event.Atomic, 0}},
			[][2]int{{1, 3}, {2, 3}}, [][2]int{{1, 2}}, [][2]int{{0, 1}, {0, 3}}},
		{"an atomic load recorded late", []ev{{1, event.Write, o, event.Atomic, 0}, {3, event.Read, o, event.Atomic, 0}, {2, event.Read, o, event.Atomic | event.Late, 0}, {2, event.Begin, 0, 0, 0}},
			[][2]int{{0, 2}, {1, 2}, {1, 3}}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			must, sync := stamp(tt.run), naive{}
			for i, n := 0, eventtest.NewNaive(order.Must|order.Observed); i < len(tt.run); i++ {
				sync = append(sync, n.Step(tt.run[i].event(i)))
			}
			want := func(pairs [][2]int, inMust, inSync bool) {
				for _, p := range pairs {
					if got := must.before(p[0], p[1]); got != inMust {
						t.Errorf("M has %v: %v", p, got)
					}
					if got := sync.before(p[0], p[1]); got != inSync {
						t.Errorf("O has %v: %v", p, got)
					}
				}
			}
			want(tt.must, true, true)
			want(tt.sync, false, true)
			want(tt.none, false, false)
		})
	}
}

// TestSchedulableHappensBefore: the observed order finds the races that RAPID's SHB
// engine finds.
func TestSchedulableHappensBefore(t *testing.T) {
	folder := "../../analysis/predict/testdata/traces"
	text, err := os.ReadFile(filepath.Join(folder, "expected_races.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	column := slices.IndexFunc(strings.Split(lines[0], "\t"), func(h string) bool { return strings.HasPrefix(h, "RAPID SHB ") })
	for _, l := range lines[1:] {
		f := strings.Split(l, "\t")
		events, _, err := eventtest.ReadSTD(filepath.Join(folder, f[0]))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f[column], shbRaces(events)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", f[0], diff)
		}
	}
}

func shbRaces(events []event.Event) string {
	m := eventtest.NewNaive(order.Must | order.Observed)
	writes, reads := map[event.ObjectID]int{}, map[event.ObjectID][]int{}
	var out []string
	for i, e := range events {
		knows := m.Step(e)
		unordered := func(at int) bool { return !knows[at] }
		if e.Op.IsAccess() {
			w, written := writes[e.Object]
			if (written && unordered(w)) || (e.Op.IsWrite() && slices.ContainsFunc(reads[e.Object], unordered)) {
				out = append(out, fmt.Sprint(e.Seq))
			}
			if e.Op.IsWrite() {
				writes[e.Object] = i + 1
			} else {
				reads[e.Object] = append(reads[e.Object], i+1)
			}
		}
	}
	if out == nil {
		return "-"
	}
	return strings.Join(out, ",")
}

// TestSlotsAreReused: a program that creates and joins threads again and again needs only as
// many slots as it has threads at once.
func TestSlotsAreReused(t *testing.T) {
	m := clock.New()
	churn(m, 1, 10_000)
	if m.Slots() != 3 {
		t.Errorf("%d slots for three threads alive at once", m.Slots())
	}
}

// churn creates and joins pairs of threads, and returns the next identifier.
func churn(m *clock.Must, first event.ThreadID, rounds int) event.ThreadID {
	next := max(first, 2)
	for range rounds {
		for _, op := range []event.Op{event.Fork, event.Fork, event.End, event.End, event.Join, event.Join} {
			e := event.Event{Thread: 1, Op: op, Peer: next}
			if op == event.End {
				e = event.Event{Thread: next, Op: op}
			}
			m.Stamp(&e)
			m.Done(&e)
			if next++; next%2 == 0 {
				next -= 2
			}
		}
		next += 2
	}
	return next
}

// TestDetachedThreadsAreBounded: no event comes after a detached thread's end, yet the number of
// slots is bounded, by forced edges.
func TestDetachedThreadsAreBounded(t *testing.T) {
	m := clock.New()
	for id := event.ThreadID(2); id < 5000; id++ {
		for _, e := range []event.Event{{Thread: 1, Op: event.Fork, Peer: id}, {Thread: id, Op: event.Detach, Peer: id}, {Thread: id, Op: event.End}} {
			m.Stamp(&e)
			m.Done(&e)
		}
	}
	if m.Slots() > 1100 || m.Forced() == 0 {
		t.Errorf("%d slots, %d forced edges", m.Slots(), m.Forced())
	}
}

// steady returns events of a run in its steady state: locks, conditions, accesses, threads that
// begin and end.
func steady(n int) []event.Event {
	random := rand.New(rand.NewPCG(1, 2))
	ops := []event.Op{event.Acquire, event.Release, event.Read, event.Write, event.SemPost, event.SemWait, event.Signal, event.BarrierArrive}
	var out []event.Event
	for range n {
		thread := event.ThreadID(random.IntN(8) + 1)
		e := event.Event{Thread: thread, Op: ops[random.IntN(len(ops))], Object: event.ObjectID(random.IntN(20) + 1)}
		out = append(out, e)
		switch e.Op {
		case event.Signal:
			out[len(out)-1].Object = 100
			w := event.Event{Thread: thread%8 + 1, Op: event.Wait, Object: 100}
			k := w
			k.Op = event.Wake
			out = append(out, w, event.Event{Thread: thread, Op: event.Signal, Object: 100}, k)
		case event.BarrierArrive:
			out[len(out)-1].Object = 101
			out = append(out, event.Event{Thread: thread, Op: event.BarrierDepart, Object: 101})
		}
	}
	return out
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	m, events := clock.New(), steady(5000)
	next := event.ThreadID(1000)
	all := func() {
		for i := range events {
			m.Stamp(&events[i])
			m.Done(&events[i])
		}
	}
	next = churn(m, next, 10)
	all()
	if n := testing.AllocsPerRun(5, all); n > 0 {
		t.Errorf("%v allocations in %d events", n, len(events))
	}
	if n := testing.AllocsPerRun(5, func() { next = churn(m, next, 100) }); n > 0 {
		t.Errorf("%v allocations while threads come and go", n)
	}
}

func BenchmarkStamp(b *testing.B) {
	b.Run("must", func(b *testing.B) {
		m, events := clock.New(), steady(5000)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			e := &events[i%len(events)]
			m.Stamp(e)
			m.Done(e)
		}
	})
}
