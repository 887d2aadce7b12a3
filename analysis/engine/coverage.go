package engine

import (
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// coverage returns what was looked for in the run.
func (e *Engine) coverage(names run.Namer) report.Coverage {
	c, raced := &e.counts, e.options.Raced
	out := report.Coverage{Misuse: !e.options.Misuse.Off}
	for k := range event.NumKinds {
		n := c.Objects(k)
		if k == event.KindMutex {
			n -= ofLoader(c.Mutexes(), names)
		}
		if n > 0 && synchronises(k) {
			out.Objects = append(out.Objects, report.KindCount{Kind: k, Count: n})
		}
	}
	out.Variables, out.Fields = c.MoreRaced(event.KindVariable), c.MoreRaced(event.KindField)
	for _, id := range c.Raced() {
		switch o := names.Object(id); {
		case raced != nil && !raced(o.Name):
		case o.Kind == event.KindField:
			out.Fields++
		default:
			out.Variables++
		}
	}
	return out
}

// ofLoader returns the number of mutexes that are the dynamic loader's own: it locks them in every
// program.
func ofLoader(mutexes []event.ObjectID, names run.Namer) (n uint64) {
	for _, id := range mutexes {
		if o := names.Object(id); o.OfLoader() {
			n++
		}
	}
	return n
}

// synchronises reports whether objects of a kind order threads.
func synchronises(k event.Kind) bool {
	switch k {
	case event.KindUnknown, event.KindVariable, event.KindField, event.KindInstance:
		return false
	}
	return true
}
