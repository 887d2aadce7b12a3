package typestate

import (
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Mem is a tuple of the database of races.
type Mem struct {
	Thread event.ThreadID
	Locks  []locks.Member
	Call   int
}

// OnPair calls see for each pair of tuples that race, also of an object of which one is known.
func (r *Races) OnPair(see func(earlier, later Mem)) {
	r.pair = func(x, y mem) { see(Mem{x.thread, x.locks, x.call}, Mem{y.thread, y.locks, y.call}) }
}

// Kept returns the numbers of objects and tuples that are kept, together, counted one by one.
func (r *Races) Kept() (n int) {
	for x := range r.objects.All() {
		n += 1 + len(x.Object.tuples)
	}
	if n != r.kept {
		return -1
	}
	return n
}
