package predict

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// Memory is bounded in two ways, and neither may make a false prediction.
//
// First, of a lock that a thread takes over and over the sections in the middle of
// the run are forgotten, whole outermost sections at a time, if they hold nothing
// but lock operations and reads: no event elsewhere depends on one of them, and
// what the lock rule needs is the Seq of the last (type lost). A run without them
// is still a run, so witnesses and their check go on as if they had not been there.
//
// Second, when that is not enough, the run up to some event is forgotten. It then
// belongs to every closed set: predictions start from the state it led to. Locks
// held and waits begun there stay in the log.

// block is an outermost critical section of a thread with all that is in it.
type block struct {
	first, last event.Epoch // last is 0 while it is open
	pure        bool        // lock operations and reads only
	sections    []*section
}

// gap is a range of epochs of a slot whose events are forgotten.
type gap struct{ first, last event.Epoch }

// lost is the forgotten sections of a lock in a slot.
type lost struct {
	first, last event.Epoch // of acquires; 0: none
	seq         uint64      // of the last
	exclusive   bool        // some are
}

// blocks opens a block at an outermost acquire and sees whether it stays pure.
func (h *History) blocks(e *event.Event) {
	s := h.slot(e.Slot)
	switch e.Op {
	case event.Acquire, event.AcquireRead:
		if s.block == nil {
			s.block = &block{first: e.Epoch, pure: true}
		}
	case event.Release, event.Read:
	default:
		if s.block != nil {
			s.block.pure = false
		}
	}
}

// trim forgets one section of the middle when there are too many.
func (h *History) trim(ls *lockSlot) {
	half := h.opt.Sections / 2
	ls.keep = max(ls.keep, half)
	for len(ls.sections) > h.opt.Sections && ls.keep < len(ls.sections)-half {
		b := ls.sections[ls.keep].block
		if b.pure && b.last != 0 && h.common(b) {
			h.drop(b)
			return
		}
		ls.keep++
	}
}

// common tells whether there are sections enough of every lock in the block: the one
// time that a loop took another lock inside is what a deadlock is made of.
func (h *History) common(b *block) bool {
	return !slices.ContainsFunc(b.sections, func(x *section) bool {
		return len(h.lock(x.lock).slot(x.slot).sections) < h.opt.Sections
	})
}

// drop forgets a block.
func (h *History) drop(b *block) {
	slot := b.sections[0].slot
	for _, x := range b.sections {
		ls := h.lock(x.lock).slot(slot)
		at, ok := slices.BinarySearchFunc(ls.sections, x.acquire, compareAcquire)
		if !ok {
			continue
		}
		ls.sections = slices.Delete(ls.sections, at, at+1)
		if at < ls.keep {
			ls.keep--
		}
		ls.lost.add(x)
	}
	h.slot(slot).addGap(gap{b.first, b.last})
}

func compareAcquire(x *section, e event.Epoch) int { return cmp.Compare(x.acquire, e) }
func compareHeld(x holding, e event.Epoch) int     { return cmp.Compare(x.epoch, e) }
func compareGap(g gap, e event.Epoch) int          { return cmp.Compare(g.last, e) }

func (l *lost) add(x *section) {
	if l.first == 0 || x.acquire < l.first {
		l.first = x.acquire
	}
	if x.acquire > l.last {
		l.last, l.seq = x.acquire, x.seq
	}
	l.exclusive = l.exclusive || !x.shared
}

// addGap adds a range, joined with its neighbours where they touch.
func (s *slotHistory) addGap(g gap) {
	at, _ := slices.BinarySearchFunc(s.gaps, g.first, compareGap)
	if at < len(s.gaps) && s.gaps[at].first == g.last+1 {
		g.last = s.gaps[at].last
		s.gaps = slices.Delete(s.gaps, at, at+1)
	}
	if at > 0 && s.gaps[at-1].last+1 == g.first {
		s.gaps[at-1].last = g.last
		return
	}
	s.gaps = slices.Insert(s.gaps, at, g)
}

// gapAt finds the gap that an epoch lies in.
func (s *slotHistory) gapAt(e event.Epoch) (gap, bool) {
	at, _ := slices.BinarySearchFunc(s.gaps, e, compareGap)
	if at < len(s.gaps) && s.gaps[at].first <= e {
		return s.gaps[at], true
	}
	return gap{}, false
}

// evict makes room in the log: what drop forgot, then the oldest quarter or more.
func (h *History) evict() {
	for i := range h.slots {
		h.slots[i].sweep()
	}
	before := len(h.log)
	h.log = slices.DeleteFunc(h.log, func(e event.Event) bool {
		_, gone := h.slots[e.Slot].gapAt(e.Epoch)
		return gone
	})
	h.evicted += uint64(before - len(h.log))
	if len(h.log) > h.opt.Events/4*3 {
		h.cutAt(h.cutPoint())
	}
}

// sweep drops what is held inside the gaps: closed sets have all of a gap or none.
func (s *slotHistory) sweep() {
	s.held = slices.DeleteFunc(s.held, func(x holding) bool {
		g, in := s.gapAt(x.epoch)
		return in && x.epoch != g.last
	})
}

// cutPoint is how many events of the log to forget. No barrier round may be open
// there, for what is left of it would not say who belongs to it.
func (h *History) cutPoint() int {
	if at := h.index(h.calm); h.calm != 0 && at+1 >= h.opt.Events/4 {
		return at + 1
	}
	if h.barring == 0 {
		return len(h.log)
	}
	h.blind = true
	return h.opt.Events / 2
}

// index is where in the log the event of that Seq is, or would be.
func (h *History) index(seq uint64) int {
	at, _ := slices.BinarySearchFunc(h.log, seq, compareSeq)
	return at
}

func compareSeq(e event.Event, seq uint64) int { return cmp.Compare(e.Seq, seq) }

// cutAt forgets the first n events of the log, but for locks held and waits begun.
func (h *History) cutAt(n int) {
	n = min(n, len(h.log))
	pins := pinned(h.log[:n])
	for i := range h.log[:n] {
		e := &h.log[i]
		h.cut[e.Slot] = max(h.cut[e.Slot], e.Epoch)
	}
	h.evicted += uint64(n - len(pins))
	h.log = slices.Replace(h.log, 0, n, pins...)
	h.calm = 0
	for i := range h.slots {
		h.slots[i].forget(h.cut[i])
	}
	for id, l := range h.locks {
		if l.forget(h.cut) {
			delete(h.locks, id)
		}
	}
}

// pinned is the acquires whose sections, and the waits whose sleep, are not over.
func pinned(events []event.Event) []event.Event {
	open := map[int]bool{}
	latest := func(e *event.Event, same func(x *event.Event) bool) {
		found := -1
		for i := range open {
			if same(&events[i]) && (found < 0 || i < found) {
				found = i
			}
		}
		delete(open, found)
	}
	for i := range events {
		e := &events[i]
		switch e.Op {
		case event.Acquire, event.AcquireRead, event.Wait:
			open[i] = true
		case event.Release:
			own := false
			latest(e, func(x *event.Event) bool {
				is := x.Op.IsAcquire() && x.Object == e.Object && x.Thread == e.Thread
				own = own || is
				return is
			})
			if !own {
				latest(e, func(x *event.Event) bool { return x.Op.IsAcquire() && x.Object == e.Object })
			}
		case event.Wake:
			latest(e, func(x *event.Event) bool { return x.Op == event.Wait && x.Object == e.Object && x.Thread == e.Thread })
		}
	}
	var pins []event.Event
	for i := range events {
		if open[i] {
			pins = append(pins, events[i])
		}
	}
	return pins
}

func (s *slotHistory) forget(cut event.Epoch) {
	at := slices.IndexFunc(s.needs, func(n need) bool { return n.epoch > cut })
	if at < 0 {
		at = len(s.needs)
	}
	s.needs = slices.Delete(s.needs, 0, at)
	from, exact := slices.BinarySearchFunc(s.held, cut, compareHeld)
	if !exact {
		from--
	}
	if from > 0 {
		s.held = slices.Delete(s.held, 0, from)
	}
	to, _ := slices.BinarySearchFunc(s.gaps, cut+1, compareGap)
	s.gaps = slices.Delete(s.gaps, 0, to)
}

// forget drops sections that every closed set has in full; it answers whether
// none is left.
func (l *lockHistory) forget(cut []event.Epoch) bool {
	left := 0
	for i := range l.slots {
		s := &l.slots[i]
		s.sections = slices.DeleteFunc(s.sections, func(x *section) bool { return x.release != 0 && x.release <= cut[x.releaseSlot] })
		if s.lost.last <= cut[s.slot] {
			s.lost = lost{}
		}
		s.keep = 0
		left += len(s.sections)
		if s.lost.last != 0 {
			left++
		}
	}
	l.slots = slices.DeleteFunc(l.slots, func(s lockSlot) bool { return len(s.sections) == 0 && s.lost.last == 0 })
	return left == 0
}
