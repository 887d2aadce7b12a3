// Package calls counts the calls and returns that patterns asked for, and the
// instances that they were on. Events go in, in order; out come counts, which say
// of a run whether a pattern meant what its writer thought. It finds nothing
// wrong. Memory is bounded by patterns and living instances.
package calls

import "github.com/tracepredict/tracepredict/observer/event"

// Count is what a pattern matched.
type Count struct {
	Pattern string // as written
	Return  bool
	Events  uint64
	Objects uint64 // instances that these were on
}

// Counter counts. Make it with New.
type Counter struct {
	names  func(event.FuncID) event.Func
	counts []Count
	index  map[event.On]int
	funcs  [][]int // by FuncID: the counts of its events
	seen   map[pair]struct{}
}

// pair is a living instance and a count that has it.
type pair struct {
	object event.ObjectID
	count  int
}

// New makes a counter that asks names for the functions of events. The patterns
// given come first in the result, also where nothing matches them.
func New(names func(event.FuncID) event.Func, patterns []event.On) *Counter {
	c := &Counter{names: names, index: map[event.On]int{}, seen: map[pair]struct{}{}}
	for _, p := range patterns {
		c.count(p)
	}
	return c
}

// count returns the index of a pattern's count.
func (c *Counter) count(p event.On) int {
	i, ok := c.index[p]
	if !ok {
		i = len(c.counts)
		c.index[p] = i
		c.counts = append(c.counts, Count{Pattern: p.Pattern, Return: p.Return})
	}
	return i
}

// Event takes the next event of the run.
func (c *Counter) Event(e *event.Event) {
	switch {
	case e.Op.IsCall():
		for _, i := range c.of(e.Func) {
			if c.counts[i].Return == (e.Op == event.Return) {
				c.add(i, e.Object)
			}
		}
	case e.Op == event.Destroy && e.Kind == event.KindInstance:
		for i := range c.counts {
			delete(c.seen, pair{e.Object, i})
		}
	}
}

func (c *Counter) add(i int, object event.ObjectID) {
	c.counts[i].Events++
	if object == 0 {
		return
	}
	key := pair{object, i}
	if _, ok := c.seen[key]; !ok {
		c.seen[key] = struct{}{}
		c.counts[i].Objects++
	}
}

// of returns the counts of a function's events. Identifiers of functions are dense.
func (c *Counter) of(id event.FuncID) []int {
	for int(id) >= len(c.funcs) {
		var is []int
		for _, on := range c.names(event.FuncID(len(c.funcs))).On {
			is = append(is, c.count(on))
		}
		c.funcs = append(c.funcs, is)
	}
	return c.funcs[id]
}

// Remember implements observer.Rememberer: nothing is named.
func (c *Counter) Remember(*event.Names) {}

// Counts returns the counts so far, in the order of the patterns.
func (c *Counter) Counts() []Count { return c.counts }
