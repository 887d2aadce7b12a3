package predict

import (
	"iter"
	"slices"
	"sort"

	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/event"
)

// closure is a set of events that is closed under thread order, the edges of order.Must and
// reads-from. It is represented by the last epoch in each slot. Method close closes it under the
// lock rule too. It only grows.
type closure struct {
	h       *History
	at      []event.Epoch // by slot: the last epoch in the set
	next    []int         // by slot: index of the first need of an event outside the set
	free    bool          // edges that a reversal may drop (History.droppable) are left out
	inexact bool          // discarded sections made it larger than it need be
	of      int           // History.rearranged, when next was set
	work    int           // needs followed
}

// start returns the smallest closure: the events that were evicted from the beginning.
func (h *History) start() *closure {
	h.update()
	h.removeStale()
	return &closure{h: h, at: slices.Clone(h.cut), next: make([]int, len(h.slots)), of: h.rearranged}
}

func (c *closure) has(e *event.Event) bool { return c.at[e.Slot] >= e.Epoch }

func (c *closure) hasEntry(x *kept.Event) bool { return c.at[x.Slot] >= x.Epoch }

// before adds the events that must come before e, except the write that e reads.
func (c *closure) before(e *event.Event) {
	c.raise(e.Slot, e.Epoch-1)
	needs := c.h.slots[e.Slot].needs
	from := sort.Search(len(needs), func(i int) bool { return needs[i].epoch >= e.Epoch })
	for _, n := range needs[from:] {
		if n.epoch != e.Epoch {
			break
		}
		if !c.free || !c.h.droppable(&n) {
			c.raise(n.slot, n.upto)
		}
	}
}

// raise adds the events of a slot up to an epoch, and all events that they need.
func (c *closure) raise(slot uint32, upto event.Epoch) {
	todo := []need{{slot: slot, upto: upto}}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if n.upto <= c.at[n.slot] {
			continue
		}
		s := c.h.slots[n.slot]
		c.at[n.slot] = n.upto
		if g, in := s.gapAt(n.upto); in {
			c.at[n.slot] = g.last
			c.inexact = c.inexact || g.last != n.upto
		}
		i := c.next[n.slot]
		for ; i < len(s.needs) && s.needs[i].epoch <= c.at[n.slot]; i++ {
			if !c.free || !c.h.droppable(&s.needs[i]) {
				todo = append(todo, s.needs[i])
			}
		}
		c.work += i - c.next[n.slot] + 1
		c.next[n.slot] = i
	}
}

// close applies the lock rule until nothing changes. It returns false if that needs a
// release that the run does not have.
func (c *closure) close() bool {
	for again := true; again; {
		again = false
		for slot := range c.at {
			for x := range c.held(uint32(slot)) {
				if c.released(x) || !c.excluded(uint32(slot), x) {
					continue
				}
				if x.release == 0 {
					return false
				}
				c.raise(x.releaseSlot, x.release)
				again = true
			}
		}
	}
	return true
}

// held returns the critical sections of the slot's thread that are open at the end of the
// set, innermost first.
func (c *closure) held(slot uint32) iter.Seq[*section] { return c.h.slots[slot].heldAt(c.at[slot]) }

// heldAt returns the critical sections that are open after the event at that epoch, innermost
// first. The sections that were open when a section began are found by its field below: the
// section that begins there, and in turn those around it.
func (s *slotHistory) heldAt(epoch event.Epoch) iter.Seq[*section] {
	return func(yield func(*section) bool) {
		for i := s.upTo(epoch); i > 0; {
			x := &s.held[i-1]
			if (x.until == 0 || x.until > epoch) && !yield(x) {
				return
			}
			if i--; i == 0 || s.held[i-1].acquire > x.below {
				i = s.upTo(x.below)
			}
		}
	}
}

// upTo returns the number of sections that begin no later than that epoch.
func (s *slotHistory) upTo(epoch event.Epoch) int {
	return sort.Search(len(s.held), func(i int) bool { return s.held[i].acquire > epoch })
}

// released reports whether the set contains the release, by another thread, of a section that is
// open in its own thread.
func (c *closure) released(x *section) bool {
	return x.release != 0 && x.release <= c.at[x.releaseSlot]
}

// excluded reports whether the set contains a later section that x, open in that slot,
// excludes.
func (c *closure) excluded(slot uint32, x *section) bool {
	l := c.h.locks[x.lock]
	if l == nil {
		return false
	}
	return slices.ContainsFunc(l.slots, func(s *lockSlot) bool {
		return s.slot != slot && (s.discarded != nil && c.discardedAfter(s.discarded, s.slot, x) || c.keptAfter(s, x))
	})
}

// keptAfter reports whether the set contains a kept section of s that is later than x and that
// x excludes.
func (c *closure) keptAfter(s *lockSlot, x *section) bool {
	for i := c.sections(s) - 1; i >= 0 && s.sections[i].seq > x.seq; i-- {
		if !x.shared || !s.sections[i].shared {
			return true
		}
	}
	return false
}

// sections returns the number of the slot's kept sections whose acquire is in the set.
func (c *closure) sections(s *lockSlot) int {
	n, exact := slices.BinarySearchFunc(s.sections, c.at[s.slot], compareSection)
	if exact {
		n++
	}
	return n
}

// discardedAfter is keptAfter for discarded sections, of which only a summary is kept. Where the
// set contains only some of them, it assumes that the last is among these, which may make the
// set too large.
func (c *closure) discardedAfter(l *discardedSections, slot uint32, x *section) bool {
	if c.at[slot] < l.first || l.seq <= x.seq || (x.shared && !l.exclusive) {
		return false
	}
	if c.at[slot] < l.last || x.shared {
		c.inexact = true
	}
	return true
}

// skips reports whether the set leaves out a section of a lock although it contains, or may contain, a later
// one. The data that the lock guards then have values that were not recorded in this run. No event of the set
// comes after the event until.
func (c *closure) skips(until uint64) bool {
	for _, l := range c.h.locks {
		var latest uint64
		for _, s := range l.slots {
			if n := c.sections(s); n > 0 {
				latest = max(latest, s.sections[n-1].seq)
			}
			if d := s.discarded; d != nil && c.at[s.slot] >= d.first {
				latest = max(latest, min(d.seq, until))
			}
		}
		for _, s := range l.slots {
			if n := c.sections(s); n < len(s.sections) && s.sections[n].seq < latest || c.skipsDiscarded(s, latest) {
				return true
			}
		}
	}
	return false
}

// skipsDiscarded reports whether the set may leave out a discarded section that came before the event latest.
func (c *closure) skipsDiscarded(s *lockSlot, latest uint64) bool {
	at := c.at[s.slot]
	if s.discarded == nil || at >= s.discarded.last {
		return false
	}
	gaps := c.h.slots[s.slot].from(at + 1)
	return len(gaps) > 0 && gaps[0].seq < latest
}
