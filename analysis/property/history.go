package property

import (
	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/event"
)

// history holds the last events of the run: at least limit of them, if there were that many. It is another log than that
// of predict.History, because it keeps other events. The witness of a property is the run itself in another order, from the
// last state on that both have in common: nothing may be missing from the middle of it, where predict.History discards the
// critical sections of which a lock has many. And events of a property may be calls, which predict.History never gets: they
// would evict what it needs for races and deadlocks.
type history struct {
	limit     int
	log       kept.Log
	reads     []read // by index in log
	truncated bool   // earlier events were discarded
}

// read is what properties read of an event.
type read struct {
	mask     uint64 // the declared events that it matches
	variable int32  // the index of the variable that it writes; -1: none
	locks    bool   // it is a step of lattices by what it does to a lock
}

// of reports whether an event is one that a slice reads.
func (r read) of(s *slice) bool { return s.reads(int(r.variable), r.mask, r.locks) }

// add adds the next event of the run.
func (h *history) add(e *event.Event, r read) {
	if len(h.log) >= 2*h.limit {
		n := copy(h.log, h.log[len(h.log)-h.limit:])
		copy(h.reads, h.reads[len(h.reads)-h.limit:])
		h.log, h.reads, h.truncated = h.log[:n], h.reads[:n], true
	}
	h.log.Add(e, 2*h.limit)
	h.reads = append(h.reads, r)
}

// upTo returns the kept events up to a Seq, that included.
func (h *history) upTo(seq uint64) []event.Event { return h.log[:h.log.Index(seq+1)].Events() }
