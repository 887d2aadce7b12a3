package lattice_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/observer/lattice"
)

// randomEvents returns a run in which the writes of each variable are ordered.
func randomEvents(r *rand.Rand, slots, variables, n int) []lattice.Event {
	clocks := make([][]uint32, slots)
	for i := range clocks {
		clocks[i] = make([]uint32, slots)
	}
	of := make([][]uint32, variables)
	var out []lattice.Event
	for i := range n {
		s := r.IntN(slots)
		v := clocks[s]
		v[s]++
		e := lattice.Event{Slot: uint32(s), Variable: r.IntN(variables+1) - 1, Value: uint64(r.IntN(3)), Seq: uint64(i + 1)}
		if e.Variable >= 0 {
			join(v, of[e.Variable])
			of[e.Variable] = slices.Clone(v)
		}
		if e.Variable < 0 || r.IntN(4) == 0 {
			e.Events = 1 << r.IntN(2)
		}
		if r.IntN(4) == 0 {
			join(v, clocks[r.IntN(slots)])
		}
		e.Clock = slices.Clone(v)
		out = append(out, e)
	}
	return out
}

// join makes v the join of v and w.
func join(v, w []uint32) {
	for i := range w {
		v[i] = max(v[i], w[i])
	}
}

// arbitrary is a random non-deterministic automaton; its last state is bad.
type arbitrary struct{ next [][][]lattice.State } // by state and letter

func (a *arbitrary) Start(into []lattice.State) []lattice.State { return append(into, 0) }
func (a *arbitrary) Bad(s lattice.State) bool                   { return int(s) == len(a.next) }
func (a *arbitrary) Step(into []lattice.State, from lattice.State, l lattice.Letter) []lattice.State {
	if a.Bad(from) {
		return append(into, from)
	}
	return append(into, a.next[from][l]...)
}

const letters = 8

func randomMonitor(r *rand.Rand, states int) *arbitrary {
	a := &arbitrary{}
	for range states {
		var row [][]lattice.State
		for range letters {
			var to []lattice.State
			for range r.IntN(3) {
				to = append(to, lattice.State(r.IntN(states+r.IntN(2))))
			}
			row = append(row, to)
		}
		a.next = append(a.next, row)
	}
	return a
}

// modular makes letters from a sum of the values and the events, modulo the number of letters.
type modular struct{ a, b uint64 }

func (m modular) Letter(values []uint64, events uint64) lattice.Letter {
	l := events * m.b
	for i, v := range values {
		l += v * (m.a + uint64(i))
	}
	return l % letters
}

func randomProperty(r *rand.Rand, variables int) lattice.Property {
	states := 2 + r.IntN(5)
	p := lattice.Property{Monitor: randomMonitor(r, states), Labels: modular{r.Uint64N(9), r.Uint64N(9)}, Events: r.Uint64N(4)}
	if r.IntN(2) == 0 {
		p.Variables = []int{r.IntN(variables)}
		// Its letters must not depend on the other variables.
		p.Labels = only{p.Variables[0], modular{r.Uint64N(9), r.Uint64N(9)}}
	}
	if r.IntN(2) == 0 {
		p.Monitor = counted{p.Monitor, states + 1} // sets are masks
	}
	return p
}

// counted is a monitor with a known number of states.
type counted struct {
	lattice.Monitor
	states int
}

func (c counted) States() int { return c.states }

type only struct {
	variable int
	modular
}

func (o only) Letter(values []uint64, events uint64) lattice.Letter {
	return o.modular.Letter(values[o.variable:o.variable+1], events)
}

func reads(p *lattice.Property, e *lattice.Event) bool {
	return e.Events&p.Events != 0 || e.Variable >= 0 && (p.Variables == nil || slices.Contains(p.Variables, e.Variable))
}

// plainRun follows a run and a monitor, one event at a time.
type plainRun struct {
	p      *lattice.Property
	values []uint64
	states []lattice.State
}

func begin(p *lattice.Property, variables int) *plainRun {
	r := &plainRun{p: p, values: make([]uint64, variables), states: p.Monitor.Start(nil)}
	r.read(0)
	return r
}

func (r *plainRun) clone() *plainRun {
	return &plainRun{r.p, slices.Clone(r.values), slices.Clone(r.states)}
}

func (r *plainRun) read(events uint64) {
	var next []lattice.State
	for _, q := range r.states {
		next = r.p.Monitor.Step(next, q, r.p.Labels.Letter(r.values, events))
	}
	slices.Sort(next)
	r.states = slices.Compact(next)
}

func (r *plainRun) take(e *lattice.Event) {
	if e.Variable >= 0 {
		r.values[e.Variable] = e.Value
	}
	if reads(r.p, e) {
		r.read(e.Events & r.p.Events)
	}
}

func (r *plainRun) bad() bool { return slices.ContainsFunc(r.states, r.p.Monitor.Bad) }

// enabled reports whether all that comes before event i has been taken.
func enabled(events []lattice.Event, done []bool, i int) bool {
	for j := range i {
		if !done[j] && before(&events[j], &events[i]) {
			return false
		}
	}
	return !done[i]
}

func before(a, b *lattice.Event) bool { return a.Clock[a.Slot] <= b.Clock[a.Slot] }

// anyBad enumerates the linear extensions, and reports whether one of them is bad.
func anyBad(events []lattice.Event, done []bool, r *plainRun) bool {
	if r.bad() {
		return true
	}
	for i := range events {
		if !enabled(events, done, i) {
			continue
		}
		done[i] = true
		next := r.clone()
		next.take(&events[i])
		found := anyBad(events, done, next)
		done[i] = false
		if found {
			return true
		}
	}
	return false
}

// cutCount returns the number of consistent cuts.
func cutCount(events []lattice.Event) (n uint64) {
	for set := range 1 << len(events) {
		closed := true
		for i := range events {
			for j := range events {
				if set>>i&1 != 0 && set>>j&1 == 0 && i != j && before(&events[j], &events[i]) {
					closed = false
				}
			}
		}
		if closed {
			n++
		}
	}
	return n
}

// verdict holds, by property, whether the lattice reports a violation, and one by the observed run.
type verdict struct {
	found, observed []bool
	stats           lattice.Stats
}

// judge builds a lattice, checks the witnesses of its violations, and returns its verdict.
func judge(t *testing.T, events []lattice.Event, props []lattice.Property, variables int, o lattice.Options) verdict {
	t.Helper()
	j := verdict{found: make([]bool, len(props)), observed: make([]bool, len(props))}
	o.Properties, o.Initial = props, make([]uint64, variables)
	witnesses := 0
	o.Violation = func(v *lattice.Violation) {
		j.found[v.Property] = true
		j.observed[v.Property] = j.observed[v.Property] || v.Observed
		if witnesses++; witnesses > 40 {
			return
		}
		w, err := v.Witness()
		if errors.Is(err, lattice.ErrBadBefore) {
			if !j.observed[v.Property] {
				t.Errorf("witness: %v", err)
			}
			return
		}
		if err != nil {
			if o.History == 0 || !errors.Is(err, lattice.ErrDropped) {
				t.Errorf("witness: %v", err)
			}
			return
		}
		feasible(t, events, &props[v.Property], variables, w)
		if o.History != 0 {
			return // what is no longer kept has no excerpt
		}
		checkExcerpt(t, v, w)
		if o.Width == 0 && o.Queue == 0 {
			checkWhole(t, events, w, v.Excerpt(w))
		}
	}
	l := lattice.New(o)
	for i := range events {
		e := events[i]
		e.Clock = slices.Clone(e.Clock)
		l.Event(&e)
		clear(e.Clock) // the lattice keeps a copy
	}
	l.Finish()
	j.stats = l.Stats()
	return j
}

// feasible checks that a witness is a run that the order allows and that is bad only at its end.
func feasible(t *testing.T, events []lattice.Event, p *lattice.Property, variables int, w *lattice.Witness) {
	t.Helper()
	done := make([]bool, len(events))
	r := begin(p, variables)
	for i := range w.Common {
		done[i] = true
		r.take(&events[i])
	}
	if w.From != uint64(w.Common) {
		t.Errorf("from event %d, want %d", w.From, w.Common)
	}
	if !slices.Equal(r.values, w.Values) {
		t.Errorf("values %v, want %v", w.Values, r.values)
	}
	for k, s := range w.Steps {
		i := int(s.Seq - 1)
		if r.bad() {
			t.Errorf("bad before step %d", k+1)
		}
		if !enabled(events, done, i) || !free(events, done, &events[i]) {
			t.Errorf("step %d: event %d is not enabled", k+1, s.Seq)
		}
		done[i] = true
		r.take(&events[i])
		if !slices.Equal(r.values, s.Values) || s.Reads != reads(p, &events[i]) {
			t.Errorf("step %d: values %v, want %v", k+1, s.Values, r.values)
		}
	}
	if !r.bad() {
		t.Errorf("the witness is not bad")
	}
}

func TestEveryRunIsChecked(t *testing.T) {
	some, windows := 0, 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 11))
		variables := 1 + r.IntN(3)
		events := randomEvents(r, 1+r.IntN(4), variables, r.IntN(8))
		props := []lattice.Property{randomProperty(r, variables), randomProperty(r, variables)}
		all := judge(t, events, props, variables, lattice.Options{Queue: r.IntN(3)})
		window := judge(t, events, props, variables, lattice.Options{Width: 1 + r.IntN(4), Queue: r.IntN(4), History: r.IntN(30)})
		if all.stats.Late == 0 && all.stats.Cuts != cutCount(events) {
			t.Errorf("%d cuts, want %d", all.stats.Cuts, cutCount(events))
		}
		for p := range props {
			run := begin(&props[p], variables)
			observed := run.bad()
			want := anyBad(events, make([]bool, len(events)), run.clone())
			for i := range events {
				run.take(&events[i])
				observed = observed || run.bad()
			}
			if observed != all.observed[p] || observed != window.observed[p] {
				t.Errorf("property %d: observed %v, in the window %v, want %v", p, all.observed[p], window.observed[p], observed)
			}
			if want != all.found[p] && (all.stats.Complete() || all.found[p]) {
				t.Errorf("property %d: violated %v, want %v", p, all.found[p], want)
			}
			if window.found[p] && !want || window.stats.Complete() && window.found[p] != want {
				t.Errorf("property %d: violated in the window, want %v", p, want)
			}
			if want && !observed {
				some++
				if window.found[p] {
					windows++
				}
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if some < 50 || windows < 15 {
		t.Errorf("%d predicted, %d in windows: the test says little", some, windows)
	}
}

// TestLongRuns builds lattices of long runs: lanes overflow, slots are many and levels are dropped.
func TestLongRuns(t *testing.T) {
	for seed, c := range []struct{ slots, n, width, queue int }{{2, 3000, 0, 40}, {3, 2000, 8, 300}, {20, 600, 8, 20}, {9, 900, 4, 8}, {2, 900, 1, 1}} {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		events := randomEvents(r, c.slots, 2, c.n)
		p := randomProperty(r, 2)
		p.Monitor = randomMonitor(r, 6)
		j := judge(t, events, []lattice.Property{p}, 2, lattice.Options{Width: c.width, Queue: c.queue, History: 5000})
		if j.stats.Levels != uint64(c.n) || c.width > 0 && j.stats.Widest > c.width {
			t.Errorf("%+v: %+v", c, j.stats)
		}
	}
}

// TestStalledThread: while one thread makes no event, another makes many, and lanes stay narrow.
func TestStalledThread(t *testing.T) {
	events := []lattice.Event{{Slot: 0, Clock: []uint32{1, 0}, Variable: 0, Value: 1, Seq: 1}}
	for i := range uint32(70000) {
		events = append(events, lattice.Event{Slot: 1, Clock: []uint32{0, i + 1}, Variable: 1, Value: uint64(i), Seq: uint64(i + 2)})
	}
	l := build(lattice.Options{Width: 4, Queue: 3}, events, 2)
	if s := l.Stats(); s.Cuts != 2*70001 || l.Lanes() != 8 || !s.Complete() {
		t.Errorf("%+v, lanes of %d bits", s, l.Lanes())
	}
}

func build(o lattice.Options, events []lattice.Event, variables int) *lattice.Lattice {
	o.Initial = make([]uint64, variables)
	l := lattice.New(o)
	for i := range events {
		l.Event(&events[i])
	}
	l.Finish()
	return l
}

// independent returns the writes of n threads, k each, to a variable of its own.
func independent(n, k int) []lattice.Event {
	var events []lattice.Event
	for i := range k {
		for s := range n {
			v := make([]uint32, n)
			v[s] = uint32(i + 1)
			events = append(events, lattice.Event{Slot: uint32(s), Clock: v, Variable: s, Value: uint64(i + 1), Seq: uint64(len(events) + 1)})
		}
	}
	return events
}

func TestLanesWiden(t *testing.T) {
	for _, c := range []struct {
		n, k  int
		cuts  uint64
		lanes uint
	}{{2, 100, 101 * 101, 8}, {2, 300, 301 * 301, 16}, {1, 40000, 40001, 16}, {10, 1, 1024, 8}, {3, 40, 41 * 41 * 41, 8}} {
		l := build(lattice.Options{}, independent(c.n, c.k), c.n)
		if s := l.Stats(); s.Cuts != c.cuts || l.Lanes() < c.lanes {
			t.Errorf("%+v: %+v, lanes of %d bits", c, s, l.Lanes())
		}
	}
}
