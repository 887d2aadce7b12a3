package predict

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// History keeps the part of a run that questions need. Make it with New: the zero value is
// not ready. It is not safe for concurrent use.
type History struct {
	opt    Options
	log    kept.Log
	slots  []*slotHistory
	lone   []loneSection                   // by slot
	locks  map[event.ObjectID]*lockHistory // brought up to date by update
	cache  []*lockSlot                     // direct-mapped cache in front of locks, by slot and lock
	pairs  int                             // lockSlots in use
	behind int                             // acquires since the last update of locks that may have more than enough sections
	batch  int                             // the number of behind at which update is called
	enough int                             // sections of a lock in a slot; trim discards some if there are more
	orders map[event.ObjectID]*objectOrder
	match  *order.Matcher
	points [][]point // by order.Ref
	latest []uint64  // by slot: the Seq of its last event
	rises  []rise    // scratch of edges
	// semaphores holds the index in posters of the semaphores of which an edge has one.
	semaphores map[event.ObjectID]uint16
	posters    []posters // the first is of no semaphore

	cut     []event.Epoch // by slot: the last epoch of the evicted beginning of the run; 0: none
	evicted uint64        // events
	thinned uint64        // sections of the middle of the run that were discarded
	// quiescentSeq is the Seq of the last event at which no barrier generation was open while
	// the log was at most three quarters full; 0: none.
	quiescentSeq uint64
	derived      derived
	steps        []finding.Step // scratch of question.projected
	blind        bool           // the beginning was evicted up to an event inside a barrier generation
	// rearranged counts how often the elements of slotHistory.needs were moved.
	rearranged int
	// reversals is the number of steps of Options.Reversals that are spent.
	reversals int
	// interruptions is the number of steps that Interrupt has taken.
	interruptions int
	// stuckSteps is the number of steps that Stuck has taken.
	stuckSteps int
	witnesses  execution.Tally
	unsettled  uint64          // findings that were not settled because Options.Reversals was spent
	byValue    bool            // reads may see any write of the value that they saw in the run; see ByValue
	any        map[uint64]bool // the Seq of reads and updates that may see any write; see AnyValue
	hasStale   bool            // lists still contain sections that lie in gaps
	unswept    bool            // the log may still contain events that lie in gaps
	outdated   bool            // locks still contain evicted sections; the next update rebuilds them
	mayExceed  bool            // some lock may have more than enough sections

	spare    []*lockSlot // not in use
	overfull []*lockSlot // scratch of update
	newGaps  []gap       // scratch of trim
	tail     []gap       // scratch of addGaps
}

// New returns an empty history.
func New(o Options) *History {
	o = o.filled()
	return &History{
		opt:    o,
		batch:  min(max(o.stride(), leastBatch), mostBatch),
		enough: o.Sections + o.stride(),
		cache:  make([]*lockSlot, leastCached),
		locks:  map[event.ObjectID]*lockHistory{},
		orders: map[event.ObjectID]*objectOrder{},
		match:  order.New(order.Kept),

		semaphores: map[event.ObjectID]uint16{}, posters: make([]posters, 1),
	}
}

// Bounds returns the options, with the defaults filled in.
func (h *History) Bounds() Options { return h.opt }

// Thinned returns the number of critical sections of the middle of the run that were
// discarded because of Options.Sections. Evicted counts their events once the log is swept.
func (h *History) Thinned() uint64 { return h.thinned }

// Unsettled returns the number of findings that Settle left as they were because
// Options.Reversals was spent before all schedules were tried.
func (h *History) Unsettled() uint64 { return h.unsettled }

// Evicted returns the number of events that were removed from the log.
func (h *History) Evicted() uint64 { return h.evicted }

// Witnesses returns the counts of witnesses that were checked. One that the checker refuses,
// other than for an event that was not seen, is an error of this package.
func (h *History) Witnesses() execution.Tally { return h.witnesses }

// Remember adds to n the threads and objects that a result may still name.
func (h *History) Remember(n *event.Names) {
	h.log.Remember(n)
}

// mayFollowAny reports whether the event is an update that may come after any write.
func mayFollowAny(x *kept.Event) bool { return x.Op == event.Update && x.Flags&event.ResultUnused != 0 }

// mayReadAny reports whether the event is a read whose value its thread at most prints: it may see any write.
func mayReadAny(x *kept.Event) bool { return x.Op == event.Read && x.Flags&event.ResultUnused != 0 }

// slotHistory is the part of a history that belongs to one slot of the clocks.
type slotHistory struct {
	last              event.Clock // clock of the slot's last event; its own count is not valid
	since             event.Epoch // of the event at which last became what it is
	epoch             event.Epoch // of the slot's last event
	needs             []need      // by epoch
	held              []section   // by epoch of the acquire
	open              []int       // indices in held of the sections without an until, outermost first
	head              int         // index in held of the open block's first section; -1: no block is open, or that section was evicted
	releasedElsewhere int         // number of sections in open that another slot has released
	indexed           int         // number of sections of held, from its beginning, that are in History.locks
	gaps              []gap       // by epoch: discarded blocks
	stale             stale       // of held

	// counts holds, by a hash of the lock, at least the number of sections in held and lone;
	// it stops one above History.enough.
	counts [1 << countBits]uint32
}

// loneSection is the open critical section of a slot, as long as it is the slot's only open one and
// contains nothing but reads. Most sections end in this state, and are then appended to
// slotHistory.held complete (closeLone). Code that needs an open one there calls moveLone first.
type loneSection struct {
	seq     uint64 // of the acquire
	lock    event.ObjectID
	thread  event.ThreadID
	acquire event.Epoch // 0: there is none
	shared  bool
}

// need is an edge into an event of the slot: the events of another slot, up to epoch upto,
// come before the event at epoch.
type need struct {
	epoch event.Epoch
	slot  uint32
	upto  event.Epoch
	// kept reports that a reversal may drop the edge, as long as the value of the semaphore
	// allows its operations, or another reader holds the lock at a failed attempt.
	kept bool
	// semaphore is, of a kept edge from a post of the only thread that had posted so far, the index in
	// History.posters of the semaphore: a reversal may drop the edge only if that changes. 0: it may drop it.
	semaphore uint16
}

// droppable reports whether a reversal may drop an edge.
func (h *History) droppable(n *need) bool {
	return n.kept && (n.semaphore == 0 || h.posters[n.semaphore].several)
}

// posters is what is known of the threads that post to a semaphore.
type posters struct {
	several bool // more than one thread has posted, or one that had waited
}

// semaphoreIndex returns the index in History.posters of a semaphore; 0: there are too many.
func (h *History) semaphoreIndex(id event.ObjectID) uint16 {
	at, known := h.semaphores[id]
	if !known && len(h.posters) < maxSemaphores {
		at = uint16(len(h.posters))
		h.posters = append(h.posters, posters{})
		h.semaphores[id] = at
	}
	return at
}

// maxSemaphores bounds the semaphores of a run whose posters are told apart. Of further ones no edge
// from a post to a wait is kept by reversals.
const maxSemaphores = 1<<16 - 1

// section is a critical section, from the acquire to the release of one lock. Questions need the
// sections of any part of the log, by slot and with releases by other threads; package locks knows
// only those that are open now.
type section struct {
	seq     uint64 // of the acquire
	lock    event.ObjectID
	thread  event.ThreadID
	acquire event.Epoch
	below   event.Epoch // acquire of the innermost section around it, or 0
	until   event.Epoch // the epoch from which the slot no longer holds the lock; 0: it still does
	// The release is an event of another slot where a thread releases a lock that another
	// thread acquired. Epoch 0: not released.
	releaseSlot uint32
	release     event.Epoch
	block       event.Epoch // acquire of the outermost section around it, or its own
	last        event.Epoch // of an outermost section: the end of the block; 0: it is open
	shared      bool
	impure      bool // of an outermost section: the block contains more than lock operations and reads
}

// Event takes the next event of the run, which must have been stamped (observer/clock).
func (h *History) Event(e *event.Event) {
	if e.Epoch == 0 {
		return
	}
	if e.Op == event.Destroy && e.Flags&event.Inferred != 0 {
		h.destroy(e.Object) // no thread did it, so it orders nothing
		return
	}
	if e.Op == event.Init && e.Flags&event.Inferred != 0 {
		return
	}
	s := h.slot(e.Slot)
	h.edges(s, e)
	h.latest[e.Slot] = e.Seq
	switch e.Op {
	case event.Acquire, event.AcquireRead:
		if l := &h.lone[e.Slot]; l.acquire == 0 && len(s.open) == 0 {
			*l = loneSection{e.Seq, e.Object, e.Thread, e.Epoch, e.Op == event.AcquireRead}
		} else {
			h.moveLone(e.Slot)
			h.acquire(s, e)
		}
		h.count(s, e.Object)
	case event.Release:
		if l := &h.lone[e.Slot]; l.acquire != 0 && l.lock == e.Object && l.thread == e.Thread {
			s.closeLone(l, e)
		} else {
			h.moveLone(e.Slot)
			h.release(s, e)
		}
	case event.Read:
	default:
		h.moveLone(e.Slot)
		s.markImpure()
		h.other(e)
	}
	h.log.Add(e, h.opt.Events)
	if h.derived.some {
		h.derived = derived{}
	}
	if h.match.Generations() == 0 && len(h.log) <= h.opt.Events/4*3 {
		h.quiescentSeq = e.Seq
	}
	if len(h.log) >= h.opt.Events {
		h.evict()
	}
	if h.behind >= h.batch {
		h.update()
	}
}

// other takes an event that is neither an acquire, a release nor a read.
func (h *History) other(e *event.Event) {
	switch e.Op {
	case event.AcquireFailed:
		h.failed(e)
	case event.SemPost, event.SemWait, event.SemFailed, event.BarrierArrive, event.BarrierDepart,
		event.Send, event.Receive, event.Receiving, event.ReceiveFailed:
		h.synchronise(e)
	case event.Init:
		if e.Flags&event.HasValue != 0 && (e.Kind == event.KindSemaphore || e.Kind == event.KindBarrier) {
			h.synchronise(e)
		}
	case event.Destroy:
		h.destroy(e.Object)
	}
}

func (h *History) slot(s uint32) *slotHistory {
	for len(h.slots) <= int(s) {
		h.slots = append(h.slots, &slotHistory{head: -1})
		h.lone = append(h.lone, loneSection{})
		h.cut, h.latest = append(h.cut, 0), append(h.latest, 0)
	}
	return h.slots[s]
}

// need adds an edge that is not in the clocks.
func (h *History) need(e *event.Event, slot uint32, upto event.Epoch) {
	if slot != e.Slot && upto > 0 {
		s := h.slot(e.Slot)
		s.needs = append(s.needs, need{epoch: e.Epoch, slot: slot, upto: upto})
	}
}

// needKept adds an edge that is not in the clocks, and that a reversal may drop; see need.semaphore.
func (h *History) needKept(e *event.Event, slot uint32, upto event.Epoch, semaphore uint16) {
	if slot != e.Slot && upto > 0 {
		s := h.slot(e.Slot)
		s.needs = append(s.needs, need{epoch: e.Epoch, slot: slot, upto: upto, kept: true, semaphore: semaphore})
	}
}

// markImpure marks the slot's open block, if there is one, as impure: it is never discarded.
func (s *slotHistory) markImpure() {
	if s.head >= 0 {
		s.held[s.head].impure = true
	}
}

// acquire opens a section.
func (h *History) acquire(s *slotHistory, e *event.Event) {
	if s.releasedElsewhere > 0 {
		h.closeReleased(s, e)
	}
	x := section{
		seq: e.Seq, lock: e.Object, thread: e.Thread, acquire: e.Epoch, block: e.Epoch, shared: e.Op == event.AcquireRead,
	}
	if n := len(s.open); n > 0 {
		around := &s.held[s.open[n-1]]
		x.below, x.block = around.acquire, around.block
	} else {
		s.head = len(s.held)
	}
	s.open = append(s.open, len(s.held))
	s.held = append(s.held, x)
}

// closeLone appends the slot's lone section to held, complete, at its release e.
func (s *slotHistory) closeLone(l *loneSection, e *event.Event) {
	s.held = append(s.held, section{
		seq: l.seq, lock: l.lock, thread: l.thread, acquire: l.acquire, until: e.Epoch, releaseSlot: e.Slot, release: e.Epoch,
		block: l.acquire, last: e.Epoch, shared: l.shared,
	})
	l.acquire = 0
}

// moveLone appends the slot's lone section to held, if there is one, as an open section.
func (h *History) moveLone(slot uint32) {
	l := &h.lone[slot]
	if l.acquire == 0 {
		return
	}
	s := h.slots[slot]
	s.head = len(s.held)
	s.open = append(s.open, len(s.held))
	s.held = append(s.held, section{seq: l.seq, lock: l.lock, thread: l.thread, acquire: l.acquire, block: l.acquire, shared: l.shared})
	l.acquire = 0
}

// moveLoneOf calls moveLone for each slot whose lone section is of a lock; 0 is any lock.
func (h *History) moveLoneOf(lock event.ObjectID) {
	for slot := range h.lone {
		if l := &h.lone[slot]; l.acquire != 0 && (l.lock == lock || lock == 0) {
			h.moveLone(uint32(slot))
		}
	}
}

// closeReleased closes the slot's earlier sections of the lock that another slot has released, and
// adds the edge from that release to the acquire e.
func (h *History) closeReleased(s *slotHistory, e *event.Event) {
	s.open = slices.DeleteFunc(s.open, func(i int) bool {
		p := &s.held[i]
		if p.lock != e.Object || p.release == 0 {
			return false
		}
		h.need(e, p.releaseSlot, p.release)
		p.until = e.Epoch
		s.releasedElsewhere--
		return true
	})
}

// release closes the thread's section of the lock or, if it has none, the oldest one: a thread
// may release a lock that another thread acquired.
func (h *History) release(s *slotHistory, e *event.Event) {
	if at := s.openOf(e); at >= 0 {
		s.close(at, e)
		return
	}
	slot, at := h.holder(e.Object, func(x, other *section) bool { return x.seq < other.seq })
	switch {
	case at < 0: // acquired before observation began
	case slot == e.Slot:
		s.markImpure()
		s.close(at, e)
	default:
		s.markImpure()
		h.releaseOther(h.slots[slot], slot, at, e)
	}
}

// releaseOther records that e releases a section of another slot: the section at index at of
// its open ones.
func (h *History) releaseOther(of *slotHistory, slot uint32, at int, e *event.Event) {
	x := &of.held[of.open[at]]
	h.need(e, slot, x.acquire)
	of.markImpure()
	x.releaseSlot, x.release = e.Slot, e.Epoch
	of.releasedElsewhere++
}

// openOf returns the index in open of the thread's section that e releases, or -1.
func (s *slotHistory) openOf(e *event.Event) int {
	for i, at := range s.open {
		if x := &s.held[at]; x.lock == e.Object && x.thread == e.Thread && x.release == 0 {
			return i
		}
	}
	return -1
}

// holder returns the slot that holds a lock, and the index of the section in the slot's open.
// Of several sections it returns the first in the order of before. At is -1 if no slot holds
// the lock.
func (h *History) holder(lock event.ObjectID, before func(x, other *section) bool) (slot uint32, at int) {
	h.moveLoneOf(lock)
	var best *section
	at = -1
	for i, s := range h.slots {
		for k, j := range s.open {
			if x := &s.held[j]; x.lock == lock && x.release == 0 && (best == nil || before(x, best)) {
				slot, at, best = uint32(i), k, x
			}
		}
	}
	return slot, at
}

// close ends the section at index at of open, and with the last open section the block.
func (s *slotHistory) close(at int, e *event.Event) {
	x := &s.held[s.open[at]]
	x.releaseSlot, x.release, x.until = e.Slot, e.Epoch, e.Epoch
	copy(s.open[at:], s.open[at+1:])
	s.open = s.open[:len(s.open)-1]
	if len(s.open) == 0 && s.head >= 0 {
		s.held[s.head].last = e.Epoch
		s.head = -1
	}
}

// failed adds the edge to a failed attempt from the acquire of the section that held the lock:
// it must come before.
func (h *History) failed(e *event.Event) {
	slot, at := h.holder(e.Object, func(x, other *section) bool { return x.seq > other.seq })
	if at >= 0 {
		s := h.slots[slot]
		s.markImpure()
		if x := &s.held[s.open[at]]; x.shared {
			h.needKept(e, slot, x.acquire, 0) // another reader may hold the lock instead
		} else {
			h.need(e, slot, x.acquire)
		}
	}
}

// destroy drops the order of a destroyed object: no later event acts on the object. The
// critical sections of a destroyed lock are kept, since the events before its end can still
// be reordered.
func (h *History) destroy(id event.ObjectID) {
	delete(h.semaphores, id)
	if o := h.orders[id]; o != nil {
		h.match.Drop(&o.Object)
		delete(h.orders, id)
	}
}

// objectOrder is the order of an object.
type objectOrder struct {
	order.Object
	used uint64 // Seq of the latest event
}

// ShrinkOrders evicts the orders of objects that were last used before event number unused. The clocks of events must have
// what used such an object before all that uses it later.
func (h *History) ShrinkOrders(unused uint64) {
	if unused == 0 {
		return // none
	}
	orders := make(map[event.ObjectID]*objectOrder, len(h.orders))
	for id, o := range h.orders {
		if o.used >= unused || !o.Quiet() {
			orders[id] = o
		} else {
			h.match.Drop(&o.Object)
			delete(h.semaphores, id)
		}
	}
	h.orders = orders
	for _, r := range h.match.Unused() {
		if int(r) < len(h.points) {
			h.points[r] = nil
		}
	}
}

// point is an event.
type point struct {
	slot  uint32
	epoch event.Epoch
}

// synchronise adds the edges that sync-preserving prediction keeps although they are not in
// the clocks: from the posts that let waits through, and those that keep barrier generations
// and messages as observed.
func (h *History) synchronise(e *event.Event) {
	o := h.orders[e.Object]
	if o == nil {
		o = &objectOrder{}
		h.orders[e.Object] = o
	}
	o.used = e.Seq
	x := h.match.Match(&o.Object, e)
	if e.Op == event.SemPost && !o.SinglePoster() {
		if at, known := h.semaphores[e.Object]; known {
			h.posters[at].several = true
		}
	}
	for _, edge := range x.Edges {
		semaphore := uint16(0)
		if edge.Relation == order.PostToWait {
			semaphore = h.semaphoreIndex(e.Object)
		}
		for _, p := range h.points[edge.From] {
			if e.Op == event.SemWait || e.Op == event.SemFailed {
				h.needKept(e, p.slot, p.epoch, semaphore)
			} else {
				h.need(e, p.slot, p.epoch)
			}
		}
	}
	for _, c := range x.Changes {
		for int(c.Set) >= len(h.points) {
			h.points = append(h.points, nil)
		}
		if c.Fresh {
			h.points[c.Set] = h.points[c.Set][:0]
		}
		h.points[c.Set] = lastOf(h.points[c.Set], e)
	}
}

// lastOf adds an event to a list that holds the last event of each slot.
func lastOf(list []point, e *event.Event) []point {
	for i := range list {
		if x := &list[i]; x.slot == e.Slot {
			x.epoch = e.Epoch
			return list
		}
	}
	return append(list, point{e.Slot, e.Epoch})
}

// find returns the event of that Seq, or nil if it is not kept.
func (h *History) find(seq uint64) *event.Event {
	x := h.entry(seq)
	if x == nil || h.discarded(x) {
		return nil
	}
	e := x.Event()
	return &e
}

// entry returns the event of that Seq in the log, or nil.
func (h *History) entry(seq uint64) *kept.Event {
	return h.log.Find(seq)
}

// discarded reports whether an event of the log is discarded: it lies in a gap, and the next sweep
// removes it.
func (h *History) discarded(x *kept.Event) bool {
	_, in := h.slots[x.Slot].gapAt(x.Epoch)
	return in
}
