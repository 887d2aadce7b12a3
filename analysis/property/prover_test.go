package property_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/property"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// never is the monitor of a property that holds while bit 0 of the letters is not set.
type never struct{}

func (never) Start(into []lattice.State) []lattice.State { return append(into, 0) }
func (never) Bad(s lattice.State) bool                   { return s == 1 }
func (never) Step(into []lattice.State, from lattice.State, l lattice.Letter) []lattice.State {
	return append(into, from|lattice.State(l&1))
}

// when sets bit 0 of the letter of the states for which it is true.
type when func(values []uint64) bool

func (w when) Letter(values []uint64, _ uint64) lattice.Letter {
	if w(values) {
		return 1
	}
	return 0
}

const ms = 1_000_000

// at returns an access or another event of a thread at a time.
func at(thread event.ThreadID, op event.Op, object event.ObjectID, value, time uint64, flags event.Flags) event.Event {
	e := event.Event{Thread: thread, Op: op, Object: object, Value: value, Time: time, Flags: flags, Kind: event.KindMutex}
	if op.IsAccess() {
		e.Kind, e.Flags = event.KindVariable, e.Flags|event.HasValue
	}
	return e
}

// violations checks the property that bad never holds, of the variables 1, 2 and 3, on a run.
func violations(t *testing.T, bad when, events []event.Event) []finding.Finding {
	t.Helper()
	return violationsOf(t, 0, bad, events)
}

// violationsOf is violations with a number of events that are kept.
func violationsOf(t *testing.T, history int, bad when, events []event.Event) []finding.Finding {
	t.Helper()
	a, err := property.New(property.Options{
		Properties: []property.Property{{Name: "p", Monitor: never{}, Labels: bad, Variables: []int{0, 1, 2}, Propositions: []string{"bad"}}},
		Variables:  []string{"x", "y", "z"}, Initial: []uint64{0, 0, 0}, History: history,
		Variable: func(id event.ObjectID) int { return int(id) - 1 },
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		e := events[i]
		e.Seq = uint64(i + 1)
		a.Event(&e)
	}
	return a.Finish()
}

// TestOrderOfRecords checks that a run violates a property for certain only if all orders do that the
// records of its accesses leave open: z is written after y, or both at once, and must not be.
func TestOrderOfRecords(t *testing.T) {
	const x, y, z, m, w = 1, 2, 3, 9, event.Watched
	late := func(v []uint64) bool { return v[1] == 1 && v[2] == 0 } // y before z
	start := func(t2 uint64) []event.Event {
		return []event.Event{at(1, event.Begin, 0, 0, 1, 0), at(1, event.Fork, 0, 0, 2, 0), at(2, event.Begin, 0, 0, t2, 0)}
	}
	for _, c := range []struct {
		name   string
		bad    when
		events []event.Event
		want   finding.Confidence
	}{
		{"by watchpoints, at once", late, []event.Event{at(1, event.Write, y, 1, 10, w), at(2, event.Write, z, 1, 12, w)}, finding.Predicted},
		{"by probes, at once", late, []event.Event{at(1, event.Write, y, 1, 10, 0), at(2, event.Write, z, 1, 12, 0)}, finding.Predicted},
		{"by a watchpoint and a probe", late, []event.Event{at(1, event.Write, y, 1, 10, 0), at(2, event.Write, z, 1, 12, w)}, finding.Predicted},
		{"from a trace without times", late, []event.Event{at(1, event.Write, y, 1, 0, 0), at(2, event.Write, z, 1, 0, 0)}, finding.Observed},
		{"long after", late, []event.Event{at(1, event.Write, y, 1, 10, w), at(2, event.Write, z, 1, 300*ms, w)}, finding.Observed},
		{"long after, by probes", late, []event.Event{at(1, event.Write, y, 1, 10, 0), at(2, event.Write, z, 1, 300*ms, 0)}, finding.Observed},
		{"one thread", late, []event.Event{at(1, event.Write, y, 1, 10, w), at(1, event.Write, z, 1, 12, w)}, finding.Observed},
		{"its own event in between", late, []event.Event{at(1, event.Write, y, 1, 10, w), at(2, event.SemPost, 8, 0, 11, 0), at(2, event.Write, z, 1, 12, w)}, finding.Observed},
		{"under a lock", late, []event.Event{
			at(1, event.Acquire, m, 0, 9, 0), at(1, event.Write, y, 1, 10, 0), at(1, event.Release, m, 0, 11, 0),
			at(2, event.Acquire, m, 0, 12, 0), at(2, event.Write, z, 1, 13, w), at(2, event.Release, m, 0, 14, 0),
		}, finding.Observed},
		{"in either order", func(v []uint64) bool { return v[1] != v[2] }, []event.Event{at(1, event.Write, y, 1, 10, w), at(2, event.Write, z, 1, 12, w)}, finding.Observed},
		{"whatever z is", func(v []uint64) bool { return v[1] == 1 }, []event.Event{at(1, event.Write, y, 1, 10, w), at(2, event.Write, z, 1, 12, w)}, finding.Observed},
		{"two writes of one variable", func(v []uint64) bool { return v[0] == 1 && v[1] == 1 }, []event.Event{
			at(2, event.Write, x, 2, 10, w), at(1, event.Write, x, 1, 11, w), at(1, event.Write, y, 1, 12, w),
		}, finding.Predicted},
		{"sent late, after what came later", late, []event.Event{
			at(1, event.Write, y, 1, 300*ms, w), at(2, event.Write, z, 1, 10, w),
		}, finding.Predicted},
		{"sent late, and what its thread does next is no later", late, []event.Event{
			at(1, event.Write, x, 7, 20, w), at(1, event.Write, y, 1, 300, w), at(2, event.Write, x, 8, 30, w), at(2, event.Write, z, 1, 305, w),
		}, finding.Predicted},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := violations(t, c.bad, append(start(3), c.events...))
			if len(fs) != 1 || fs[0].Confidence != c.want {
				t.Fatalf("findings %+v, want one that is %s", fs, c.want)
			}
			if open := fs[0].Reason.What == reason.OrderOpen; open != (c.want == finding.Predicted) {
				t.Errorf("the reason is %v", fs[0].Reason)
			}
		})
	}
}

func isObserved(fs []finding.Finding) bool {
	return slices.ContainsFunc(fs, func(f finding.Finding) bool { return f.Confidence == finding.Observed })
}

// TestOrderAfterDroppedEvents checks that a violation is proved although the events that made it
// possible are not kept any more.
func TestOrderAfterDroppedEvents(t *testing.T) {
	events := []event.Event{at(1, event.Begin, 0, 0, 1, event.Inferred), at(2, event.Begin, 0, 0, 1, 0), at(1, event.Write, 2, 1, 2, 0)}
	for i := range uint64(40) {
		events = append(events, at(1, event.SemPost, 8, 0, (10+i)*ms, 0))
	}
	for value, want := range map[uint64]bool{1: true, 2: false} {
		run := append(slices.Clone(events), at(2, event.Write, 3, value, 500*ms, event.Watched))
		fs := violationsOf(t, 8, func(v []uint64) bool { return v[1] == 1 && v[2] == 1 }, run)
		if isObserved(fs) != want {
			t.Errorf("z = %d: findings %+v", value, fs)
		}
	}
}

// TestViolationWaits checks that a violation is reported as soon as all threads have recorded events
// after it, before the end of the run; and after some time where there may be further threads.
func TestViolationWaits(t *testing.T) {
	type step struct {
		e     event.Event
		found int
	}
	fork := event.Event{Thread: 1, Op: event.Fork, Peer: 2, Time: 2}
	for name, steps := range map[string][]step{
		"all threads": {
			{at(1, event.Begin, 0, 0, 1, event.Inferred), 0}, {fork, 0}, {at(1, event.Write, 1, 1, 3, 0), 0}, {at(1, event.SemPost, 8, 0, 4, 0), 0},
			{at(2, event.SemPost, 8, 0, 5, 0), 1},
		},
		"others have ended": {
			{at(1, event.Begin, 0, 0, 1, event.Inferred), 0}, {fork, 0}, {at(2, event.End, 0, 0, 3, 0), 0}, {at(1, event.Write, 1, 1, 4, 0), 0},
			{at(1, event.SemPost, 8, 0, 5, 0), 1},
		},
		"by a watchpoint": {{at(1, event.Begin, 0, 0, 1, event.Inferred), 0}, {at(1, event.Write, 1, 1, 3, event.Watched), 1}},
		"threads from before": {
			{at(1, event.Begin, 0, 0, 1, event.Inferred), 0}, {at(2, event.Begin, 0, 0, 2, event.Inferred), 0}, {at(1, event.Write, 1, 1, 3, 0), 0},
			{at(1, event.SemPost, 8, 0, 4, 0), 0}, {at(2, event.SemPost, 8, 0, 5, 0), 0}, {at(2, event.SemPost, 8, 0, 250*ms, 0), 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := 0
			a, err := property.New(property.Options{
				Properties: []property.Property{{Name: "p", Monitor: never{}, Labels: when(func(v []uint64) bool { return v[0] == 1 }), Variables: []int{0}, Propositions: []string{"bad"}}},
				Variables:  []string{"x"}, Initial: []uint64{0}, Queue: 1,
				Variable: func(id event.ObjectID) int { return int(id) - 1 },
				Found:    func(*finding.Finding) { found++ },
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range steps {
				steps[i].e.Seq = uint64(i + 1)
				if a.Event(&steps[i].e); found != steps[i].found {
					t.Fatalf("after event %d, %s: %d findings", i+1, steps[i].e.Op, found)
				}
			}
			if fs := a.Finish(); len(fs) != 1 || fs[0].Confidence != finding.Observed || found != 1 {
				t.Errorf("findings %+v, reported %d", fs, found)
			}
		})
	}
}

// TestOrdersLeftOpen compares the verdict on random runs with a plain one, which tries all orders of
// all events: observed is what each of them violates that agrees with each thread, and with the
// moments between which each event happened.
func TestOrdersLeftOpen(t *testing.T) {
	agreed := map[bool]int{}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 5))
		events := randomRecords(r)
		bad := randomState(r)
		fs := violations(t, bad, events)
		observed := isObserved(fs)
		recorded, all := violates(bad, events, nil), true
		eachOrder(events, func(order []int) { all = all && violates(bad, events, order) })
		if want := recorded && all; observed != want {
			t.Fatalf("seed %d: observed %v, want %v (in the order of the records %v)\n%s", seed, observed, want, recorded, listed(events))
		}
		if recorded {
			agreed[all]++
		}
	}
	if agreed[true] < 100 || agreed[false] < 100 {
		t.Errorf("violations by the order of the records that are ones of all orders: %v", agreed)
	}
}

// randomRecords returns up to seven events of two or three threads: writes seen by watchpoints or
// probes, and others.
func randomRecords(r *rand.Rand) (events []event.Event) {
	time := uint64(1)
	for range 3 + r.IntN(5) {
		time += 1 + r.Uint64N(2)*r.Uint64N(150*ms)
		thread := event.ThreadID(1 + r.IntN(3))
		if r.IntN(3) == 0 {
			events = append(events, at(thread, event.SemPost, event.ObjectID(10+thread), 0, time, 0))
			continue
		}
		events = append(events, at(thread, event.Write, event.ObjectID(1+r.IntN(2)), 1+r.Uint64N(2), time, event.Watched*event.Flags(r.IntN(2))))
	}
	return events
}

// randomState returns a set of states of two variables that have three values each, the first not.
func randomState(r *rand.Rand) when {
	set := r.Uint64N(1<<9) &^ 1
	return func(v []uint64) bool { return set>>(3*v[0]+v[1])&1 != 0 }
}

// violates reports whether the events, in an order or, without one, as they stand, violate a property.
func violates(bad when, events []event.Event, order []int) bool {
	values := []uint64{0, 0, 0}
	for i := range events {
		e := &events[i]
		if order != nil {
			e = &events[order[i]]
		}
		if e.Op == event.Write {
			values[e.Object-1] = e.Value
			if bad(values) {
				return true
			}
		}
	}
	return false
}

// eachOrder calls visit with each order that the records leave open.
func eachOrder(events []event.Event, visit func([]int)) {
	var extend func(order []int)
	extend = func(order []int) {
		if len(order) == len(events) {
			visit(order)
			return
		}
	next:
		for i := range events {
			for _, j := range order {
				if j == i {
					continue next
				}
			}
			for j := range events {
				missing := j != i
				for _, k := range order {
					missing = missing && k != j
				}
				if missing && mustPrecede(events, j, i) {
					continue next
				}
			}
			extend(append(order, i))
		}
	}
	extend(nil)
}

// mustPrecede reports whether event j happened before event i, by the rule itself: an access
// happened after what its thread recorded before it, before what it recorded next, by a watchpoint
// no later than its own record, and at most 100 ms away from that.
func mustPrecede(events []event.Event, j, i int) bool {
	a, b := &events[j], &events[i]
	if a.Thread == b.Thread {
		return j < i
	}
	latest := j // the record by which a happened
	if a.Op == event.Write && a.Flags&event.Watched == 0 {
		for latest++; latest < len(events) && events[latest].Thread != a.Thread; latest++ {
		}
	}
	earliest := i // the record after which b happened
	if b.Op == event.Write {
		for earliest--; earliest >= 0 && events[earliest].Thread != b.Thread; earliest-- {
		}
	}
	if latest < len(events) && latest <= earliest {
		return true
	}
	by, from := a.Time, b.Time
	if a.Op == event.Write && a.Flags&event.Watched == 0 {
		if by += 100 * ms; latest < len(events) {
			by = min(by, events[latest].Time)
		}
	}
	if b.Op == event.Write {
		if from -= min(from, 100*ms); earliest >= 0 {
			from = max(from, events[earliest].Time)
		}
	}
	return by < from
}

// TestObservedIsTrue makes random runs of which it knows at which moment each access was made, and
// checks that a property is observed only if the run violated it.
func TestObservedIsTrue(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 6))
		truth, trace := randomTruth(r)
		bad := randomState(r)
		fs := violations(t, bad, trace)
		observed := isObserved(fs)
		violated, recorded := violates(bad, truth, nil), violates(bad, trace, nil)
		if observed && !violated {
			t.Fatalf("seed %d: observed, but the run did not violate the property:\n%s", seed, listed(trace))
		}
		counts[fmt.Sprintf("observed %v, violated %v, in the order of the trace %v", observed, violated, recorded)]++
	}
	if counts["observed false, violated false, in the order of the trace true"] == 0 || counts["observed true, violated true, in the order of the trace true"] < 100 {
		t.Errorf("runs: %v", counts)
	}
}

// randomTruth returns the events of a random run in the order in which they happened, and as their
// records stand in the trace: each access has two moments. Some events stand where their thread made
// its next record.
func randomTruth(r *rand.Rand) (truth, trace []event.Event) {
	type moment struct {
		e                event.Event
		happens, records bool
	}
	var threads [3][]moment
	for thread := range threads {
		id := event.ThreadID(thread + 1)
		for range 1 + r.IntN(4) {
			w := at(id, event.Write, event.ObjectID(1+r.IntN(2)), 1+r.Uint64N(2), 0, 0)
			switch r.IntN(5) {
			case 0:
				threads[thread] = append(threads[thread], moment{at(id, event.SemPost, event.ObjectID(10+id), 0, 0, 0), true, true})
				continue
			case 1:
				threads[thread] = append(threads[thread], moment{w, false, true}, moment{w, true, false})
				continue
			case 2, 3:
				w.Flags |= event.Watched
			}
			threads[thread] = append(threads[thread], moment{w, true, false}, moment{w, false, true})
		}
	}
	held := map[event.ThreadID]event.Event{}
	for time := uint64(1); ; time += 1 + r.Uint64N(1000) {
		var left []int
		for i := range threads {
			if len(threads[i]) > 0 {
				left = append(left, i)
			}
		}
		if left == nil {
			break
		}
		i := left[r.IntN(len(left))]
		m := threads[i][0]
		threads[i] = threads[i][1:]
		if m.happens {
			truth = append(truth, m.e)
		}
		if !m.records {
			continue
		}
		m.e.Time = time
		if e, ok := held[m.e.Thread]; ok {
			trace = append(trace, e)
			delete(held, m.e.Thread)
		}
		if m.e.Flags&event.Watched != 0 && r.IntN(3) == 0 {
			held[m.e.Thread] = m.e
		} else {
			trace = append(trace, m.e)
		}
	}
	for _, thread := range []event.ThreadID{1, 2, 3} {
		if e, ok := held[thread]; ok {
			trace = append(trace, e)
		}
	}
	return truth, trace
}

func listed(events []event.Event) (s string) {
	for i := range events {
		e := &events[i]
		s += fmt.Sprintf("%d: T%d %s %d = %d at %d, flags %d\n", i+1, e.Thread, e.Op, e.Object, e.Value, e.Time, e.Flags&event.Watched)
	}
	return s
}
