package goodlock

import (
	"math/rand/v2"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// The size of the lock graph that BenchmarkLockGraph searches.
const (
	graphLocks  = 10_000
	graphEdges  = 50_000
	graphCycles = 1_000
	graphLonger = 5 // threads of the longest cycle
)

// lockGraph returns a run of 32 threads that nest locks: 1,000 cycles of two to five threads, and
// otherwise lock-order edges from each cycle or single lock to later ones. These close no cycle,
// but form paths of any length between the cycles.
func lockGraph() []event.Event {
	const threads = 32
	r := rand.New(rand.NewPCG(1, 2))
	var parts [][]event.Event
	for t := event.ThreadID(2); t <= threads; t++ {
		parts = append(parts, fork(1, t))
	}
	group := make([]int, 0, graphLocks) // by lock: its cycle, or a number of its own
	edges := 0
	nesting := func(t, outer, inner int) {
		edges++
		parts = append(parts, nest(event.ThreadID(1+t%threads), event.ObjectID(1+outer), event.ObjectID(1+inner)))
	}
	for i := range graphCycles {
		first, length := len(group), 2+i%(graphLonger-1)
		for j := range length {
			nesting(i+j, first+j, first+(j+1)%length)
			group = append(group, i)
		}
		for range (graphLocks - graphCycles*(2+graphLonger)/2) / graphCycles { // single locks between the cycles
			group = append(group, graphCycles+len(group))
		}
	}
	for len(group) < graphLocks {
		group = append(group, graphCycles+len(group))
	}
	seen := map[[2]int]bool{}
	for edges < graphEdges {
		a, b := r.IntN(len(group)), r.IntN(len(group))
		if k := [2]int{min(a, b), max(a, b)}; group[a] != group[b] && !seen[k] {
			seen[k] = true
			nesting(r.IntN(threads), k[0], k[1])
		}
	}
	return trace(parts...)
}

// BenchmarkLockGraph searches the graph of 10,000 locks and 50,000 edges; one operation is one
// search with its reports.
func BenchmarkLockGraph(b *testing.B) {
	events := lockGraph()
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		a := run(Options{}, events)
		b.StartTimer()
		found := a.Finish()
		if s := a.Stats(); len(found) != graphCycles || s.BudgetHit || s.Edges != graphEdges {
			b.Fatalf("%d findings, %+v", len(found), s)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/search")
}
