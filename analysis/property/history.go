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
	relevant  []bool        // by position in events
	masks     []uint64      // by position in events: the declared events that it matches
	truncated bool          // earlier events were discarded
}

// add adds the next event of the run, without its arguments and edges of must-happen-before.
func (h *history) add(e *event.Event, relevant bool, mask uint64) {
	if len(h.events) >= 2*h.limit {
		n := copy(h.events, h.events[len(h.events)-h.limit:])
		copy(h.relevant, h.relevant[len(h.relevant)-h.limit:])
		copy(h.masks, h.masks[len(h.masks)-h.limit:])
		h.events, h.relevant, h.masks, h.truncated = h.events[:n], h.relevant[:n], h.masks[:n], true
	}
	h.events, h.relevant, h.masks = append(h.events, *e), append(h.relevant, relevant), append(h.masks, mask)
	kept := &h.events[len(h.events)-1]
	kept.Args, kept.Must = nil, nil
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
