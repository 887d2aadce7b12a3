package order

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// barrier holds the generations that some arrived thread has not left.
type barrier struct {
	size        uint64       // threads of a generation; 0: unknown
	generations []generation // oldest first
	last        Ref          // arrivals of the last complete generation
}

// generation is one use of a barrier. It is complete, and accepts no more arrivals, once its size
// is reached or a thread has departed: a fast thread that arrives again belongs to the next
// generation, while slow ones have yet to leave this one.
type generation struct {
	arrivals Ref              // the arrivals so far
	inside   []event.ThreadID // threads that have arrived and not departed
	arrived  uint64           // number of arrivals
	complete bool
}

// arrive adds an arrival to the generation that is not complete, or to a new one.
func (m *Matcher) arrive(b *barrier, thread event.ThreadID) {
	if n := len(b.generations); n == 0 || b.generations[n-1].complete {
		b.open()
		m.generations++
	}
	g := &b.generations[len(b.generations)-1]
	m.edge(b.last, ArriveToArrive)
	m.add(&g.arrivals)
	g.inside = append(g.inside, thread)
	if g.arrived++; g.arrived == b.size {
		m.complete(b, g)
	}
}

// open appends a generation, and reuses the memory of a closed one if there is any.
func (b *barrier) open() {
	if n := len(b.generations); n < cap(b.generations) {
		b.generations = b.generations[:n+1]
		g := &b.generations[n]
		*g = generation{inside: g.inside[:0]}
		return
	}
	b.generations = append(b.generations, generation{})
}

// complete ends the arrivals of a generation, which become b.last. The previous b.last is
// released, unless a generation of the list still has that set and releases it when it is closed.
func (m *Matcher) complete(b *barrier, g *generation) {
	if g.complete {
		return
	}
	g.complete = true
	if m.wants(ArriveToArrive) {
		before := b.last
		b.last = g.arrivals
		if !slices.ContainsFunc(b.generations, func(g generation) bool { return g.arrivals == before }) {
			m.release(&before)
		}
	}
}

// depart draws the edges from all arrivals of the generation that the thread leaves.
func (m *Matcher) depart(b *barrier, thread event.ThreadID) {
	for i := range b.generations {
		g := &b.generations[i]
		at := slices.Index(g.inside, thread)
		if at < 0 {
			continue
		}
		m.edge(g.arrivals, ArriveToDepart)
		m.complete(b, g)
		if g.inside = slices.Delete(g.inside, at, at+1); len(g.inside) == 0 {
			m.close(b, i)
		}
		return
	}
}

// close removes generation i, which all its threads have left.
func (m *Matcher) close(b *barrier, i int) {
	g := b.generations[i]
	if g.arrivals != b.last {
		m.release(&g.arrivals)
	}
	n := copy(b.generations[i:], b.generations[i+1:])
	b.generations[i+n] = g // open reuses its memory
	b.generations = b.generations[:i+n]
	m.generations--
}

// dropBarrier releases the sets of a barrier.
func (m *Matcher) dropBarrier(b *barrier) {
	m.generations -= len(b.generations)
	for i := range b.generations {
		if g := &b.generations[i]; g.arrivals != b.last {
			m.release(&g.arrivals)
		}
	}
	m.release(&b.last)
}
