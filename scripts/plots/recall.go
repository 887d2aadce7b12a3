package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// Random programs: so many threads make so many writes, each of a variable of its own,
// some in critical sections of two locks; each program has so many random properties.
const (
	recallThreads    = 4
	recallWrites     = 60
	recallProperties = 12
	values           = 8
	locks            = 2
)

// order is one of the two that --causality offers.
type order struct {
	name   string
	clocks func() *causality.Clocks
	locks  bool // takings and releases are steps
}

var orders = []order{
	{"sync", causality.New, false},
	{"exclusion", causality.NewExclusion, true},
}

// recallWindows are the windows of the plot.
var recallWindows = []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512}

// recallQueues are the queues of the plot: the tool's default, and no limit.
var recallQueues = []int{32, 0}

// recall is what share of the predictable violations a window finds.
type recall struct {
	order       string
	queue       int
	window      int
	found       int // pairs of a program and a property
	predictable int // of them, those that the whole lattice finds
}

func (r recall) share() float64 {
	if r.predictable == 0 {
		return 0
	}
	return float64(r.found) / float64(r.predictable)
}

// measureRecall runs so many programs in both orders under all windows. Properties that
// the observed run violates itself need no prediction, and do not count.
func measureRecall(programs int, seed uint64, windows []int, told func(done int)) ([]recall, error) {
	var out []recall
	for _, o := range orders {
		for _, q := range recallQueues {
			for _, w := range windows {
				out = append(out, recall{order: o.name, queue: q, window: w})
			}
		}
	}
	for i := range programs {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		run, props := randomProgram(r), randomProperties(r)
		part := len(recallQueues) * len(windows)
		for n, o := range orders {
			if err := o.measure(run, props, out[n*part:(n+1)*part]); err != nil {
				return nil, fmt.Errorf("program %d: %w", i, err)
			}
		}
		told(i + 1)
	}
	return out, nil
}

// measure adds what is found of a run to each point.
func (o order) measure(run []event.Event, props []lattice.Property, points []recall) error {
	events := o.relevant(run)
	all, observed := violated(events, props, 0, 0)
	for i := range points {
		p := &points[i]
		found, same := violated(events, props, p.window, p.queue)
		if same != observed || found&^all != 0 {
			return fmt.Errorf("order %s, window %d, queue %d: found are %b, %b of them on this run; by the whole lattice %b and %b",
				o.name, p.window, p.queue, found, same, all, observed)
		}
		p.predictable += count(all &^ observed)
		p.found += count(found &^ observed)
	}
	return nil
}

func count(set uint64) (n int) {
	for ; set != 0; set &= set - 1 {
		n++
	}
	return n
}

// randomProgram makes the run of a program, in which each thread either writes its
// variable or enters or leaves a section. A thread that finds its lock held does
// something else.
func randomProgram(r *rand.Rand) []event.Event {
	var run []event.Event
	do := func(t int, op event.Op, o event.ObjectID, k event.Kind, value uint64) {
		run = append(run, event.Event{Seq: uint64(len(run) + 1), Thread: event.ThreadID(t + 1), Op: op, Object: o, Kind: k, Value: value, Flags: event.HasValue})
	}
	var inside [recallThreads]event.ObjectID // the lock that a thread holds
	for written := 0; written < recallWrites; {
		t := r.IntN(recallThreads)
		mutex := event.ObjectID(recallThreads + 1 + r.IntN(locks))
		switch free := !contains(inside[:], mutex); {
		case inside[t] != 0 && r.IntN(3) == 0:
			do(t, event.Release, inside[t], event.KindMutex, 0)
			inside[t] = 0
		case inside[t] == 0 && r.IntN(5) == 0 && free:
			do(t, event.Acquire, mutex, event.KindMutex, 0)
			inside[t] = mutex
		default:
			do(t, event.Write, event.ObjectID(t+1), event.KindVariable, r.Uint64N(values))
			written++
		}
	}
	for t, mutex := range inside {
		if mutex != 0 {
			do(t, event.Release, mutex, event.KindMutex, 0)
		}
	}
	return run
}

func contains(all []event.ObjectID, o event.ObjectID) bool {
	for _, x := range all {
		if x == o {
			return true
		}
	}
	return false
}

// relevant stamps the events that are steps of the lattice.
func (o order) relevant(run []event.Event) []lattice.Event {
	clocks := o.clocks()
	var out []lattice.Event
	for i := range run {
		e := run[i]
		locking := lattice.NoLock
		switch {
		case o.locks && e.Op == event.Acquire:
			locking = lattice.Acquires
		case o.locks && e.Op == event.Release:
			locking = lattice.Releases
		}
		step := e.Op == event.Write || locking != lattice.NoLock
		slot, clock := clocks.Stamp(&e, step)
		if !step {
			continue
		}
		l := lattice.Event{Slot: slot, Clock: append([]uint32(nil), clock...), Variable: -1, Seq: e.Seq, Lock: uint32(e.Object), Locking: locking}
		if e.Op == event.Write {
			l.Variable, l.Value = int(e.Object)-1, e.Value
		}
		out = append(out, l)
	}
	return out
}

// violated returns the properties (bit i: property i) that some run violates, and those
// that the observed run does.
func violated(events []lattice.Event, props []lattice.Property, window, queue int) (any, observed uint64) {
	l := lattice.New(lattice.Options{
		Width: window, Queue: queue, Initial: make([]uint64, recallThreads), Properties: props, History: 1,
		Violation: func(v *lattice.Violation) {
			any |= 1 << v.Property
			if v.Observed {
				observed |= 1 << v.Property
			}
		},
	})
	for i := range events {
		l.Event(&events[i])
	}
	l.Finish()
	return any, observed
}

// randomProperties are of two sorts: never are two variables in certain states at once;
// and three conditions of that sort are never met one after the other.
func randomProperties(r *rand.Rand) []lattice.Property {
	var out []lattice.Property
	for i := range recallProperties {
		stages := 1 + 2*(i%2)
		var p conditions
		for range stages {
			a := r.IntN(recallThreads)
			b := (a + 1 + r.IntN(recallThreads-1)) % recallThreads
			p = append(p, both{a, b, r.Uint64N(values), r.Uint64N(values)})
		}
		out = append(out, lattice.Property{Monitor: inTurn(len(p)), Labels: p})
	}
	return out
}

// both holds when two variables have certain values at once.
type both struct {
	a, b int
	x, y uint64
}

// conditions are the letters of conditions: bit i is condition i.
type conditions []both

// Letter implements lattice.Labels.
func (s conditions) Letter(values []uint64, _ uint64) (l lattice.Letter) {
	for i, c := range s {
		if values[c.a] == c.x && values[c.b] == c.y {
			l |= 1 << i
		}
	}
	return l
}

// inTurn is a monitor that is bad once so many conditions were met one after the other.
type inTurn lattice.State

// Start implements lattice.Monitor.
func (inTurn) Start(into []lattice.State) []lattice.State { return append(into, 0) }

// Bad implements lattice.Monitor.
func (m inTurn) Bad(s lattice.State) bool { return s == lattice.State(m) }

// Step implements lattice.Monitor.
func (m inTurn) Step(into []lattice.State, from lattice.State, l lattice.Letter) []lattice.State {
	if !m.Bad(from) && l>>from&1 != 0 {
		from++
	}
	return append(into, from)
}
