package predict

import "github.com/tracepredict/tracepredict/observer/event"

// The sections of each lock are what questions and trim look at. An event enters its
// section in the list of its slot, which is near; the locks, of which there may be
// thousands, are brought up to date for many events at once, so that the memory that
// they are in is waited for together. That is done when a question is asked, or when a
// lock may have more sections than are kept: of a run in which neither happens most
// sections are forgotten before their locks ever hear of them.

// Each slot counts its sections, locks that share a count together.
const countBits = 8

// The bounds of how many acquires of locks that may have too many they may be behind.
const leastBatch, mostBatch = 16, 1 << 10

// The cache of locks and slots grows with their number between these
// bounds. A server has thousands: a lock for each bucket of a table.
const leastCached, mostCached = 1 << 13, 1 << 18

// lockHistory is the sections of a lock, by slot and, within it, by epoch.
type lockHistory struct {
	id    event.ObjectID
	slots []*lockSlot
	ids   []uint32 // of slots: what a search looks at
}

// lockSlot fits in one line of a processor's cache, and must: there are as many as threads
// times locks.
type lockSlot struct {
	lock     event.ObjectID
	slot     uint32
	sections []stay
	lost     *lost // nil: none is
	stale    stale
	keep     uint32 // sections before this index are not looked at by trim
	idle     bool   // it had no sections when the index was made anew
}

// stay is a section as its lock knows it.
type stay struct {
	seq     uint64
	acquire event.Epoch
	shared  bool
}

// count counts a section that begins. Behind are only those whose lock may have too many.
func (h *History) count(s *slotHistory, lock event.ObjectID) {
	n := &s.counts[uint64(lock)*0x9e3779b97f4a7c15>>(64-countBits)]
	if int(*n) <= h.enough {
		*n++
		return
	}
	h.behind++
	h.crowded = true
}

// recount counts what the slots have kept.
func (h *History) recount() {
	h.crowded = false
	for _, s := range h.slots {
		clear(s.counts[:])
		for i := range s.held {
			h.count(s, s.held[i].lock)
		}
	}
	h.behind = 0
}

// update brings the locks up to date, and forgets what there is too much of.
func (h *History) update() {
	h.behind = 0
	h.enterOf(0)
	renew := h.outdated
	if h.outdated = false; renew {
		h.empty()
	}
	h.full = h.full[:0]
	for slot, s := range h.slots {
		for s.known < len(s.held) {
			h.place(uint32(slot), s.held[s.known:min(s.known+together, len(s.held))])
			s.known = min(s.known+together, len(s.held))
		}
	}
	for _, l := range h.full {
		h.trim(h.slots[l.slot], l)
	}
	if renew {
		h.forgetLocks()
	}
}

// together is for how many sections the memory of their locks is waited for at once.
const together = 16

// place enters sections of a slot, no more than together, in their locks. It looks at
// all places in the table first, then at all that is there: neither waits for the other.
func (h *History) place(slot uint32, sections []section) {
	var cached [together]*lockSlot
	for i := range sections {
		cached[i] = *h.cacheEntry(slot, sections[i].lock)
	}
	for i := range sections {
		if l := cached[i]; l == nil || l.lock != sections[i].lock || l.slot != slot {
			cached[i] = h.lockSlot(slot, sections[i].lock)
		}
	}
	for i := range sections {
		l, x := cached[i], &sections[i]
		l.sections = append(l.sections, stay{x.seq, x.acquire, x.shared})
		if n := len(h.full); l.live() > h.enough && (n == 0 || h.full[n-1] != l) {
			h.full = append(h.full, l)
		}
	}
}

func (h *History) lock(id event.ObjectID) *lockHistory {
	l := h.locks[id]
	if l == nil {
		l = &lockHistory{id: id}
		h.locks[id] = l
	}
	return l
}

// lockSlot finds what a slot does with a lock.
func (h *History) lockSlot(slot uint32, id event.ObjectID) *lockSlot {
	cached := h.cacheEntry(slot, id)
	if ls := *cached; ls != nil && ls.lock == id && ls.slot == slot {
		return ls
	}
	ls := h.lock(id).slot(h, slot)
	if h.pairs > len(h.cache)/2 && len(h.cache) < mostCached {
		h.cache = make([]*lockSlot, 4*len(h.cache))
		cached = h.cacheEntry(slot, id)
	}
	*cached = ls
	return ls
}

// cacheEntry returns where in the cache a lock and slot are, if they are there.
func (h *History) cacheEntry(slot uint32, id event.ObjectID) **lockSlot {
	mixed := (uint64(id)<<32 | uint64(slot)) * 0x9e3779b97f4a7c15 >> 32
	return &h.cache[mixed%uint64(len(h.cache))]
}

func (l *lockHistory) slot(h *History, slot uint32) *lockSlot {
	for i, id := range l.ids {
		if id == slot {
			return l.slots[i]
		}
	}
	ls := &lockSlot{}
	if n := len(h.spare); n > 0 {
		ls, h.spare = h.spare[n-1], h.spare[:n-1]
	}
	*ls = lockSlot{lock: l.id, slot: slot, sections: ls.sections[:0]}
	l.slots, l.ids = append(l.slots, ls), append(l.ids, slot)
	h.pairs++
	return ls
}

const noSlot = ^uint32(0)

// maxSpare bounds the lists that wait to be used again.
const maxSpare = 1 << 12

// empty has the locks know of no section, to be made anew from what the slots have kept.
func (h *History) empty() {
	for _, l := range h.locks {
		for _, ls := range l.slots {
			ls.sections, ls.keep, ls.stale = ls.sections[:0], 0, stale{}
			if ls.lost != nil && ls.lost.last <= h.cut[ls.slot] {
				ls.lost = nil
			}
		}
	}
	for _, s := range h.slots {
		s.known = 0
	}
}

func (h *History) forgetLocks() {
	for id, l := range h.locks {
		if h.forgetLock(l) {
			delete(h.locks, id)
		}
	}
}

// forgetLock drops what had no sections the last time either: others are often there for
// the next. It answers whether none is left.
func (h *History) forgetLock(l *lockHistory) bool {
	left := l.slots[:0]
	l.ids = l.ids[:0]
	for _, ls := range l.slots {
		kept := len(ls.sections) > 0 || ls.lost != nil
		if kept || !ls.idle {
			ls.idle = !kept
			left, l.ids = append(left, ls), append(l.ids, ls.slot)
			continue
		}
		h.pairs--
		ls.lock, ls.slot = 0, noSlot // not to be found in the cache
		if len(h.spare) < maxSpare {
			h.spare = append(h.spare, ls)
		}
	}
	clear(l.slots[len(left):])
	l.slots = left
	return len(left) == 0
}
