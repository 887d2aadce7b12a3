package predict

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// History keeps what questions need of a run. The zero value is not ready: use
// New. It is not safe for concurrent use.
type History struct {
	opt   Options
	log   []event.Event // by Seq; Must is nil
	slots []slotHistory
	locks map[event.ObjectID]*lockHistory
	sems  map[event.ObjectID]*semHistory
	bars  map[event.ObjectID]*barHistory

	cut     []event.Epoch // by slot: forgotten from the beginning of the run
	evicted uint64
	barring int    // barrier rounds that not everybody has left
	calm    uint64 // Seq of an event after which there was none
	seen    *observed
	blind   bool // a cut went through a barrier round
}

// New returns an empty history.
func New(o Options) *History {
	return &History{
		opt:   o.filled(),
		locks: map[event.ObjectID]*lockHistory{},
		sems:  map[event.ObjectID]*semHistory{},
		bars:  map[event.ObjectID]*barHistory{},
	}
}

// Evicted is the number of events that were forgotten.
func (h *History) Evicted() uint64 { return h.evicted }

// slotHistory is the part of a history that belongs to one slot of the clocks.
type slotHistory struct {
	last  []event.Epoch // clock of the slot's last event
	needs []need        // by epoch
	held  []holding     // by epoch: what is held from there on
	block *block        // the outermost section that is open
	gaps  []gap         // by epoch: forgotten blocks
}

// need is an edge into an event of the slot: the event at epoch has those of
// another slot, up to there, before it.
type need struct {
	epoch event.Epoch
	slot  uint32
	upto  event.Epoch
}

// holding is the locks held by the slot's thread from epoch on.
type holding struct {
	epoch event.Epoch
	top   *node
}

// node is a list of open sections that is shared and never changed.
type node struct {
	section *section
	below   *node
}

// section is a critical section, outermost level of the lock.
type section struct {
	lock    event.ObjectID
	seq     uint64 // of the acquire
	slot    uint32
	acquire event.Epoch
	// The release is an event of another slot where a thread releases what another
	// has acquired. Epoch 0: not released.
	releaseSlot uint32
	release     event.Epoch
	shared      bool
	thread      event.ThreadID
	place       event.PlaceID
	block       *block
}

// lockHistory is the sections of a lock, by slot and, within it, by epoch.
type lockHistory struct {
	slots []lockSlot
	open  []*section
}

type lockSlot struct {
	slot     uint32
	sections []*section
	lost     lost
	keep     int // sections before this index are not looked at by trim
}

// Event takes the next event of the run, which must have been stamped.
func (h *History) Event(e *event.Event) {
	if e.Epoch == 0 {
		return
	}
	h.edges(e)
	h.blocks(e)
	switch e.Op {
	case event.Acquire, event.AcquireRead:
		h.acquire(e)
	case event.Release:
		h.release(e)
	case event.AcquireFailed:
		h.failed(e)
	case event.SemPost, event.SemWait, event.SemFailed:
		h.semaphore(e)
	case event.BarrierArrive, event.BarrierDepart:
		h.barrier(e)
	case event.Init:
		h.initial(e)
	case event.Destroy:
		h.destroy(e.Object)
	}
	kept := *e
	kept.Must = nil
	h.log = append(h.log, kept)
	h.seen = nil
	if h.barring == 0 && len(h.log) <= h.opt.Events/4*3 {
		h.calm = e.Seq
	}
	if len(h.log) >= h.opt.Events {
		h.evict()
	}
}

func (h *History) slot(s uint32) *slotHistory {
	for len(h.slots) <= int(s) {
		h.slots = append(h.slots, slotHistory{})
		h.cut = append(h.cut, 0)
	}
	return &h.slots[s]
}

// edges writes down what the event's clock knows more than the slot's last one.
// The edge of a read thus stands at the next event of its thread: nothing but a
// candidate, whose own edge must not count, is ever last in a closed set.
func (h *History) edges(e *event.Event) {
	s := h.slot(e.Slot)
	for len(s.last) < len(e.Must) {
		s.last = append(s.last, 0)
	}
	for i, v := range e.Must {
		if v > s.last[i] && uint32(i) != e.Slot {
			s.needs = append(s.needs, need{e.Epoch, uint32(i), v})
		}
	}
	copy(s.last, e.Must)
}

// needs adds an edge that is not in the clocks.
func (h *History) need(e *event.Event, slot uint32, upto event.Epoch) {
	if slot != e.Slot && upto > 0 {
		s := h.slot(e.Slot)
		s.needs = append(s.needs, need{e.Epoch, slot, upto})
	}
}

func (h *History) lock(id event.ObjectID) *lockHistory {
	l := h.locks[id]
	if l == nil {
		l = &lockHistory{}
		h.locks[id] = l
	}
	return l
}

func (l *lockHistory) slot(s uint32) *lockSlot {
	for i := range l.slots {
		if l.slots[i].slot == s {
			return &l.slots[i]
		}
	}
	l.slots = append(l.slots, lockSlot{slot: s})
	return &l.slots[len(l.slots)-1]
}

func (s *slotHistory) top() *node {
	if n := len(s.held); n > 0 {
		return s.held[n-1].top
	}
	return nil
}

// without returns the list with the section left out.
func (n *node) without(s *section) *node {
	if n == nil {
		return nil
	}
	if n.section == s {
		return n.below
	}
	return &node{n.section, n.below.without(s)}
}

func (h *History) acquire(e *event.Event) {
	l := h.lock(e.Object)
	ls := l.slot(e.Slot)
	s := h.slot(e.Slot)
	top := s.top()
	if n := len(ls.sections); n > 0 {
		// Its own earlier section may have been released by somebody else.
		if p := ls.sections[n-1]; p.release != 0 && p.releaseSlot != e.Slot {
			h.need(e, p.releaseSlot, p.release)
			top = top.without(p)
		}
	}
	x := &section{
		lock: e.Object, seq: e.Seq, slot: e.Slot, acquire: e.Epoch, shared: e.Op == event.AcquireRead,
		thread: e.Thread, place: e.Place, block: s.block,
	}
	s.block.sections = append(s.block.sections, x)
	ls.sections = append(ls.sections, x)
	l.open = append(l.open, x)
	s.held = append(s.held, holding{e.Epoch, &node{x, top}})
}

// release closes the thread's section, or if it has none, the oldest: a thread
// may release what another acquired.
func (h *History) release(e *event.Event) {
	l := h.lock(e.Object)
	at := slices.IndexFunc(l.open, func(x *section) bool { return x.slot == e.Slot && x.thread == e.Thread })
	if at < 0 {
		if len(l.open) == 0 {
			return // acquired before observation began
		}
		at = 0
	}
	x := l.open[at]
	l.open = slices.Delete(l.open, at, at+1)
	x.releaseSlot, x.release = e.Slot, e.Epoch
	if x.slot != e.Slot || x.thread != e.Thread {
		h.need(e, x.slot, x.acquire)
		x.block.pure = false
		return
	}
	s := h.slot(e.Slot)
	top := s.top().without(x)
	s.held = append(s.held, holding{e.Epoch, top})
	if top == nil && s.block != nil {
		s.block.last = e.Epoch
		s.block = nil
	}
	h.trim(l.slot(e.Slot))
}

// failed keeps the lock held at a failed attempt: who holds it must have taken it.
func (h *History) failed(e *event.Event) {
	if l := h.locks[e.Object]; l != nil && len(l.open) > 0 {
		x := l.open[len(l.open)-1]
		x.block.pure = false
		h.need(e, x.slot, x.acquire)
	}
}

// destroy forgets what nothing can reorder any more: all uses of an object come
// before its end, in every reordering, but its sections still count until then.
func (h *History) destroy(id event.ObjectID) {
	delete(h.sems, id)
	if b := h.bars[id]; b != nil {
		h.barring -= len(b.rounds)
		delete(h.bars, id)
	}
}

// semHistory matches waits with the posts that let them through.
type semHistory struct {
	posts  []point // not yet taken
	waits  []point // by slot, the last
	credit uint64
}

type point struct {
	slot  uint32
	epoch event.Epoch
}

// initial takes the value of a semaphore, the size of a barrier. A value that is not
// known counts as 0, which asks for more posts than are needed, never for fewer.
func (h *History) initial(e *event.Event) {
	if e.Flags&event.HasValue == 0 {
		return
	}
	switch e.Kind {
	case event.KindSemaphore:
		h.sems[e.Object] = &semHistory{credit: e.Value}
	case event.KindBarrier:
		h.bars[e.Object] = &barHistory{size: e.Value}
	}
}

// maxPosts bounds the posts of a semaphore that nobody has taken.
const maxPosts = 1 << 12

func (h *History) semaphore(e *event.Event) {
	s := h.sems[e.Object]
	if s == nil {
		s = &semHistory{}
		h.sems[e.Object] = s
	}
	switch e.Op {
	case event.SemPost:
		if len(s.posts) == maxPosts {
			// A wait then needs a later post than its own: more, never less.
			s.posts = slices.Delete(s.posts, 0, 1)
		}
		s.posts = append(s.posts, point{e.Slot, e.Epoch})
	case event.SemWait:
		if s.credit > 0 {
			s.credit--
		} else if len(s.posts) > 0 {
			h.need(e, s.posts[0].slot, s.posts[0].epoch)
			s.posts = slices.Delete(s.posts, 0, 1)
		}
		s.waited(point{e.Slot, e.Epoch})
	case event.SemFailed:
		for _, w := range s.waits {
			h.need(e, w.slot, w.epoch)
		}
	}
}

func (s *semHistory) waited(p point) {
	for i := range s.waits {
		if s.waits[i].slot == p.slot {
			s.waits[i] = p
			return
		}
	}
	s.waits = append(s.waits, p)
}

// barHistory keeps rounds as observed: who arrives in a round has all arrivals of
// the round before it before itself. That departures come after all arrivals
// is in the clocks.
type barHistory struct {
	rounds []barRound
	before []point // arrivals of the last closed round
	size   uint64
}

type barRound struct {
	arrived []point
	inside  []event.ThreadID
	closed  bool
}

func (h *History) barrier(e *event.Event) {
	b := h.bars[e.Object]
	if b == nil {
		b = &barHistory{}
		h.bars[e.Object] = b
	}
	if e.Op == event.BarrierDepart {
		h.depart(b, e)
		return
	}
	if n := len(b.rounds); n == 0 || b.rounds[n-1].closed {
		b.rounds = append(b.rounds, barRound{})
		h.barring++
	}
	r := &b.rounds[len(b.rounds)-1]
	for _, p := range b.before {
		h.need(e, p.slot, p.epoch)
	}
	r.arrived = append(r.arrived, point{e.Slot, e.Epoch})
	r.inside = append(r.inside, e.Thread)
	if uint64(len(r.arrived)) == b.size {
		r.closed, b.before = true, r.arrived
	}
}

func (h *History) depart(b *barHistory, e *event.Event) {
	for i := range b.rounds {
		r := &b.rounds[i]
		at := slices.Index(r.inside, e.Thread)
		if at < 0 {
			continue
		}
		if !r.closed {
			r.closed, b.before = true, r.arrived
		}
		if r.inside = slices.Delete(r.inside, at, at+1); len(r.inside) == 0 {
			b.rounds = slices.Delete(b.rounds, i, i+1)
			h.barring--
		}
		return
	}
}

// find returns the kept event of that Seq, or nil.
func (h *History) find(seq uint64) *event.Event {
	at, ok := slices.BinarySearchFunc(h.log, seq, func(e event.Event, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	if !ok {
		return nil
	}
	return &h.log[at]
}
