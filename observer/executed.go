package observer

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/run"
)

// reached handles the record that a thread is at a place that synchronises unobserved, or
// was there after its record before.
func (o *Observer) reached(t *thread, r *bpf.Record) {
	since := t.seen + 1
	e := o.places[r.Object]
	if e == nil {
		e = &run.Executed{Number: r.Object}
		o.places[r.Object] = e
	}
	if r.Result != 0 && e.Left == 0 {
		e.Left = since
	}
	if o.names.lastThread > 1 && !slices.ContainsFunc(e.Hits, func(h run.Hit) bool { return h.Thread == t.id }) {
		e.Hits = append(e.Hits, run.Hit{Thread: t.id, Since: since})
	}
}

// Executed returns the places that were executed and could order threads, by number.
func (o *Observer) Executed() []run.Executed {
	var all []run.Executed
	for _, number := range slices.Sorted(maps.Keys(o.places)) {
		if e := o.places[number]; len(e.Hits) > 0 || e.Left > 0 {
			all = append(all, *e)
		}
	}
	return all
}
