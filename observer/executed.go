package observer

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Executed is a place that synchronises unobserved and was executed.
type Executed struct {
	Place uint64 // its number in records
	// Hits are the first of each thread that could order it with others: a place that
	// is executed while there is one thread orders nothing.
	Hits []Hit
	// Left is the number of the first event from which on nobody looked at the place
	// any more, so that any thread may have been there; 0: to the end.
	Left uint64
}

// Hit is a thread at a place, which was there before the event with number Since.
type Hit struct {
	Thread event.ThreadID
	Since  uint64
}

// reached takes that a thread is at a place, or just was: after its record before.
func (o *Observer) reached(t *thread, r *bpf.Record) {
	since := t.seen + 1
	e := o.places[r.Object]
	if e == nil {
		e = &Executed{Place: r.Object}
		o.places[r.Object] = e
	}
	if r.Result != 0 && e.Left == 0 {
		e.Left = since
	}
	if o.names.lastThread > 1 && !slices.ContainsFunc(e.Hits, func(h Hit) bool { return h.Thread == t.id }) {
		e.Hits = append(e.Hits, Hit{t.id, since})
	}
}

// Executed lists the places that were executed and could order threads, by number.
func (o *Observer) Executed() []Executed {
	var all []Executed
	for _, number := range slices.Sorted(maps.Keys(o.places)) {
		if e := o.places[number]; len(e.Hits) > 0 || e.Left > 0 {
			all = append(all, *e)
		}
	}
	return all
}
