package scope

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/observer/event"
)

// The declared events of random runs.
const (
	isAction uint64 = 1 << iota
	isA
	isB
	isC // of a type that no thread has
)

// randomRun returns a run of threads with two locks, of which the first is that of the synchronising actions.
func randomRun(r *rand.Rand, n int) (run []event.Event, declared []uint64) {
	const threads = 4
	holder := map[event.ObjectID]event.ThreadID{}
	live, next := []event.ThreadID{1, 2}, event.ThreadID(3)
	emit := func(e event.Event, d uint64) {
		e.Seq = uint64(len(run) + 1)
		run, declared = append(run, e), append(declared, d)
	}
	for len(run) < n {
		id := live[r.IntN(len(live))]
		lock := event.ObjectID(1 + r.IntN(2))
		switch x := r.IntN(12); {
		case x < 2 && next <= threads:
			emit(event.Event{Thread: id, Op: event.Fork, Peer: next}, 0)
			live = append(live, next)
			next++
		case x < 3 && len(live) > 2 && id != live[0] && holder[1] != id && holder[2] != id:
			emit(event.Event{Thread: id, Op: event.End}, 0)
			live = slices.DeleteFunc(live, func(x event.ThreadID) bool { return x == id })
			emit(event.Event{Thread: live[0], Op: event.Join, Peer: id}, 0)
		case x < 6 && holder[lock] == 0:
			holder[lock] = id
			d := uint64(0)
			if lock == 1 {
				d = isAction | uint64(r.IntN(2))*isA
			}
			emit(event.Event{Thread: id, Op: event.Acquire, Object: lock}, d)
		case x < 9 && holder[lock] == id:
			holder[lock] = 0
			emit(event.Event{Thread: id, Op: event.Release, Object: lock}, 0)
		default:
			d := []uint64{0, isA, isA, isB, isA | isB, isC}[r.IntN(6)]
			emit(event.Event{Thread: id, Op: []event.Op{event.Read, event.Write, event.Call}[r.IntN(3)], Object: 3}, d)
		}
	}
	return run, declared
}

// randomScope returns a scope with properties of two types of threads.
func randomScope(t *testing.T, r *rand.Rand) *Scope {
	t.Helper()
	formulas := []string{"F a", "G(a -> X b)", "!b W a", "a U b", "G !b", "F (a && b)", "X a", "true"}
	pick := func() *monitor.ThreeValued { return formula(t, formulas[r.IntN(len(formulas))], []string{"a", "b"}) }
	s := &Scope{
		Name: "s", Sync: isAction,
		Types: []Type{
			{Name: "odd", Has: func(id event.ThreadID) bool { return id%2 == 1 }},
			{Name: "low", Has: func(id event.ThreadID) bool { return id < 3 }},
			{Name: "none", Has: func(event.ThreadID) bool { return false }},
		},
		Locals: []Local{
			{Name: "p", Type: 0, Events: []uint64{isA, isB}, Formula: pick()},
			{Name: "q", Type: 1, Events: []uint64{isB, isA}, Formula: pick()},
			{Name: "r", Type: 1, Events: []uint64{isA}, Formula: formula(t, "G(a -> X(!a W sync))", []string{"a", "sync"}), Across: true},
			{Name: "n", Type: 2, Events: []uint64{isC}, Formula: formula(t, "F c", []string{"c"})},
		},
	}
	for i := range s.Locals {
		for v := Unknown; v <= NotApplicable; v++ {
			for n := range uint64(3) {
				s.Atoms = append(s.Atoms, Atom{Name: fmt.Sprint(i, v, n), Holds: func(c *Counts) bool { return c.Of(i, v) == n }})
			}
		}
	}
	s.Atoms = append(s.Atoms, Atom{Name: "size", Holds: func(c *Counts) bool { return c.Size(0) > c.Size(1) }})
	return s
}

// naive computes the atoms after each region, and the number of its events that are concurrent with an action next to it,
// from the whole run.
func naive(s *Scope, run []event.Event, declared []uint64) (atoms [][]bool, concurrent []uint64) {
	o := orderOf(run, edges{locks: true, forks: true})
	var actions []int
	for i, d := range declared {
		if d&s.Sync != 0 {
			actions = append(actions, i)
		}
	}
	from := 0
	for k := 0; k <= len(actions); k++ {
		to := len(run) - 1
		if k < len(actions) {
			to = actions[k]
		}
		counts := countsOf(s, run[:to+1], declared, from, k)
		var state []bool
		for _, a := range s.Atoms {
			state = append(state, a.Holds(&counts))
		}
		atoms = append(atoms, state)
		n := uint64(0)
		for i := from; i <= to; i++ {
			if declared[i]&s.Sync == 0 && s.counts(run[i].Thread, declared[i]) && (k > 0 && !o[actions[k-1]][i] || k < len(actions) && !o[i][actions[k]]) {
				n++
			}
		}
		concurrent = append(concurrent, n)
		from = to + 1
	}
	return atoms, concurrent
}

// counts reports whether declared events of a thread are some of a local property.
func (s *Scope) counts(id event.ThreadID, declared uint64) bool {
	return slices.ContainsFunc(s.Locals, func(l Local) bool { return s.Types[l.Type].Has(id) && l.naiveLetter(declared) != 0 })
}

func (l *Local) naiveLetter(declared uint64) (out monitor.Letter) {
	for j := range l.Events {
		if declared&l.Events[j] != 0 {
			out |= 1 << j
		}
	}
	return out
}

// countsOf returns the counts of region k, which is the end of a run, from an index on.
func countsOf(s *Scope, run []event.Event, declared []uint64, from, k int) Counts {
	c := Counts{make([][verdicts]uint64, len(s.Locals)), make([]uint64, len(s.Types))}
	alive := map[event.ThreadID]bool{}
	for i := range run {
		if i < from && run[i].Op == event.End {
			delete(alive, run[i].Thread)
		} else {
			alive[run[i].Thread] = true
		}
	}
	for id := range alive {
		for i, typ := range s.Types {
			if typ.Has(id) {
				c.sizes[i]++
			}
		}
		for i := range s.Locals {
			c.verdicts[i][s.Locals[i].naive(s, run, declared, from, id)]++
		}
	}
	return c
}

// naive returns the verdict on a thread in the region that a run ends with.
func (l *Local) naive(s *Scope, run []event.Event, declared []uint64, from int, id event.ThreadID) Verdict {
	if !s.Types[l.Type].Has(id) {
		return NotApplicable
	}
	at, written := l.Formula.Start(), false
	first := from
	if l.Across {
		first = 0
	}
	for i := first; i < len(run); i++ {
		switch letter := l.naiveLetter(declared[i]); {
		case declared[i]&s.Sync != 0:
			if l.Across && i+1 < len(run) {
				at = l.Formula.Next(at, 1<<len(l.Events))
			}
		case run[i].Thread == id && letter != 0:
			at = l.Formula.Next(at, letter)
			written = written || i >= from
		}
	}
	if l.Across && !written {
		return NotApplicable
	}
	return Verdict(l.Formula.Verdict(at))
}

// monitored returns the atoms after each region, and the number of its concurrent events, by the monitor. Known are threads
// that it knows from the start.
func monitored(t *testing.T, s *Scope, run []event.Event, declared []uint64, known ...event.ThreadID) (atoms [][]bool, concurrent []uint64) {
	t.Helper()
	m := New(Options{Scope: s, Closed: func(s *State) {
		atoms, concurrent = append(atoms, slices.Clone(s.Atoms)), append(concurrent, s.Concurrent)
	}})
	for _, id := range known {
		m.thread(id)
	}
	m.run(run, declared)
	if _, ok := m.Unordered(); ok {
		t.Fatal("acquires of a lock are unordered")
	}
	if m.Finish(); m.stats.Actions == 0 {
		m.close(nil, nil, nil)
	}
	return atoms, concurrent
}

// TestRandomRuns compares the monitor with the model that keeps the whole run.
func TestRandomRuns(t *testing.T) {
	outside := uint64(0)
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 44))
		s := randomScope(t, r)
		run, declared := randomRun(r, 10+r.IntN(50))
		atoms, concurrent := naive(s, run, declared)
		gotAtoms, gotConcurrent := monitored(t, s, run, declared)
		if diff := cmp.Diff(atoms, gotAtoms); diff != "" {
			t.Fatalf("seed %d: atoms: %s", seed, diff)
		}
		if diff := cmp.Diff(concurrent, gotConcurrent); diff != "" {
			t.Fatalf("seed %d: concurrent: %s", seed, diff)
		}
		for _, n := range concurrent {
			outside += n
		}
	}
	if outside < 1000 {
		t.Errorf("%d events are concurrent with an action: too few to tell", outside)
	}
}

// TestPropositions checks Propositions 1 and 2 of the paper on random partial orders: the regions of Definition 5 are
// disjoint, in each the order is that of the run, and each region comes before the next action. So all runs of the
// partial order have the same scope states: they are compared on some, without the events in no region.
func TestPropositions(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 45))
		s := randomScope(t, r)
		run, declared := randomRun(r, 10+r.IntN(30))
		o := orderOf(run, edges{locks: true, forks: true})
		var actions []int
		for i, d := range declared {
			if d&isAction != 0 {
				actions = append(actions, i)
			}
		}
		if pairs := o.concurrent(actions); len(pairs) > 0 {
			t.Fatalf("seed %d: actions are concurrent: %v", seed, pairs)
		}
		regions := o.regions(actions)
		for i, later := range regions {
			for _, earlier := range regions[:i] {
				checkOrdered(t, o, earlier, later)
			}
		}
		inside := slices.Clone(declared)
		for _, i := range o.outside(actions, regions) {
			inside[i] = 0
		}
		// When a thread is seen first, and in which region it ends, depends on the run.
		threads := []event.ThreadID{1, 2, 3, 4}
		for i := range run {
			if run[i].Op == event.End {
				run[i].Op = event.None
			}
		}
		want, _ := monitored(t, s, run, inside, threads...)
		for range 4 {
			shuffled, masks := linearisation(r, o, run, inside)
			got, concurrent := monitored(t, s, shuffled, masks, threads...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d: another run has other scope states: %s", seed, diff)
			}
			if slices.Max(concurrent) != 0 {
				t.Fatalf("seed %d: events of a region are concurrent with an action", seed)
			}
		}
	}
}

// checkOrdered checks that all events of a region come before all of a later one.
func checkOrdered(t *testing.T, o order, earlier, later []int) {
	t.Helper()
	for _, a := range earlier {
		for _, b := range later {
			if a == b || !o[a][b] {
				t.Fatalf("events %d and %d are in two regions and not ordered", a, b)
			}
		}
	}
}

// linearisation returns a random run of a partial order.
func linearisation(r *rand.Rand, o order, run []event.Event, declared []uint64) (events []event.Event, masks []uint64) {
	done := make([]bool, len(run))
	for range run {
		var ready []int
		for j := range run {
			if !done[j] && !slices.ContainsFunc(indices(len(run)), func(i int) bool { return !done[i] && i != j && o[i][j] }) {
				ready = append(ready, j)
			}
		}
		next := ready[r.IntN(len(ready))]
		done[next] = true
		events, masks = append(events, run[next]), append(masks, declared[next])
	}
	return events, masks
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// TestNoAllocations: an event of a thread that is known allocates nothing, nor does a region that violates nothing.
func TestNoAllocations(t *testing.T) {
	s := randomScope(t, rand.New(rand.NewPCG(1, 1)))
	s.Checks = []Check{{Formula: formula(t, "F x", []string{"x"})}}
	s.Atoms = s.Atoms[:1]
	s.Atoms[0].Holds = func(*Counts) bool { return false }
	m := New(Options{Scope: s})
	round := func() {
		for id := event.ThreadID(1); id <= 3; id++ {
			m.Event(&event.Event{Thread: id, Op: event.Acquire, Object: 1}, isAction)
			m.Event(&event.Event{Thread: id, Op: event.Call, Func: 1}, isA)
			m.Event(&event.Event{Thread: id, Op: event.Release, Object: 1}, 0)
			m.Event(&event.Event{Thread: id, Op: event.Write, Object: 2}, isB)
		}
	}
	round()
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestEndedThreads: a thread that ends counts until the end of its region, and its state is used again.
func TestEndedThreads(t *testing.T) {
	s := &Scope{
		Name: "s", Sync: isAction, Types: []Type{{Name: "all", Has: func(event.ThreadID) bool { return true }}},
		Locals: []Local{{Name: "p", Events: []uint64{isA}, Formula: formula(t, "F a", []string{"a"})}},
	}
	var sizes, done []uint64
	m := New(Options{Scope: s, Closed: func(s *State) {
		sizes, done = append(sizes, s.Counts.Size(0)), append(done, s.Counts.Of(0, True))
	}})
	for id := event.ThreadID(2); id < 100; id++ {
		m.Event(&event.Event{Thread: 1, Op: event.Fork, Peer: id}, 0)
		m.Event(&event.Event{Thread: id, Op: event.Begin, Peer: 1}, 0)
		m.Event(&event.Event{Thread: id, Op: event.Write, Object: 2}, isA)
		m.Event(&event.Event{Thread: id, Op: event.End}, 0)
		m.Event(&event.Event{Thread: 1, Op: event.Join, Peer: id}, 0)
		m.Event(&event.Event{Thread: 1, Op: event.Acquire, Object: 1}, isAction)
		m.Event(&event.Event{Thread: 1, Op: event.Release, Object: 1}, 0)
	}
	if slices.Max(sizes) != 2 || slices.Min(sizes) != 2 || slices.Min(done) != 1 || slices.Max(done) != 1 {
		t.Errorf("threads %v, of which %v had the event", sizes, done)
	}
	if len(m.threads) != 1 || len(m.spare) != 1 {
		t.Errorf("%d threads and %d states to be used again are kept", len(m.threads), len(m.spare))
	}
}

// TestLateNames: a thread whose type is known only after its first events is of that type in its first region.
func TestLateNames(t *testing.T) {
	named := map[event.ThreadID]bool{}
	s := &Scope{
		Name: "s", Sync: isAction, Types: []Type{{Name: "named", Has: func(id event.ThreadID) bool { return named[id] }}},
		Locals: []Local{{Name: "p", Events: []uint64{isA}, Formula: formula(t, "F a", []string{"a"})}},
	}
	var got []uint64
	m := New(Options{Scope: s, Closed: func(s *State) { got = append(got, s.Counts.Size(0), s.Counts.Of(0, True)) }})
	m.Event(&event.Event{Thread: 2, Op: event.Begin}, 0)
	m.Event(&event.Event{Thread: 3, Op: event.Begin}, 0)
	named[2], named[3] = true, true
	m.Event(&event.Event{Thread: 2, Op: event.Call}, isA)
	m.Event(&event.Event{Thread: 1, Op: event.Acquire, Object: 1}, isAction)
	m.Finish()
	if !slices.Equal(got, []uint64{2, 1, 2, 0}) {
		t.Errorf("sizes and counts %v", got)
	}
}

// TestLost: a monitor knows that events were lost before actions that seem concurrent.
func TestLost(t *testing.T) {
	for _, lost := range []bool{false, true} {
		m := New(Options{Scope: &Scope{Name: "s", Sync: isAction}})
		m.Event(&event.Event{Thread: 1, Op: event.Acquire, Object: 1}, isAction)
		if lost {
			m.Event(&event.Event{Thread: 2, Op: event.Hole, Value: 3}, 0)
		}
		m.Event(&event.Event{Thread: 2, Op: event.Acquire, Object: 2}, isAction)
		if _, ok := m.Unordered(); !ok || m.Lost() != lost {
			t.Errorf("unordered %v, lost %v", ok, m.Lost())
		}
	}
}
