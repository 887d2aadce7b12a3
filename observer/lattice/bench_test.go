package lattice_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/tracepredict/tracepredict/observer/lattice"
)

// counter is a monitor with some states whose bad state no run reaches. It counts the letters in
// which the first proposition holds.
type counter struct{ states lattice.State }

func (c counter) Start(into []lattice.State) []lattice.State { return append(into, 0) }
func (c counter) States() int                                { return int(c.states) + 1 }
func (c counter) Bad(s lattice.State) bool                   { return s == c.states }
func (c counter) Step(into []lattice.State, from lattice.State, l lattice.Letter) []lattice.State {
	if l&1 != 0 {
		return append(into, (from+1)%c.states)
	}
	return append(into, from)
}

// compared makes letters of three propositions over the values.
type compared struct{}

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

// loosely returns n relevant events. One in often, on average, comes after the last event of a
// randomly chosen slot.
func loosely(slots, n, often int) []lattice.Event {
	r := rand.New(rand.NewPCG(1, 2))
	clocks := make([][]uint32, slots)
	for i := range clocks {
		clocks[i] = make([]uint32, slots)
	}
	events := make([]lattice.Event, n)
	all := make([]uint32, n*slots)
	for i := range events {
		s := r.IntN(slots)
		clocks[s][s]++
		if r.IntN(often) == 0 {
			join(clocks[s], clocks[r.IntN(slots)])
		}
		v := all[i*slots : (i+1)*slots]
		copy(v, clocks[s])
		events[i] = lattice.Event{Slot: uint32(s), Clock: v, Variable: s, Value: uint64(r.IntN(10)), Seq: uint64(i + 1)}
	}
	return events
}

func tenStates() []lattice.Property {
	return []lattice.Property{{Monitor: counter{10}, Labels: compared{}}}
}

// BenchmarkWindow has 8 threads and a monitor of 10 states; b.N counts events.
func BenchmarkWindow(b *testing.B) {
	for _, w := range []int{16, 32, 64, 128} {
		b.Run(fmt.Sprintf("w=%d", w), func(b *testing.B) {
			events := loosely(8, b.N, 4)
			l := lattice.New(lattice.Options{Width: w, Queue: w, Initial: make([]uint64, 8), Properties: tenStates()})
			b.ReportAllocs()
			b.ResetTimer()
			for i := range events {
				l.Event(&events[i])
			}
			l.Finish()
			b.StopTimer()
			s := l.Stats()
			b.ReportMetric(float64(s.Cuts)/float64(s.Levels), "cuts/level")
			b.ReportMetric(float64(s.Edges)/float64(s.Levels), "edges/level")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkUnbounded builds the lattice of n threads that write k times each, independently.
func BenchmarkUnbounded(b *testing.B) {
	for _, c := range []struct{ n, k int }{{4, 50}, {8, 6}} {
		b.Run(fmt.Sprintf("n=%d/k=%d", c.n, c.k), func(b *testing.B) {
			events := independent(c.n, c.k)
			var cuts uint64
			for range b.N {
				l := build(lattice.Options{Properties: tenStates()}, events, c.n)
				cuts += l.Stats().Cuts
			}
			b.ReportMetric(float64(cuts)/b.Elapsed().Seconds(), "cuts/s")
		})
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	events := loosely(8, 20000, 4)
	l := lattice.New(lattice.Options{Width: 32, Queue: 32, Initial: make([]uint64, 8), Properties: tenStates(), History: 4000})
	var m, n runtime.MemStats
	for i := range events {
		if i == len(events)/2 {
			runtime.ReadMemStats(&m)
		}
		l.Event(&events[i])
	}
	runtime.ReadMemStats(&n)
	if got := n.Mallocs - m.Mallocs; got > 50 {
		t.Errorf("%d allocations for %d events", got, len(events)/2)
	}
}
