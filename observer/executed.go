package observer

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/run"
)

// recordExecuted handles the record that a thread executes, or has executed after its
// previous record, code that synchronises unobserved.
func (o *Observer) recordExecuted(t *thread, r *bpf.Record) {
	since := t.lastEvent + 1
	e := o.executed[r.Object]
	if e == nil {
		e = &run.Executed{Number: r.Object}
		o.executed[r.Object] = e
	}
	if r.Result != 0 && e.ObservedUntil == 0 {
		e.ObservedUntil = since
	}
	if o.names.lastThread > 1 && !slices.ContainsFunc(e.Hits, func(h run.Hit) bool { return h.Thread == t.id }) {
		e.Hits = append(e.Hits, run.Hit{Thread: t.id, Since: since})
	}
}

// Executed returns the unobserved synchronising places that were executed while there were
// several threads, or that were not observed to the end, in the order of their numbers.
func (o *Observer) Executed() []run.Executed {
	var all []run.Executed
	for _, number := range slices.Sorted(maps.Keys(o.executed)) {
		if e := o.executed[number]; len(e.Hits) > 0 || e.ObservedUntil > 0 {
			all = append(all, *e)
		}
	}
	return all
}
