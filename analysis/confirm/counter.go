package confirm

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// The bounds of a Counter. What exceeds them has no number.
const (
	maxHits    = 1 << 20 // acquires, and as many other events, 24 bytes each
	maxThreads = 1 << 16
)

// Counter numbers the threads of a run, and the events of each before which it could be stopped, so that they can be
// recognised in another run. It is a Sink of the observer. Memory is bounded.
type Counter struct {
	// Renumbered, if not nil, returns the number that an event of the run has now.
	Renumbered func(seq uint64) uint64

	hits    map[event.ThreadID][]hit
	kept    [2]int // hits of all threads: acquires, and others
	paths   map[event.ThreadID][]int
	created map[event.ThreadID]int
}

// hit is an event before which its thread could be stopped.
type hit struct {
	seq    uint64
	stack  event.StackID
	object event.ObjectID
	flags  event.Flags
	op     event.Op
}

// acquires reports whether the hit is an acquire, or one that failed.
func (h *hit) acquires() bool { return h.op.IsAcquire() || h.op == event.AcquireFailed }

// NewCounter returns a Counter for a run that has not begun, which the first thread begins.
func NewCounter() *Counter {
	return &Counter{hits: map[event.ThreadID][]hit{}, paths: map[event.ThreadID][]int{1: {}}, created: map[event.ThreadID]int{}}
}

// Event implements observer.Sink.
func (c *Counter) Event(e *event.Event) {
	if e.Op == event.Fork {
		if path, known := c.paths[e.Thread]; known && len(c.paths) < maxThreads {
			c.paths[e.Peer] = append(slices.Clip(path), c.created[e.Thread])
		}
		c.created[e.Thread]++
		return
	}
	h := hit{e.Seq, e.Stack, e.Object, e.Flags, e.Op}
	sort := 1
	switch {
	case h.acquires():
		sort = 0
	case !Stops(e.Op, e.Flags):
		return
	}
	if c.kept[sort] < maxHits {
		c.kept[sort]++
		c.hits[e.Thread] = append(c.hits[e.Thread], h)
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

// Stacks returns the call stacks of acquires, each once, in the order in which threads came to them first.
func (c *Counter) Stacks() (all []event.StackID) {
	first := map[event.StackID]uint64{}
	for _, hits := range c.hits {
		for i := range hits {
			h := &hits[i]
			if seq, known := first[h.stack]; h.acquires() && (!known || h.seq < seq) {
				first[h.stack] = h.seq
			}
		}
	}
	return slices.SortedFunc(maps.Keys(first), func(a, b event.StackID) int { return cmp.Compare(first[a], first[b]) })
}

// Acquires returns how often threads came to acquires at calls that in accepts.
func (c *Counter) Acquires(in func(event.StackID) bool) (n int) {
	for _, hits := range c.hits {
		for i := range hits {
			if hits[i].acquires() && in(hits[i].stack) {
				n++
			}
		}
	}
	return n
}

// Threads returns the number of threads of the run, the first one among them.
func (c *Counter) Threads() int { return len(c.paths) }

// Path returns a thread by its creation: how many threads had been created before it by the same thread, from the first
// thread on. ok is false if that is not known.
func (c *Counter) Path(t event.ThreadID) (path []int, ok bool) {
	path, ok = c.paths[t]
	return path, ok
}

// Number returns which acquire of its thread at calls that same accepts an event is, from 1. ok is
// false if it is not known.
func (c *Counter) Number(t event.ThreadID, seq uint64, same func(event.StackID) bool) (n uint32, ok bool) {
	for i := range c.hits[t] {
		h := &c.hits[t][i]
		if !h.acquires() {
			continue
		}
		if same(h.stack) {
			n++
		}
		if c.now(h) == seq {
			return n, n > 0
		}
	}
	return 0, false
}

// Since returns which event of its thread, of those that same accepts, an event is, from 1, counted behind another one
// of the thread. ok is false if it is not known.
func (c *Counter) Since(t event.ThreadID, behind, seq uint64, same func(event.Op, event.StackID) bool) (n uint32, ok bool) {
	for i := range c.hits[t] {
		h := &c.hits[t][i]
		at := c.now(h)
		if at > behind && at <= seq && Stops(h.op, h.flags) && same(h.op, h.stack) {
			n++
		}
		if at == seq {
			return n, n > 0
		}
	}
	return 0, false
}

// next returns the first event of a thread behind a number, of those that stops accepts.
func (c *Counter) next(t event.ThreadID, behind uint64, stops func(*finding.Step) bool) (s finding.Step, ok bool) {
	for i := range c.hits[t] {
		h := &c.hits[t][i]
		at := c.now(h)
		if at <= behind || !Stops(h.op, h.flags) {
			continue
		}
		s = finding.Step{Seq: at, Thread: t, Op: h.op, Flags: h.flags, Object: h.object, Stack: h.stack}
		if stops(&s) {
			return s, true
		}
	}
	return finding.Step{}, false
}

// now returns the number that a hit has now.
func (c *Counter) now(h *hit) uint64 {
	if c.Renumbered == nil {
		return h.seq
	}
	return c.Renumbered(h.seq)
}
