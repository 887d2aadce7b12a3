package property

import (
	"slices"
	"sort"

	"github.com/tracepredict/tracepredict/observer/event"
)

// history holds the last events of the run: at least limit of them, if there were that many.
type history struct {
	limit     int
	events    []event.Event // in the order of Seq
	kept      []kept        // by position in events
	truncated bool          // earlier events were discarded
}

// kept is what properties read of an event.
type kept struct {
	mask     uint64 // the declared events that it matches
	variable int32  // the index of the variable that it writes; -1: none
	locks    bool   // it is a step of lattices by what it does to a lock
}

// of reports whether an event is one that a slice reads.
func (k kept) of(s *slice) bool { return s.reads(int(k.variable), k.mask, k.locks) }

// add adds the next event of the run, without its arguments and edges of must-happen-before.
func (h *history) add(e *event.Event, k kept) {
	if len(h.events) >= 2*h.limit {
		n := copy(h.events, h.events[len(h.events)-h.limit:])
		copy(h.kept, h.kept[len(h.kept)-h.limit:])
		h.events, h.kept, h.truncated = h.events[:n], h.kept[:n], true
	}
	h.events, h.kept = append(h.events, *e), append(h.kept, k)
	last := &h.events[len(h.events)-1]
	last.Args, last.Must = nil, nil
}

// position returns the position of the first event whose Seq is seq or later.
func (h *history) position(seq uint64) int {
	return sort.Search(len(h.events), func(i int) bool { return h.events[i].Seq >= seq })
}

// find returns the event with a Seq, nil if it is not kept.
func (h *history) find(seq uint64) *event.Event {
	if i := h.position(seq); i < len(h.events) && h.events[i].Seq == seq {
		return &h.events[i]
	}
	return nil
}

// remember adds to n the threads and objects of the kept events.
func (h *history) remember(n *event.Names) {
	for i := range h.events {
		e := &h.events[i]
		n.AddThread(e.Thread)
		n.AddThread(e.Peer)
		n.AddObject(e.Object)
		n.AddObject(e.Object2)
	}
}

// upTo returns the kept events up to a Seq, that included.
func (h *history) upTo(seq uint64) []event.Event { return slices.Clip(h.events[:h.position(seq+1)]) }
