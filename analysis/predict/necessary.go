package predict

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// prefixes holds, for the first instances of a side, the closure of what must come before each. That of a later
// instance grows from that of the one before, so that all together cost about as much as the last.
type prefixes []*closure

// needShare is how many needs a closure follows in the time of one step of the budget.
const needShare = 8

// newReversal returns a search that may take that many steps.
func newReversal(q *question, base []event.Epoch, steps int) *reversal {
	n := len(q.sides)
	return &reversal{question: q, base: base, steps: steps, index: make([]int, n), needs: [2][]prefixes{make([]prefixes, n), make([]prefixes, n)}}
}

// necessary returns the events that must come before the chosen instances: in every schedule
// if free, else in those that keep the semaphores and failed attempts of this run. The second
// set is more likely to have a schedule. It returns false if the set contains one of the
// instances, or if these would not block each other. All events up to base are in the set; moved says that base is
// not that of the question.
func (r *reversal) necessary(base []event.Epoch, free, moved bool) (*closure, bool) {
	r.steps -= 1 + len(base)/4
	if moved {
		r.c = r.grown(r.from(base, free), r.chosen...)
	} else {
		r.c = r.after(0, r.index[0], free).clone()
		for side := 1; side < len(r.sides); side++ {
			r.c.join(r.after(side, r.index[side], free))
		}
	}
	if slices.ContainsFunc(r.chosen, r.c.has) {
		return nil, false
	}
	r.free = r.free || free
	return r.c, r.kind == finding.Race || r.isCycle()
}

// from returns the set of all events up to base, and of what these need.
func (r *reversal) from(base []event.Epoch, free bool) *closure {
	c := &closure{h: r.h, at: slices.Clone(r.h.cut), next: make([]int, len(base)), free: free}
	for slot, upto := range base {
		c.raise(uint32(slot), upto)
	}
	return c
}

// grown adds what must come before the events to the set, and counts the work.
func (r *reversal) grown(c *closure, all ...*event.Event) *closure {
	for _, e := range all {
		c.before(e)
	}
	r.steps -= c.work / needShare
	c.work = 0
	return c
}

// after returns what must come before the instance of a side with that index.
func (r *reversal) after(side, index int, free bool) *closure {
	known := &r.needs[0][side]
	if free {
		known = &r.needs[1][side]
	}
	for k := len(*known); k <= index; k++ {
		r.steps -= len(r.base) / 4
		*known = append(*known, r.prefix(*known, side, k, free))
	}
	return (*known)[index]
}

// prefix returns what must come before the instance of a side with index k, given that of the ones before it.
func (r *reversal) prefix(known prefixes, side, k int, free bool) *closure {
	e := r.h.find(r.sides[side][k])
	if e == nil {
		return nil // is never chosen
	}
	if k > 0 && known[k-1] != nil {
		if last := r.h.find(r.sides[side][k-1]); last.Slot == e.Slot && last.Epoch < e.Epoch {
			return r.grown(known[k-1].clone(), e)
		}
	}
	return r.grown(r.from(r.base, free), e)
}

// clone returns a copy that grows on its own.
func (c *closure) clone() *closure {
	out := *c
	out.at, out.next = slices.Clone(c.at), slices.Clone(c.next)
	return &out
}

// join adds all events of another closed set. The union of two closed sets is closed.
func (c *closure) join(o *closure) {
	for slot := range c.at {
		if o.at[slot] > c.at[slot] {
			c.at[slot], c.next[slot] = o.at[slot], o.next[slot]
		}
	}
	c.inexact = c.inexact || o.inexact
}
