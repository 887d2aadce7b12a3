package main

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/tracepredict/tracepredict/observer/lattice"
	"github.com/tracepredict/tracepredict/scripts/figures"
)

// What stays the same while something else varies.
const (
	costThreads = 8
	costWindow  = 64
	costStates  = 10
)

// axis is what the time of an event is measured over.
type axis struct {
	name   string // of its files
	title  string
	values []int
	setup  func(value int) setup
}

type setup struct{ threads, window, states int }

var axes = []axis{
	{"threads", "threads t", []int{4, 6, 8, 12, 16, 20, 24, 32}, func(v int) setup { return setup{v, costWindow, costStates} }},
	{"window", "window w, in states", []int{4, 8, 16, 32, 64, 96, 128, 192, 256}, func(v int) setup { return setup{costThreads, v, costStates} }},
	{"monitor", "states of the monitor m", []int{2, 5, 10, 20, 40, 60, 80, 100}, func(v int) setup { return setup{costThreads, costWindow, v} }},
}

// cost is the time of an event at one value of an axis.
type cost struct {
	axis            string
	value           int
	median, from    float64 // µs an event, over the rounds
	to              float64
	states          float64 // on a level, on average
	threads, window int
	monitor         int
}

// measureCost measures all axes in each round, so that a busy moment of the machine is
// the same to all, on one core.
func measureCost(events, rounds int, told func(round int)) []cost {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var out []cost
	var setups []setup
	for _, a := range axes {
		for _, v := range a.values {
			s := a.setup(v)
			out = append(out, cost{axis: a.name, value: v, threads: s.threads, window: s.window, monitor: s.states})
			setups = append(setups, s)
		}
	}
	all := make([][]float64, len(out))
	for round := range rounds {
		for i, s := range setups {
			took, states := s.run(events)
			all[i] = append(all[i], took)
			out[i].states = states
		}
		told(round + 1)
	}
	for i := range out {
		out[i].median, out[i].from, out[i].to = figures.Median(all[i]), slices.Min(all[i]), slices.Max(all[i])
	}
	return out
}

// run returns the µs that an event takes, and the states of a level.
func (s setup) run(n int) (micros, states float64) {
	events := loosely(s.threads, n, 4)
	l := lattice.New(lattice.Options{
		Width: s.window, Queue: s.window, Initial: make([]uint64, s.threads),
		Properties: []lattice.Property{{Monitor: ring{lattice.State(s.states)}, Labels: compared{}}},
	})
	runtime.GC()
	began := time.Now()
	for i := range events {
		l.Event(&events[i])
	}
	l.Finish()
	took := time.Since(began)
	stats := l.Stats()
	return float64(took.Nanoseconds()) / 1e3 / float64(n), float64(stats.Cuts) / float64(stats.Levels)
}

// loosely makes relevant events of threads, each a write of the thread's own variable,
// of which one in often knows the last event of another thread.
func loosely(threads, n, often int) []lattice.Event {
	r := rand.New(rand.NewPCG(1, 2))
	clocks := make([][]uint32, threads)
	for i := range clocks {
		clocks[i] = make([]uint32, threads)
	}
	events, all := make([]lattice.Event, n), make([]uint32, n*threads)
	for i := range events {
		s := r.IntN(threads)
		clocks[s][s]++
		if r.IntN(often) == 0 {
			for k, v := range clocks[r.IntN(threads)] {
				clocks[s][k] = max(clocks[s][k], v)
			}
		}
		v := all[i*threads : (i+1)*threads]
		copy(v, clocks[s])
		events[i] = lattice.Event{Slot: uint32(s), Clock: v, Variable: s, Value: r.Uint64N(10), Seq: uint64(i + 1)}
	}
	return events
}

// ring is a monitor that goes round its states, or stays, as either of two propositions
// says, and is never bad: a cut may hold all states at once.
type ring struct{ states lattice.State }

// Start implements lattice.Monitor.
func (ring) Start(into []lattice.State) []lattice.State { return append(into, 0) }

// States implements lattice.Counted, as the monitors of specifications do.
func (m ring) States() int { return int(m.states) + 1 }

// Bad implements lattice.Monitor.
func (m ring) Bad(s lattice.State) bool { return s == m.states }

// Step implements lattice.Monitor.
func (m ring) Step(into []lattice.State, from lattice.State, l lattice.Letter) []lattice.State {
	if l&1 != 0 {
		return append(into, (from+1)%m.states)
	}
	return append(into, from)
}

// compared letters have three propositions over the values.
type compared struct{}

// Letter implements lattice.Labels.
func (compared) Letter(values []uint64, _ uint64) (l lattice.Letter) {
	var sum uint64
	for _, v := range values {
		sum += v
	}
	if sum%5 == 0 {
		l |= 1
	}
	if values[0] > values[len(values)-1] {
		l |= 2
	}
	if values[0] == 7 {
		l |= 4
	}
	return l
}

// line is the straight line by least squares, and what share of the variance it explains.
type line struct{ at0, slope, r2 float64 }

func fit(xs, ys []float64) line {
	n := float64(len(xs))
	var sx, sy, sxx, sxy, syy float64
	for i, x := range xs {
		y := ys[i]
		sx, sy, sxx, sxy, syy = sx+x, sy+y, sxx+x*x, sxy+x*y, syy+y*y
	}
	dx, dy, d := n*sxx-sx*sx, n*syy-sy*sy, n*sxy-sx*sy
	if dx == 0 {
		return line{at0: sy / n}
	}
	l := line{slope: d / dx, r2: 1}
	l.at0 = (sy - l.slope*sx) / n
	if dy != 0 {
		l.r2 = d * d / (dx * dy)
	}
	return l
}
