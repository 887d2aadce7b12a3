package predict

import (
	"cmp"
	"slices"
	"sort"

	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Memory is bounded in two ways, and neither may cause a false prediction.
//
// First, where a thread acquires a lock over and over, sections from the middle of the run are
// discarded. A block is discarded as a whole: an outermost critical section with all events
// in it. It must contain nothing but lock operations and reads. No event elsewhere depends on
// one of these, and the lock rule needs no more than the Seq of the last (type
// discardedSections). A run without them is still a feasible run, so witnesses and their check
// work as if they had never been there.
//
// Second, when that is not enough, the beginning of the run up to some event is evicted. Every
// closure then contains it: predictions start from the state that it led to. Acquires
// of locks that are held there and waits that have begun there stay in the log.

// Both are done in large steps, so that many events share their cost. The sections of a lock
// are trimmed when there are a quarter too many, and the log when it is full. Lists are swept
// when more than a quarter of them is stale, or when a question is asked.

// gap is a range of epochs of a slot whose events are discarded: one block or several.
type gap struct {
	first, last event.Epoch
	seq         uint64 // of the event of the first epoch
}

// discardedSections summarises the discarded sections of a lock in a slot.
type discardedSections struct {
	first, last event.Epoch // of the first and the last acquire; 0: none
	seq         uint64      // of the last acquire
	exclusive   bool        // some section was exclusive
}

// stride returns by how many sections a lock may exceed Options.Sections.
func (o Options) stride() int { return max(1, o.Sections/4) }

// live returns the number of sections that are kept.
func (l *lockSlot) live() int { return len(l.sections) - int(l.stale.n) }

// trim discards sections of the middle of the run if there are more than a stride too many,
// down to Options.Sections.
func (h *History) trim(s *slotHistory, l *lockSlot) {
	stride := h.opt.stride()
	if l.live() <= h.opt.Sections+stride {
		return
	}
	half := h.opt.Sections / 2
	l.keep = max(l.keep, uint32(half))
	if len(l.sections)-half < int(l.keep)+stride {
		return
	}
	l.removeStale(s)
	h.newGaps = h.newGaps[:0]
	upto, at := event.Epoch(0), 0
	for ; l.live() > h.opt.Sections && int(l.keep) < len(l.sections)-half; l.keep++ {
		if x := l.sections[l.keep].acquire; x > upto {
			at = s.next(at, x)
			upto = h.discardBlock(s, l.slot, at)
		}
	}
	s.addGaps(h)
	l.removeStale(s)
	if int(s.stale.n) > len(s.held)/4 {
		s.removeStale()
		h.rearranged++
	}
}

// next returns the index in held of the first section whose acquire is not before that epoch.
// The search starts at index from, which must not be behind it and is often near.
func (s *slotHistory) next(from int, acquire event.Epoch) int {
	end := min(from+16, len(s.held))
	for i := from; i < end; i++ {
		if s.held[i].acquire >= acquire {
			return i
		}
	}
	return end + sort.Search(len(s.held)-end, func(i int) bool { return s.held[end+i].acquire >= acquire })
}

// discardBlock discards the block of the section at index at of held, if the block may be left
// out of the run. It returns the block's last epoch, or 0 if nothing was discarded.
func (h *History) discardBlock(s *slotHistory, slot uint32, at int) event.Epoch {
	if at == len(s.held) {
		return 0
	}
	first := s.blockAt(at)
	head := &s.held[first]
	if head.acquire != s.held[at].block || head.impure || head.last == 0 {
		return 0
	}
	end := at + 1
	for end < len(s.held) && s.held[end].block == head.acquire {
		end++
	}
	block := s.held[first:end]
	if !h.common(slot, block) {
		return 0
	}
	for i := range block {
		x := &block[i]
		l := h.lockSlot(slot, x.lock)
		l.stale.add(1, x.acquire)
		if l.discarded == nil {
			l.discarded = &discardedSections{}
		}
		l.discarded.add(x)
	}
	s.stale.add(len(block), head.acquire)
	h.thinned += uint64(len(block))
	h.hasStale = true
	h.newGaps = append(h.newGaps, gap{head.acquire, head.last, head.seq})
	return head.last
}

// blockAt returns the index in held at which the block of the section at that index begins.
// Blocks may be of any length: a thread may hold one lock during all of its work.
func (s *slotHistory) blockAt(at int) int {
	block := s.held[at].block
	if s.held[at].acquire == block {
		return at
	}
	if s.head >= 0 && s.held[s.head].acquire == block {
		return s.head
	}
	return min(at, max(0, s.upTo(block)-1))
}

// common reports whether more than Options.Sections sections are kept of every lock in the
// block. A block with a rarely acquired lock is kept: the one iteration of a loop that acquired
// another lock inside may be part of a deadlock.
func (h *History) common(slot uint32, block []section) bool {
	for i := range block {
		if h.lockSlot(slot, block[i].lock).live() <= h.opt.Sections {
			return false
		}
	}
	return true
}

func compareSection(x lockSection, e event.Epoch) int { return cmp.Compare(x.acquire, e) }
func compareGap(g gap, e event.Epoch) int             { return cmp.Compare(g.last, e) }

func (l *discardedSections) add(x *section) {
	if l.first == 0 || x.acquire < l.first {
		l.first = x.acquire
	}
	if x.acquire > l.last {
		l.last, l.seq = x.acquire, x.seq
	}
	l.exclusive = l.exclusive || !x.shared
}

// addGaps adds the ranges in h.fresh, joined with their neighbours where they touch.
func (s *slotHistory) addGaps(h *History) {
	fresh := h.newGaps
	if len(fresh) == 0 {
		return
	}
	h.unswept = true
	at, _ := slices.BinarySearchFunc(s.gaps, fresh[0].first, compareGap)
	h.tail = append(h.tail[:0], s.gaps[at:]...)
	s.gaps = s.gaps[:at]
	for tail := h.tail; len(tail)+len(fresh) > 0; {
		from := &fresh
		if len(fresh) == 0 || (len(tail) > 0 && tail[0].first < fresh[0].first) {
			from = &tail
		}
		s.addGap((*from)[0])
		*from = (*from)[1:]
	}
}

// addGap appends a range that comes after all others.
func (s *slotHistory) addGap(g gap) {
	if n := len(s.gaps); n > 0 && s.gaps[n-1].last+1 == g.first {
		s.gaps[n-1].last = g.last
		return
	}
	s.gaps = append(s.gaps, g)
}

// gapAt returns the gap that an epoch lies in, and whether there is one.
func (s *slotHistory) gapAt(e event.Epoch) (gap, bool) {
	at, _ := slices.BinarySearchFunc(s.gaps, e, compareGap)
	if at < len(s.gaps) && s.gaps[at].first <= e {
		return s.gaps[at], true
	}
	return gap{}, false
}

// lastGap returns the last gap that begins no later than that epoch, and whether there is one.
func (s *slotHistory) lastGap(upto event.Epoch) (gap, bool) {
	at := sort.Search(len(s.gaps), func(i int) bool { return s.gaps[i].first > upto })
	if at == 0 {
		return gap{}, false
	}
	return s.gaps[at-1], true
}

// sieve finds out, for ascending epochs, whether they lie in a gap. It holds the gaps that are
// still to come.
type sieve []gap

func (g *sieve) holds(e event.Epoch) bool {
	gaps := *g
	for len(gaps) > 0 && gaps[0].last < e {
		gaps = gaps[1:]
	}
	*g = gaps
	return len(gaps) > 0 && gaps[0].first <= e
}

// from returns the sieve for epochs from e on.
func (s *slotHistory) from(e event.Epoch) sieve {
	at, _ := slices.BinarySearchFunc(s.gaps, e, compareGap)
	return s.gaps[at:]
}

// stale counts the sections of a list that lie in gaps.
type stale struct {
	n    uint32
	from event.Epoch // acquire of the first of them
}

func (x *stale) add(n int, from event.Epoch) {
	if x.n == 0 || from < x.from {
		x.from = from
	}
	x.n += uint32(n)
}

// removeStale removes the lock's sections that lie in gaps.
func (l *lockSlot) removeStale(s *slotHistory) {
	if l.stale.n == 0 {
		return
	}
	to, _ := slices.BinarySearchFunc(l.sections, l.stale.from, compareSection)
	from, keep := to, int(l.keep)
	gone := s.from(l.stale.from)
	for ; from < len(l.sections) && from-to < int(l.stale.n); from++ {
		if x := l.sections[from]; !gone.holds(x.acquire) {
			l.sections[to] = x
			to++
		} else if from < int(l.keep) {
			keep--
		}
	}
	l.sections = l.sections[:to+copy(l.sections[to:], l.sections[from:])]
	l.keep, l.stale = uint32(keep), stale{}
}

// removeStale removes the slot's sections that lie in gaps. They all come before the open block.
func (s *slotHistory) removeStale() {
	if s.stale.n == 0 {
		return
	}
	to := s.next(0, s.stale.from)
	from := to
	gone := s.from(s.stale.from)
	for ; from < len(s.held) && from-to < int(s.stale.n); from++ {
		if x := &s.held[from]; !gone.holds(x.acquire) {
			s.held[to] = *x
			to++
		}
	}
	s.held = s.held[:to+copy(s.held[to:], s.held[from:])]
	s.indexed -= from - to
	for i := range s.open {
		s.open[i] -= from - to
	}
	if s.head >= 0 {
		s.head -= from - to
	}
	s.join(s.stale.from)
	s.stale = stale{}
}

// join merges the edges into each gap, from that epoch on: one is left for each slot that they
// come from. That loses nothing, since a closure contains all of a gap or nothing of it.
func (s *slotHistory) join(epoch event.Epoch) {
	to := sort.Search(len(s.needs), func(i int) bool { return s.needs[i].epoch >= epoch })
	begin, in := to, gap{}
	gone := s.from(epoch)
	for _, n := range s.needs[to:] {
		if !gone.holds(n.epoch) {
			s.needs[to] = n
			to++
			continue
		}
		if gone[0] != in {
			begin, in = to, gone[0]
		}
		same := slices.IndexFunc(s.needs[begin:to], func(x need) bool { return x.slot == n.slot && x.kept == n.kept && x.semaphore == n.semaphore })
		if same >= 0 {
			x := &s.needs[begin+same]
			x.upto = max(x.upto, n.upto)
			continue
		}
		s.needs[to] = n
		to++
	}
	s.needs = s.needs[:to]
}

// filter removes the slot's sections for which keep returns false.
func (s *slotHistory) filter(keep func(*section) bool) {
	kept := s.held[:0]
	s.open, s.head, s.releasedElsewhere = s.open[:0], -1, 0
	for i := range s.held {
		x := &s.held[i]
		if !keep(x) {
			continue
		}
		if x.until == 0 {
			s.open = append(s.open, len(kept))
			if x.release != 0 {
				s.releasedElsewhere++
			}
		}
		kept = append(kept, *x)
	}
	s.held = kept
	if len(s.open) > 0 {
		block := s.held[s.open[0]].block
		// A trace whose epochs run backwards, which package clock never makes, has no such section.
		if at := s.next(0, block); at < len(s.held) && s.held[at].acquire == block {
			s.head = at
		}
	}
}

// removeStale removes the sections that lie in gaps from every list.
func (h *History) removeStale() {
	if !h.hasStale {
		return
	}
	h.hasStale = false
	h.rearranged++
	for _, l := range h.locks {
		for _, ls := range l.slots {
			ls.removeStale(h.slots[ls.slot])
		}
	}
	for _, s := range h.slots {
		s.removeStale()
	}
}

// evict makes room in the log. It removes the events that trim discarded and, if more than
// three quarters are left, the oldest quarter or more.
func (h *History) evict() {
	if h.opt.BeforeEviction != nil {
		h.opt.BeforeEviction()
		h.derived = derived{}
	}
	h.moveLoneOf(0)
	if h.mayExceed {
		h.update()
	}
	h.removeStale()
	h.sweep()
	if len(h.log) > h.opt.Events/4*3 {
		h.cutAt(h.cutPoint())
	}
	h.recount()
}

// leastEvents is the least number of events that Shrink leaves room for.
const leastEvents = 1 << 12

// Shrink halves the number of events that are kept, and evicts the oldest beyond it. It reports whether it did: it
// does not where few are kept.
func (h *History) Shrink() bool {
	if h.opt.Events/2 < leastEvents {
		return false
	}
	h.opt.Events /= 2
	if len(h.log) >= h.opt.Events {
		h.evict()
	}
	h.log = append(make(kept.Log, 0, max(len(h.log), h.opt.Events)), h.log...)
	h.steps, h.derived = nil, derived{}
	return true
}

// sweep removes the events of the log that lie in gaps.
func (h *History) sweep() {
	h.unswept = false
	gone, any := make([]sieve, len(h.slots)), false
	for i, s := range h.slots {
		gone[i] = s.gaps
		any = any || len(s.gaps) > 0
	}
	if !any {
		return
	}
	to := 0
	for i := range h.log {
		x := &h.log[i]
		if gone[x.Slot].holds(x.Epoch) {
			continue
		}
		if to != i {
			h.log[to] = *x
		}
		to++
	}
	h.evicted += uint64(len(h.log) - to)
	h.log = h.log[:to]
}

// cutPoint returns how many events of the log to evict. No barrier generation may be open at
// that point, since the events left of it would not show which threads belong to it. Where
// there is no such point, half the log is evicted, and no question is answered from then on
// (blind).
func (h *History) cutPoint() int {
	if at := h.log.Index(h.quiescentSeq); h.quiescentSeq != 0 && at+1 >= h.opt.Events/4 {
		return at + 1
	}
	if h.match.Generations() == 0 {
		return len(h.log)
	}
	h.blind = true
	return h.opt.Events / 2
}

// cutAt evicts the first n events of the log, except acquires of locks that are held at that
// point and waits that have begun.
func (h *History) cutAt(n int) {
	n = min(n, len(h.log))
	pins := h.cutSlots(h.log[:n])
	h.rearranged++
	for i, s := range h.slots {
		s.evictUpTo(h.cut[i], h.cut)
		for k := range s.held {
			x := &s.held[k]
			if x.acquire > h.cut[i] {
				break
			}
			if e := h.entry(x.seq); e != nil {
				pins = append(pins, *e)
			}
		}
	}
	slices.SortFunc(pins, func(x, y kept.Event) int { return cmp.Compare(x.Seq, y.Seq) })
	h.evicted += uint64(n - len(pins))
	h.log = slices.Replace(h.log, 0, n, pins...)
	h.quiescentSeq = 0
	h.outdated = true
}

// cutSlots moves the slots' cuts behind some events. It returns the waits among these that no
// wake among them ends.
func (h *History) cutSlots(events kept.Log) kept.Log {
	var waits kept.Log
	for i := range events {
		e := &events[i]
		h.cut[e.Slot] = max(h.cut[e.Slot], e.Epoch)
		switch e.Op {
		case event.Wait:
			waits = append(waits, *e)
		case event.Wake:
			if at := slices.IndexFunc(waits, func(x kept.Event) bool { return x.Object == e.Object && x.Thread == e.Thread }); at >= 0 {
				waits = slices.Delete(waits, at, at+1)
			}
		}
	}
	return waits
}

// evictUpTo removes the needs, sections and gaps of the slot that are not after its cut.
func (s *slotHistory) evictUpTo(cut event.Epoch, cuts []event.Epoch) {
	at := sort.Search(len(s.needs), func(i int) bool { return s.needs[i].epoch > cut })
	s.needs = slices.Delete(s.needs, 0, at)
	s.filter(func(x *section) bool {
		return (x.until == 0 || x.until > cut) && (x.release == 0 || x.release > cuts[x.releaseSlot])
	})
	to, _ := slices.BinarySearchFunc(s.gaps, cut+1, compareGap)
	s.gaps = slices.Delete(s.gaps, 0, to)
}
