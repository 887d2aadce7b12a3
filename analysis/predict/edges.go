package predict

import "github.com/tracepredict/tracepredict/observer/event"

// rise is an entry of a clock that has become greater.
type rise struct {
	slot uint32
	upto event.Epoch
}

// edges records as needs what the event's clock knows more than that of the slot's last event.
// The edge to a read is therefore recorded at the next event of its thread. That is late
// enough: only a candidate comes directly after a closure, and its own read must not count.
//
// Needs of slots from event.LowSlots on are left out where others imply them: among thousands of
// threads, one may learn of thousands of events through a single edge. See implied.
func (h *History) edges(s *slotHistory, e *event.Event) {
	before := s.epoch
	s.epoch = e.Epoch
	if e.Since != 0 && e.Since <= before || e.Must == nil {
		return // only the slot's own count has changed
	}
	s.since = e.Epoch
	s.last.Extend(len(e.Must.Low()))
	last := s.last.Low()
	for i, v := range e.Must.Low() {
		if v > last[i] && uint32(i) != e.Slot {
			s.needs = append(s.needs, need{epoch: e.Epoch, slot: uint32(i), upto: v})
		}
	}
	h.rises = h.rises[:0]
	s.last.HighRises(e.Must, func(slot uint32, upto event.Epoch) {
		if h.slot(slot); slot != e.Slot {
			h.rises = append(h.rises, rise{slot, upto})
		}
	})
	for _, r := range h.implied(e) {
		s.needs = append(s.needs, need{epoch: e.Epoch, slot: r.slot, upto: r.upto})
	}
	s.last.Copy(e.Must)
}

// maxSources bounds the time of implied: the number of rises whose clocks it looks at.
const maxSources = 8

// implied returns those of h.rises that no other one implies, as far as it can tell. A rise implies
// what was known at its event, whose needs lead there: a closure follows them, and a schedule executes
// them before that event. What was known is the clock of the last event of its slot, if that clock has
// not changed since. The rise of the latest event comes first, as it often brought all the others.
//
// The event that ends the lifetime of an object, and a late read, may come after events that are
// discarded later on (see trim), with what these need: nothing is left out there.
func (h *History) implied(e *event.Event) []rise {
	if len(h.rises) < 2 || e.Op == event.Destroy || e.Flags&event.Late != 0 {
		return h.rises
	}
	for sources := 0; sources < min(maxSources, len(h.rises)); sources++ {
		rest := h.rises[sources:]
		latest := 0
		for i, r := range rest {
			if h.latest[r.slot] > h.latest[rest[latest].slot] {
				latest = i
			}
		}
		rest[0], rest[latest] = rest[latest], rest[0]
		from := h.slots[rest[0].slot]
		if from.since > rest[0].upto {
			continue
		}
		kept := rest[:1]
		for _, r := range rest[1:] {
			if r.upto > from.last.At(r.slot) {
				kept = append(kept, r)
			}
		}
		h.rises = h.rises[:sources+len(kept)]
	}
	return h.rises
}
