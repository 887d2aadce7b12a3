package predict

import "github.com/tracepredict/tracepredict/observer/event"

// Questions and trim need the sections of each lock. An event adds its section only to the list
// of its slot, which is near in memory. The lists of the locks, of which there may be
// thousands, are updated for many sections at once, so that their cache misses overlap. That
// happens when a question is asked, or when a lock may have more sections than are kept. In a
// run where neither happens, most sections are evicted without ever being added to the list
// of their lock.

// countBits is the number of bits of a lock's hash that select a count in slotHistory.counts.
// Locks with the same bits share a count.
const countBits = 8

// The bounds of History.batch.
const leastBatch, mostBatch = 16, 1 << 10

// The bounds of the size of History.cache, which grows with the number of lockSlots. A server
// has thousands of locks: one for each bucket of a table.
const leastCached, mostCached = 1 << 13, 1 << 18

// lockHistory holds the sections of a lock, by slot and, within it, by epoch.
type lockHistory struct {
	id    event.ObjectID
	slots []*lockSlot
	ids   []uint32 // the slot of each element of slots, side by side for the search
}

// lockSlot holds the sections of a lock in a slot. It must fit in one cache line of the
// processor, since there may be as many as threads times locks.
type lockSlot struct {
	lock      event.ObjectID
	slot      uint32
	sections  []lockSection
	discarded *discardedSections // nil: no section was discarded
	stale     stale
	keep      uint32 // trim skips the sections before this index
	idle      bool   // it had no sections at the last rebuild (dropUnusedSlots)
}

// lockSection is a section in the list of its lock.
type lockSection struct {
	seq     uint64
	acquire event.Epoch
	shared  bool
}

// count counts a section that begins. If its lock may have more than enough sections, the
// section adds to History.behind.
func (h *History) count(s *slotHistory, lock event.ObjectID) {
	n := &s.counts[uint64(lock)*0x9e3779b97f4a7c15>>(64-countBits)]
	if int(*n) <= h.enough {
		*n++
		return
	}
	h.behind++
	h.mayExceed = true
}

// recount counts the sections that the slots have kept.
func (h *History) recount() {
	h.mayExceed = false
	for _, s := range h.slots {
		clear(s.counts[:])
		for i := range s.held {
			h.count(s, s.held[i].lock)
		}
	}
	h.behind = 0
}

// update adds the new sections of the slots to the lists of their locks, and trims the locks
// that have too many.
func (h *History) update() {
	h.behind = 0
	h.moveLoneOf(0)
	renew := h.outdated
	if h.outdated = false; renew {
		h.empty()
	}
	h.overfull = h.overfull[:0]
	for slot, s := range h.slots {
		for s.indexed < len(s.held) {
			h.addSections(uint32(slot), s.held[s.indexed:min(s.indexed+batchSize, len(s.held))])
			s.indexed = min(s.indexed+batchSize, len(s.held))
		}
	}
	for _, l := range h.overfull {
		h.trim(h.slots[l.slot], l)
	}
	if renew {
		h.dropUnusedLocks()
	}
}

// batchSize is the number of sections whose cache misses overlap.
const batchSize = 16

// addSections adds sections of a slot, at most batchSize, to the lists of their locks. It first
// reads the cache entries of all, and then the lockSlots of all, so that the misses of each pass
// overlap.
func (h *History) addSections(slot uint32, sections []section) {
	var cached [batchSize]*lockSlot
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
		l.sections = append(l.sections, lockSection{x.seq, x.acquire, x.shared})
		if n := len(h.overfull); l.live() > h.enough && (n == 0 || h.overfull[n-1] != l) {
			h.overfull = append(h.overfull, l)
		}
	}
}

// lock returns the history of a lock, and makes it if there is none.
func (h *History) lock(id event.ObjectID) *lockHistory {
	l := h.locks[id]
	if l == nil {
		l = &lockHistory{id: id}
		h.locks[id] = l
	}
	return l
}

// lockSlot returns the sections of a lock in a slot.
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

// cacheEntry returns the only element of the cache that a lock and slot may be in.
func (h *History) cacheEntry(slot uint32, id event.ObjectID) **lockSlot {
	mixed := (uint64(id)<<32 | uint64(slot)) * 0x9e3779b97f4a7c15 >> 32
	return &h.cache[mixed%uint64(len(h.cache))]
}

// slot returns the lock's sections in a slot, and makes the lockSlot if there is none.
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

// noSlot is the slot of a lockSlot that is not in use.
const noSlot = ^uint32(0)

// maxSpare bounds the lockSlots that are kept for reuse.
const maxSpare = 1 << 12

// empty removes all sections from the lists of locks, which update then rebuilds from those
// that the slots have kept.
func (h *History) empty() {
	for _, l := range h.locks {
		for _, ls := range l.slots {
			ls.sections, ls.keep, ls.stale = ls.sections[:0], 0, stale{}
			if ls.discarded != nil && ls.discarded.last <= h.cut[ls.slot] {
				ls.discarded = nil
			}
		}
	}
	for _, s := range h.slots {
		s.indexed = 0
	}
}

// dropUnusedLocks drops the locks that dropUnusedSlots leaves without a lockSlot.
func (h *History) dropUnusedLocks() {
	for id, l := range h.locks {
		if h.dropUnusedSlots(l) {
			delete(h.locks, id)
		}
	}
}

// dropUnusedSlots drops the lockSlots that had no sections at this rebuild nor at the one before.
// One that is empty for the first time stays: it is often used again soon. It reports whether none
// is left.
func (h *History) dropUnusedSlots(l *lockHistory) bool {
	left := l.slots[:0]
	l.ids = l.ids[:0]
	for _, ls := range l.slots {
		kept := len(ls.sections) > 0 || ls.discarded != nil
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
