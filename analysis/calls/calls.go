// Package calls counts the calls and returns that match the patterns of --on, and the
// instances that they were made on. The input is events, in order; the output is counts, from
// which the user sees whether a pattern matched what was meant. The package makes no findings.
// Memory is bounded by the number of functions, of patterns and of live instances.
package calls

import (
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Counter counts calls and returns. New makes it.
type Counter struct {
	names  func(event.FuncID) event.Func
	counts []run.Calls           // one for each pattern
	given  int                   // counts of patterns that New was given; they come first
	index  map[event.Pattern]int // the index in counts
	funcs  [][]int               // by FuncID: the indices in counts of the patterns that the function matches
	seen   map[pair]struct{}
}

// pair is a live instance and a count that includes it.
type pair struct {
	object event.ObjectID
	count  int // index in counts
}

// New returns a counter that calls names for the functions of events. The given patterns
// come first in the result, even those that nothing matches.
func New(names func(event.FuncID) event.Func, patterns []event.Pattern) *Counter {
	c := &Counter{names: names, index: map[event.Pattern]int{}, seen: map[pair]struct{}{}}
	for _, p := range patterns {
		c.count(p)
	}
	c.given = len(c.counts)
	return c
}

// count returns the index of a pattern's count, which it adds if it is new.
func (c *Counter) count(p event.Pattern) int {
	i, ok := c.index[p]
	if !ok {
		i = len(c.counts)
		c.index[p] = i
		c.counts = append(c.counts, run.Calls{Pattern: p.Pattern, Return: p.Return})
	}
	return i
}

// Event processes the next event of the run.
func (c *Counter) Event(e *event.Event) {
	switch {
	case e.Op.IsCall():
		for _, i := range c.of(e.Func) {
			if c.wants(i, e) {
				c.add(i, e.Object)
			}
		}
	case e.Op == event.Destroy && e.Kind == event.KindInstance:
		for i := range c.counts {
			delete(c.seen, pair{e.Object, i})
		}
	}
}

// wants reports whether a call or return is of a pattern's kind.
func (c *Counter) wants(i int, e *event.Event) bool {
	p := event.Pattern{Pattern: c.counts[i].Pattern, Return: c.counts[i].Return}
	if e.Op == event.Return {
		return p.Ends(e.Flags)
	}
	return !p.Return
}

// add counts an event on an instance, 0 for none.
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

// of returns the indices in counts of the patterns that a function matches. FuncIDs are dense.
func (c *Counter) of(id event.FuncID) []int {
	for int(id) >= len(c.funcs) {
		var is []int
		for _, on := range c.names(event.FuncID(len(c.funcs))).Patterns {
			is = append(is, c.count(on))
		}
		c.funcs = append(c.funcs, is)
	}
	return c.funcs[id]
}

// Remember implements observer.Rememberer. A Counter names nothing.
func (c *Counter) Remember(*event.Names) {}

// Counts returns the counts so far, in the order of the patterns: of those that New was given, and of others that an event
// matched.
func (c *Counter) Counts() []run.Calls {
	var out []run.Calls
	for i, n := range c.counts {
		if i < c.given || n.Events > 0 {
			out = append(out, n)
		}
	}
	return out
}
