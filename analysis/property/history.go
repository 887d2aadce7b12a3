package property

import (
	"slices"
	"sort"

	"github.com/tracepredict/tracepredict/observer/event"
)

// history is the last events of the run: at least limit of them, if there were so many.
type history struct {
	limit  int
	events []event.Event // by Seq
	mine   []bool        // which of them are relevant
	masks  []uint64      // which declared events they are
	cut    bool          // earlier ones were forgotten
}

func (h *history) add(e *event.Event, relevant bool, mask uint64) {
	if len(h.events) >= 2*h.limit {
		n := copy(h.events, h.events[len(h.events)-h.limit:])
		copy(h.mine, h.mine[len(h.mine)-h.limit:])
		copy(h.masks, h.masks[len(h.masks)-h.limit:])
		h.events, h.mine, h.masks, h.cut = h.events[:n], h.mine[:n], h.masks[:n], true
	}
	h.events, h.mine, h.masks = append(h.events, *e), append(h.mine, relevant), append(h.masks, mask)
	kept := &h.events[len(h.events)-1]
	kept.Args, kept.Must = nil, nil
}

// at is the position of the first event of a Seq or later.
func (h *history) at(seq uint64) int {
	return sort.Search(len(h.events), func(i int) bool { return h.events[i].Seq >= seq })
}

// find is the event of a Seq, nil if it is not kept.
func (h *history) find(seq uint64) *event.Event {
	if i := h.at(seq); i < len(h.events) && h.events[i].Seq == seq {
		return &h.events[i]
	}
	return nil
}

func (h *history) remember(n *event.Names) {
	for i := range h.events {
		e := &h.events[i]
		n.Thread(e.Thread)
		n.Thread(e.Peer)
		n.Object(e.Object)
		n.Object(e.Object2)
	}
}

// upTo are the events up to a Seq.
func (h *history) upTo(seq uint64) []event.Event { return slices.Clip(h.events[:h.at(seq+1)]) }
