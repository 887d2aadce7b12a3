package property

import (
	"github.com/tracepredict/tracepredict/analysis/completion"
	"github.com/tracepredict/tracepredict/observer/event"
)

// history holds the last events of the run, and what properties read of each.
type history struct {
	completion.Completer
	reads []read // by index in Log
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
	if dropped := h.Add(e); dropped > 0 {
		h.reads = h.reads[:copy(h.reads, h.reads[dropped:])]
	}
	h.reads = append(h.reads, r)
}
