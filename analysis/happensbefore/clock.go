package happensbefore

import (
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

type vector = event.Clock

// joinMark makes v know the event k and all that comes before it.
func joinMark(v *vector, p *pool, k *mark) {
	if k.clock == 0 {
		return
	}
	own := v.At(k.slot)
	v.Join(&p.all[k.clock].known)
	v.Set(k.slot, max(own, k.time)) // the shared clock's own count may be later than the mark
}

// version is a clock that a thread and any number of marks share. While marks share it, only the
// entry of the thread's slot changes, for which each mark has its own time.
type version struct {
	refs  int32 // the thread and the marks that share it
	id    int32 // index in pool.all
	known vector
}

// pool holds all versions. Marks refer to them by index instead of by pointer: each event
// changes marks, and writing pointers would cost more while the garbage collector runs.
type pool struct {
	all   []*version // the first is nil
	spare []int32    // indices of the versions with no references
}

// leastRoom is the number of slots for which each version has room.
const leastRoom = 32

// clockUnit is the number to a multiple of which the length of a thread's first clock is rounded.
const clockUnit = 4

// get returns a version with one reference and arbitrary contents.
func (p *pool) get() *version {
	if n := len(p.spare); n > 0 {
		id := p.spare[n-1]
		p.spare = p.spare[:n-1]
		if p.all[id] == nil { // trim
			p.all[id] = newVersion(id)
		}
		v := p.all[id]
		v.refs = 1
		return v
	}
	if len(p.all) == 0 {
		p.all = append(p.all, nil) // index 0 is none
	}
	v := newVersion(int32(len(p.all)))
	p.all = append(p.all, v)
	return v
}

func newVersion(id int32) *version {
	v := &version{refs: 1, id: id}
	v.known.Extend(leastRoom)
	v.known.Reset()
	return v
}

// trim frees the versions that have no references. Their indices stay in spare.
func (p *pool) trim() {
	for _, id := range p.spare {
		p.all[id] = nil
	}
}

// drop removes one reference to a version.
func (p *pool) drop(v *version) {
	if v.refs--; v.refs == 0 {
		p.spare = append(p.spare, v.id)
	}
}

// mark identifies an event and its clock.
type mark struct {
	slot  uint32
	time  event.Epoch
	clock int32 // index of the version that is its clock; 0: no event
}

// set makes k the mark of t's current event.
func (k *mark) set(p *pool, t *thread) {
	k.slot, k.time = t.slot, t.time
	if k.clock != t.clock.id {
		k.drop(p)
		k.clock = t.clock.id
		t.clock.refs++
	}
}

// drop makes k the mark of no event.
func (k *mark) drop(p *pool) {
	if k.clock != 0 {
		p.drop(p.all[k.clock])
		k.clock = 0
	}
}

// marks is a set of events, at most one a slot.
type marks []mark

// set adds the current event of t, and removes an earlier event of the same slot.
func (ks *marks) set(p *pool, t *thread) {
	for i := range *ks {
		if (*ks)[i].slot == t.slot {
			(*ks)[i].set(p, t)
			return
		}
	}
	*ks = append(*ks, mark{})
	(*ks)[len(*ks)-1].set(p, t)
}

// cover adds the current event of t and removes the events that come before it.
func (ks *marks) cover(p *pool, t *thread) {
	kept := (*ks)[:0]
	for _, k := range *ks {
		if t.knows(&k) {
			k.drop(p)
		} else {
			kept = append(kept, k)
		}
	}
	*ks = append(kept, mark{})
	(*ks)[len(kept)].set(p, t)
}

// drop removes all events.
func (ks *marks) drop(p *pool) {
	for i := range *ks {
		(*ks)[i].drop(p)
	}
	*ks = (*ks)[:0]
}

// thread is the state of the thread that now has a slot.
type thread struct {
	id    event.ThreadID
	slot  uint32
	time  event.Epoch // from 1; advanced after each event that an edge may lead from
	clock *version    // the events that come before the thread's next event
	held  *locks.Thread
	ended bool
	// floor is the number of evictions whose floor the thread knows.
	floor uint64
}

// knows reports whether the event k comes before the thread's next event.
func (t *thread) knows(k *mark) bool {
	return k.time <= t.clock.known.At(k.slot)
}

// tick advances the thread's time, so that marks of earlier events do not include later ones.
func (t *thread) tick() {
	t.time++
	t.clock.known.Set(t.slot, t.time)
}

// joinAt draws the edge from k to the thread's next event.
func (t *thread) joinAt(p *pool, k *mark) {
	if k.clock == 0 || t.knows(k) {
		return
	}
	own := t.clock.known.At(k.slot)
	t.learn(p, &p.all[k.clock].known)
	t.clock.known.Set(k.slot, max(own, k.time))
}

// joinAll draws the edges from all of ks to the thread's next event.
func (t *thread) joinAll(p *pool, ks marks) {
	for i := range ks {
		t.joinAt(p, &ks[i])
	}
}

// joinVector draws the edges from the events that v knows to the thread's next event.
func (t *thread) joinVector(p *pool, v *vector) {
	if !t.clock.known.Includes(v) {
		t.learn(p, v)
	}
}

// learn makes the thread know what v knows. If marks share its clock, the thread gets a new one.
func (t *thread) learn(p *pool, v *vector) {
	old := t.clock
	if old.refs > 1 {
		p.drop(old)
		t.clock = p.get()
	}
	t.clock.known.Maximum(&old.known, v)
	t.clock.known.Set(t.slot, t.time)
}

// thread returns the thread of an event.
func (a *Analysis) thread(e *event.Event) *thread {
	if int(e.Slot) < len(a.slots) {
		if t := a.slots[e.Slot]; t != nil && t.id == e.Thread {
			return t
		}
	}
	return a.begin(e)
}

// begin makes the state of a new thread. Its events come after its fork, and after all events
// of the last thread that had the slot: these come before the fork too, or the edge is forced
// (package clock, Must.Forced).
func (a *Analysis) begin(e *event.Event) *thread {
	for len(a.slots) <= int(e.Slot) {
		a.slots = append(a.slots, nil)
	}
	t := &thread{id: e.Thread, slot: e.Slot, time: 1, held: a.held.Thread(e.Thread)}
	if old := a.slots[e.Slot]; old != nil {
		a.leave(old)
		t.clock, t.time = old.clock, old.time+1
	} else {
		t.clock = a.clocks.get()
		t.clock.known.Reset()
	}
	t.clock.known.Extend((len(a.slots) + clockUnit - 1) / clockUnit * clockUnit)
	t.clock.known.Set(t.slot, t.time)
	a.slots[e.Slot], a.live[t.id] = t, t
	if k := a.pending[t.id]; k != nil {
		t.joinAt(&a.clocks, k)
		k.drop(&a.clocks)
		delete(a.pending, t.id)
	}
	return t
}

// leave keeps the last event of a thread, whose slot another thread gets now, for a later join.
func (a *Analysis) leave(t *thread) {
	if a.live[t.id] != t {
		return
	}
	delete(a.live, t.id)
	if a.detached[t.id] {
		delete(a.detached, t.id)
		return
	}
	k := &mark{}
	k.set(&a.clocks, t)
	a.ended[t.id] = k
}

// fork draws the edge to the child's first event, or to its next one if it has begun.
func (a *Analysis) fork(t *thread, child event.ThreadID) {
	if c := a.live[child]; c != nil {
		var k mark
		k.set(&a.clocks, t)
		c.joinAt(&a.clocks, &k)
		k.drop(&a.clocks)
	} else {
		k := &mark{}
		k.set(&a.clocks, t)
		a.pending[child] = k
	}
	t.tick()
}

// join draws the edge from the last event of peer.
func (a *Analysis) join(t *thread, peer event.ThreadID) {
	if k := a.ended[peer]; k != nil {
		t.joinAt(&a.clocks, k)
		k.drop(&a.clocks)
		delete(a.ended, peer)
	} else if peer <= a.floor.threads && a.live[peer] == nil {
		a.joinFloor(t)
	}
	if p := a.live[peer]; p != nil && p != t {
		var k mark
		k.set(&a.clocks, p)
		t.joinAt(&a.clocks, &k)
		k.drop(&a.clocks)
		delete(a.live, peer)
	}
}

// detach drops what only a join of peer would need, now or at its end.
func (a *Analysis) detach(peer event.ThreadID) {
	if k := a.ended[peer]; k != nil {
		k.drop(&a.clocks)
		delete(a.ended, peer)
	}
	if p := a.live[peer]; p != nil {
		if p.ended {
			delete(a.live, peer)
		} else {
			a.detached[peer] = true
		}
	}
}

// end records that the thread has ended.
func (a *Analysis) end(t *thread) {
	t.ended = true
	if a.detached[t.id] {
		delete(a.detached, t.id)
		delete(a.live, t.id)
	}
}
