package observer

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/run"
)

// recordExecuted handles the record of an execution of code whose synchronisation no probe
// observes. The execution may have begun at any time after the thread's previous record.
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
	if o.names.lastThread > 1 {
		e.Hits = append(e.Hits, run.Hit{Thread: t.id, Since: since, Until: o.stats.Events + uint64(len(o.postponed))})
	}
}

// Executed returns the instructions that synchronise unobserved, in the order of their numbers:
// those that were executed while there were several threads, and those whose executions were
// not recorded to the end of the run. Their hits are all that were recorded: the BPF program sends
// only the first.
func (o *Observer) Executed() []run.Executed {
	var all []run.Executed
	for _, number := range slices.Sorted(maps.Keys(o.executed)) {
		if e := o.executed[number]; len(e.Hits) > 0 || e.ObservedUntil > 0 {
			one := *e
			one.Hits = slices.Clone(e.Hits)
			all = append(all, one)
		}
	}
	return all
}
