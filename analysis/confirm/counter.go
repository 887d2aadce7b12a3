package confirm

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// The bounds of a Counter. What exceeds them has no number.
const (
	maxHits    = 1 << 20 // acquires, 16 bytes each
	maxThreads = 1 << 16
)

// Counter numbers the threads of a run, and the acquires of each, so that they can be recognised in another run. It is a
// Sink of the observer. Memory is bounded.
type Counter struct {
	hits    map[event.ThreadID][]hit
	kept    int // hits of all threads
	paths   map[event.ThreadID][]int
	created map[event.ThreadID]int
}

// hit is an acquire, or one that failed.
type hit struct {
	seq   uint64
	stack event.StackID
}

// NewCounter returns a Counter for a run that has not begun, which the first thread begins.
func NewCounter() *Counter {
	return &Counter{hits: map[event.ThreadID][]hit{}, paths: map[event.ThreadID][]int{1: {}}, created: map[event.ThreadID]int{}}
}

// Event implements observer.Sink.
func (c *Counter) Event(e *event.Event) {
	switch {
	case e.Op == event.Fork:
		if path, known := c.paths[e.Thread]; known && len(c.paths) < maxThreads {
			c.paths[e.Peer] = append(slices.Clip(path), c.created[e.Thread])
		}
		c.created[e.Thread]++
	case !e.Op.IsAcquire() && e.Op != event.AcquireFailed:
	case c.kept == maxHits:
	default:
		c.kept++
		c.hits[e.Thread] = append(c.hits[e.Thread], hit{e.Seq, e.Stack})
	}
}

// Remember implements observer.Rememberer.
func (c *Counter) Remember(n *event.Names) {
	for _, hits := range c.hits {
		for _, h := range hits {
			n.AddStack(h.stack)
		}
	}
}

// Path returns a thread by its creation: how many threads had been created before it by the same thread, from the first
// thread on. ok is false if that is not known.
func (c *Counter) Path(t event.ThreadID) (path []int, ok bool) {
	path, ok = c.paths[t]
	return path, ok
}

// Number returns which acquire of its thread at calls that same accepts an event is, from 1. number, if not nil, returns
// the number that an event of the run has now. ok is false if it is not known.
func (c *Counter) Number(t event.ThreadID, seq uint64, number func(uint64) uint64, same func(event.StackID) bool) (n uint32, ok bool) {
	for _, h := range c.hits[t] {
		now := h.seq
		if number != nil {
			now = number(now)
		}
		if same(h.stack) {
			n++
		}
		if now == seq {
			return n, n > 0
		}
	}
	return 0, false
}
