package order

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// barrier is the generations that not everybody has left.
type barrier struct {
	size        uint64 // threads of a generation; 0: unknown
	generations []generation
	last        Ref // arrivals of the last generation that is complete
}

// generation is one use of a barrier. It takes no more arrivals once it has its size or
// somebody has departed: a fast thread that is back belongs to the next generation, while
// slow ones have yet to leave this one.
type generation struct {
	arrivals Ref
	inside   []event.ThreadID
	arrived  uint64
	complete bool
}

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

// open begins a generation, in the memory of an earlier one if there is any.
func (b *barrier) open() {
	if n := len(b.generations); n < cap(b.generations) {
		b.generations = b.generations[:n+1]
		g := &b.generations[n]
		*g = generation{inside: g.inside[:0]}
		return
	}
	b.generations = append(b.generations, generation{})
}

// complete ends the arrivals of a generation.
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

// depart draws the edges from all arrivals of the thread's generation.
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

// close ends a generation that everybody has left.
func (m *Matcher) close(b *barrier, i int) {
	g := b.generations[i]
	if g.arrivals != b.last {
		m.release(&g.arrivals)
	}
	n := copy(b.generations[i:], b.generations[i+1:])
	b.generations[i+n] = g // for open
	b.generations = b.generations[:i+n]
	m.generations--
}

func (m *Matcher) dropBarrier(b *barrier) {
	m.generations -= len(b.generations)
	for i := range b.generations {
		if g := &b.generations[i]; g.arrivals != b.last {
			m.release(&g.arrivals)
		}
	}
	m.release(&b.last)
}
