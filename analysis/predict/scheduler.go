package predict

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/event"
)

// scheduler searches for an order in which every slot can run up to its goal. Critical
// sections may come in any order in which each lock excludes as it should; a read may come only
// when the write that it read in the run is the last one.
//
// It is a depth-first search that branches only where to run an event now may be a mistake: an
// acquire of a lock that others request too, a wait for a semaphore that others wait for, a
// write over a value that others have yet to read, a release of a lock that a failed attempt
// must still find held, a post to a semaphore that a failed attempt must still find empty, and a
// notification of a wait that has not begun.
// All other events run as soon as they can. A state that was searched is not entered again.
type scheduler struct {
	*slotLog
	must         []int32           // by slot: number of events that must run
	limit        []int32           // by slot: number of events that may run, at least must
	base         []int32           // by slot: number of events that run first, as observed
	at           []int32           // by slot: number of events that have run
	open         [][]int32         // by object: acquires of the sections that are open
	last         []int32           // by variable: the last write, or initially or mixed
	now          map[int32]counter // by variable of counts: its value
	final        map[int32]bool    // acquires whose sections stay open at the goal
	pending      []tally           // by object: acquires, semaphore waits and writes still to come
	ofPair       []int32           // by object and slot: likewise, up to the limit
	value        []int32           // by object: of semaphores
	failures     []int32           // by object: failed attempts at a lock or a semaphore still to come, up to the limit
	reads        []tally           // by write: reads of it still to come
	initialReads []tally           // by variable: reads of its initial value still to come
	missed       map[int32]bool    // wakes whose notification has run before their wait
	trail        []move            // events that ran after base
	frames       []frame
	ready        []int32             // the slots to try, of all frames
	seen         map[uint64]struct{} // hashes of the states that were branched from
	state        uint64              // hash of the present state
	steps        int                 // of the budget, left
	later        map[int32]int32     // by event: one that must run before it, in addition to what it needs
	lenient      bool                // reads whose source is not known can run
	unexplained  bool                // without lenient, such a read was not run
}

// tally counts events still to come: exclusive and shared ones that must run, and all that may.
type tally struct{ must, shared, may int32 }

// move is an event that was run, and for a write the write that it replaced as the last one, and the value.
type move struct {
	event, before int32
	now           counter // with scheduler.now, the value that it replaced
}

// frame is a state with a choice: the length of the trail there, and the range of ready that
// holds its slots; those from next on have not been tried yet.
type frame struct{ trail, from, next, to int }

// newScheduler returns a scheduler that has run the events of base.
func (l *slotLog) newScheduler(base, must, limit []int32, steps int) *scheduler {
	s := &scheduler{
		slotLog: l, must: must, limit: limit, base: base, at: make([]int32, len(l.of)), open: make([][]int32, l.objects), last: make([]int32, l.objects),
		final: map[int32]bool{}, pending: make([]tally, l.objects), ofPair: make([]int32, l.pairs), reads: make([]tally, len(l.h.log)),
		initialReads: make([]tally, l.objects), seen: map[uint64]struct{}{}, steps: steps, value: make([]int32, l.objects), failures: make([]int32, l.objects),
		missed: map[int32]bool{}, now: map[int32]counter{},
	}
	for o, v := range l.counts {
		s.now[o] = v.begins
	}
	for o, v := range l.value {
		s.value[o] = v
	}
	for v := range s.last {
		s.last[v] = initially
	}
	s.observe()
	for slot, events := range l.of {
		for k := base[slot]; k < limit[slot]; k++ {
			s.expect(events[k], k < must[slot], 1)
		}
	}
	s.atEnd()
	return s
}

// observe runs the events of base, in the order of the run.
func (s *scheduler) observe() {
	for i := range s.h.log {
		x := &s.h.log[i]
		if at := s.at[x.Slot]; at < s.base[x.Slot] && s.of[x.Slot][at] == int32(i) {
			s.run(x.Slot)
		}
	}
}

// expect adds n, 1 or -1, to the counts of events still to come that event i belongs to.
func (s *scheduler) expect(i int32, must bool, n int32) {
	x := &s.h.log[i]
	add := func(t *tally, shared bool) {
		t.may += n
		if must && shared {
			t.shared += n
		} else if must {
			t.must += n
		}
	}
	if x.Op == event.AcquireFailed || x.Op == event.SemFailed {
		s.failures[s.object[i]] += n
	}
	if x.Op.IsAcquire() || x.Op.IsWrite() || x.Op == event.SemWait {
		add(&s.pending[s.object[i]], x.Op == event.AcquireRead)
		s.ofPair[s.pair[i]] += n
	}
	if x.Op == event.Read || x.Op == event.Update {
		if t := s.readers(s.source[i], s.object[i]); t != nil {
			must = must && !mayFollowAny(x) && !s.tested(i) // it can run after another write too
			add(t, false)
		}
	}
}

// readers returns the count of reads still to come of a write to a variable, or of its initial
// value; nil for another source.
func (s *scheduler) readers(write, variable int32) *tally {
	switch {
	case write >= 0:
		return &s.reads[write]
	case write == initially:
		return &s.initialReads[variable]
	}
	return nil
}

// atEnd finds the sections that are still open where a slot must end. All other acquires of
// their locks that must run come before them.
func (s *scheduler) atEnd() {
	for slot, events := range s.of {
		for k := s.base[slot]; k < s.limit[slot]; k++ {
			if s.must[slot] == s.limit[slot] && s.h.log[events[k]].Op.IsAcquire() {
				s.final[events[k]] = true
			}
		}
	}
	for slot, events := range s.of {
		for k := s.base[slot]; k < s.limit[slot]; k++ {
			if i := events[k]; s.h.log[i].Op == event.Release && s.closes[i] != noAcquire {
				delete(s.final, s.closes[i])
			}
		}
	}
}

// checkEvery is how many branches are taken before Options.Done is called again.
const checkEvery = 64

// find runs the slots up to their goals. It returns false if there is no such order, or, with
// no steps or no time left, if it gave up.
func (s *scheduler) find() bool {
	s.trail = s.trail[:0]
	for n := 0; ; n++ {
		s.eager()
		if s.reached() {
			return true
		}
		if s.steps <= 0 || n%checkEvery == 0 && s.h.done() {
			return false
		}
		s.branch()
		if !s.backtrack() {
			return false
		}
	}
}

// reached reports whether every slot has run the events that it must.
func (s *scheduler) reached() bool {
	for slot := range s.at {
		if s.at[slot] < s.must[slot] {
			return false
		}
	}
	return true
}

// eager runs the events that can be no mistake (mayPreclude), until there are none.
func (s *scheduler) eager() {
	for again := true; again && s.steps > 0; {
		again = false
		s.steps -= 1 + len(s.at)/8
		for slot := range s.at {
			for s.can(uint32(slot)) && !s.mayPreclude(uint32(slot)) {
				s.run(uint32(slot))
				s.steps--
				again = true
			}
		}
	}
}

// branch pushes a frame with the slots that can run, unless this state was branched from
// before.
func (s *scheduler) branch() {
	if _, seen := s.seen[s.state]; seen {
		return
	}
	s.seen[s.state] = struct{}{}
	from := len(s.ready)
	for slot := range s.at {
		if s.can(uint32(slot)) {
			s.ready = append(s.ready, int32(slot))
		}
	}
	slices.SortFunc(s.ready[from:], s.sooner)
	s.frames = append(s.frames, frame{len(s.trail), from, from, len(s.ready)})
}

// sooner compares slots: those that must run before those that may, and then by the order of
// their next events in the run.
func (s *scheduler) sooner(a, b int32) int {
	if x, y := s.at[a] < s.must[a], s.at[b] < s.must[b]; x != y {
		if x {
			return -1
		}
		return 1
	}
	return int(s.of[a][s.at[a]] - s.of[b][s.at[b]])
}

// backtrack returns to the latest frame with a slot not yet tried, and runs that slot. It reports
// whether there is one.
func (s *scheduler) backtrack() bool {
	for n := len(s.frames); n > 0; n-- {
		f := &s.frames[n-1]
		for len(s.trail) > f.trail {
			s.undo()
		}
		if f.next < f.to {
			s.run(uint32(s.ready[f.next]))
			s.steps--
			f.next++
			return true
		}
		s.ready = s.ready[:f.from]
		s.frames = s.frames[:n-1]
	}
	return false
}

// next returns the slot's next event, if there is one up to its limit.
func (s *scheduler) next(slot uint32) (int32, bool) {
	if s.at[slot] >= s.limit[slot] {
		return 0, false
	}
	return s.of[slot][s.at[slot]], true
}

// can reports whether the slot's next event can run now.
func (s *scheduler) can(slot uint32) bool {
	i, ok := s.next(slot)
	if !ok || !s.needed(slot, i) {
		return false
	}
	x := &s.h.log[i]
	switch x.Op {
	case event.Acquire, event.AcquireRead:
		return s.free(i, x)
	case event.AcquireFailed:
		return s.fails(i)
	case event.SemWait:
		return s.value[s.object[i]] > 0
	case event.SemFailed:
		return s.value[s.object[i]] == 0
	case event.Read:
		return s.sees(i)
	case event.Update:
		return (mayFollowAny(x) || s.sees(i)) && s.mayWrite(slot, i)
	case event.Write:
		return s.mayWrite(slot, i)
	case event.Signal, event.Broadcast:
		return !s.precedesWait(i, s.must)
	case event.Wake:
		return !s.missed[i]
	}
	return true
}

// hasRun reports whether an event has run.
func (s *scheduler) hasRun(i int32) bool { return s.within(s.at, i) }

// within reports whether an event is one of the first n of its slot, n given by slot.
func (s *scheduler) within(n []int32, i int32) bool {
	slot := s.h.log[i].Slot
	return n[slot] > 0 && s.of[slot][n[slot]-1] >= i
}

// needed reports whether the events that must come before event i have run.
func (s *scheduler) needed(slot uint32, i int32) bool {
	from := int32(0)
	if at := s.at[slot]; at > 0 {
		from = s.needTo[s.of[slot][at-1]]
	}
	for _, n := range s.h.slots[slot].needs[from:s.needTo[i]] {
		if s.h.droppable(&n) {
			continue // can checks the state of the lock or the semaphore instead
		}
		if at := s.at[n.slot]; int(at) < len(s.of[n.slot]) && s.h.log[s.of[n.slot][at]].Epoch <= n.upto {
			return false
		}
	}
	if j, also := s.later[i]; also && !s.hasRun(j) {
		return false
	}
	return s.sent(i)
}

// sent reports whether the last message before i's in its channel has run, of those that are
// part of the schedule. Those before that one have run then too.
func (s *scheduler) sent(i int32) bool {
	for j, ok := s.after[i]; ok; j, ok = s.after[j] {
		if s.within(s.limit, j) {
			return s.hasRun(j)
		}
	}
	return true
}

// free reports whether an acquire can run: no open section excludes it and, if its section
// stays open at the goal (final), no acquire that it would exclude must still run.
func (s *scheduler) free(i int32, x *kept.Event) bool {
	for _, j := range s.open[s.object[i]] {
		if x.Op == event.Acquire || s.h.log[j].Op == event.Acquire {
			return false
		}
	}
	if !s.final[i] {
		return true
	}
	w := &s.pending[s.object[i]]
	if x.Op == event.AcquireRead {
		return w.must == 0
	}
	return w.must+w.shared == 1
}

// fails reports whether a failed attempt can run: a section of the lock is open that was also
// open in the run when the attempt failed.
func (s *scheduler) fails(i int32) bool {
	return s.source[i] == whichever || slices.ContainsFunc(s.open[s.object[i]], func(j int32) bool { return j < i && i < s.until[j] })
}

// sees reports whether a read would read the same write as in the run.
func (s *scheduler) sees(i int32) bool {
	switch want := s.source[i]; want {
	case unseen:
		s.unexplained = s.unexplained || !s.lenient
		return s.lenient
	case whichever:
		return true
	default:
		return s.last[s.object[i]] == want || s.tested(i) && s.now[s.object[i]].answers(&s.h.log[i])
	}
}

// tested reports whether the thread of a read or update uses only whether the value is a certain one, and whether it is
// can be computed.
func (s *scheduler) tested(i int32) bool {
	of := s.counts[s.object[i]]
	return of != nil && of.tested(&s.h.log[i])
}

// mayWrite reports whether no other event that must run still has to read the value that the
// slot's next event, i, would overwrite.
func (s *scheduler) mayWrite(slot uint32, i int32) bool {
	last := s.last[s.object[i]]
	if last == initially && s.rewritten[^s.object[i]] || last >= 0 && s.rewritten[last] {
		return true // another write of the same value may follow
	}
	t := s.readers(last, s.object[i])
	return t == nil || t.must == 0 || (t.must == 1 && s.at[slot] < s.must[slot] && s.seesLast(i) && !mayFollowAny(&s.h.log[i]) && !s.tested(i))
}

// seesLast reports whether an event is an update that reads the last write.
func (s *scheduler) seesLast(i int32) bool {
	return s.h.log[i].Op == event.Update && s.source[i] == s.last[s.object[i]]
}

// mayPreclude reports whether it may be a mistake to run the slot's next event now: another order
// may then be out of reach.
func (s *scheduler) mayPreclude(slot uint32) bool {
	i, _ := s.next(slot)
	o, alone := s.object[i], s.pending[s.object[i]].may == s.ofPair[s.pair[i]]
	switch x := &s.h.log[i]; x.Op {
	case event.Acquire, event.AcquireRead, event.SemWait:
		return !alone
	case event.Release, event.SemPost:
		return s.failures[o] > 0
	case event.Write, event.Update:
		if _, counted := s.counts[o]; counted && !alone {
			return true
		}
		readers := int32(0)
		if t := s.readers(s.last[o], o); t != nil {
			readers = t.may
		}
		if s.seesLast(i) {
			readers--
		}
		left := s.readers(s.left[i], o) // of what the write leaves
		return readers > 0 || (!alone && left.may > 0)
	case event.Signal, event.Broadcast:
		return s.precedesWait(i, s.limit)
	}
	return false
}

// precedesWait reports whether a wait that notification i ended in the run has not begun, and its
// wake is one of the first n events of its slot, n given by slot.
func (s *scheduler) precedesWait(i int32, n []int32) bool {
	return slices.ContainsFunc(s.ended[i], func(w wait) bool { return !s.hasRun(w.begin) && s.within(n, w.wake) })
}

// notify records, if n is 1, that notification i runs before the waits that have not begun. If n
// is -1 it takes that back.
func (s *scheduler) notify(i, n int32) {
	for _, w := range s.ended[i] {
		if s.hasRun(w.begin) {
			continue
		}
		s.state += uint64(n) * scatter(uint64(w.wake), 3)
		if n > 0 {
			s.missed[w.wake] = true
		} else {
			delete(s.missed, w.wake)
		}
	}
}

// run runs the slot's next event.
func (s *scheduler) run(slot uint32) {
	i := s.of[slot][s.at[slot]]
	x := &s.h.log[i]
	m := move{event: i}
	switch o := s.object[i]; {
	case x.Op.IsAcquire():
		s.open[o] = append(s.open[o], i)
	case x.Op == event.Release && s.closes[i] != noAcquire:
		if at := slices.Index(s.open[o], s.closes[i]); at >= 0 {
			s.open[o] = slices.Delete(s.open[o], at, at+1)
		}
	case x.Op == event.SemPost:
		s.value[o]++
	case x.Op == event.SemWait:
		s.value[o]--
	case x.Op.IsWrite():
		m.before = s.last[o]
		m.now = s.now[o]
		s.write(o, i, x)
	case x.Op == event.Signal, x.Op == event.Broadcast:
		s.notify(i, 1)
	}
	s.ran(slot, i, 1)
	s.trail = append(s.trail, m)
}

// undo takes back the last event of the trail.
func (s *scheduler) undo() {
	m := s.trail[len(s.trail)-1]
	s.trail = s.trail[:len(s.trail)-1]
	i := m.event
	x := &s.h.log[i]
	switch o := s.object[i]; {
	case x.Op.IsAcquire():
		at := slices.Index(s.open[o], i)
		s.open[o] = slices.Delete(s.open[o], at, at+1)
	case x.Op == event.Release && s.closes[i] != noAcquire:
		s.open[o] = append(s.open[o], s.closes[i])
	case x.Op == event.SemPost:
		s.value[o]--
	case x.Op == event.SemWait:
		s.value[o]++
	case x.Op.IsWrite():
		s.setLast(o, m.before)
		s.setNow(o, m.now)
	case x.Op == event.Signal, x.Op == event.Broadcast:
		s.notify(i, -1)
	}
	s.ran(x.Slot, i, -1)
}

// write makes write i the last one of its variable, o.
func (s *scheduler) write(o, i int32, x *kept.Event) {
	of, counted := s.counts[o]
	switch other := x.Op == event.Update && s.source[i] != s.last[o]; {
	case other && counted:
		now := s.now[o].plus(x)
		left, known := of.first[now.value]
		if !known || !now.known {
			left = mixed
		}
		s.setNow(o, now)
		s.setLast(o, left)
	case other && mayFollowAny(x):
		s.setLast(o, mixed)
	default:
		s.setNow(o, counter{x.Value, counted})
		s.setLast(o, s.left[i])
	}
}

// setNow sets the value of a variable of counts.
func (s *scheduler) setNow(variable int32, to counter) {
	if _, counted := s.counts[variable]; !counted {
		return
	}
	s.state -= scatter(uint64(variable)<<32|s.now[variable].hash(), 4)
	s.now[variable] = to
	s.state += scatter(uint64(variable)<<32|to.hash(), 4)
}

// hash returns a number below 1<<32 that differs for values that are known.
func (c counter) hash() uint64 {
	if !c.known {
		return 1<<32 - 1
	}
	return c.value
}

// setLast makes a write the last one of its variable.
func (s *scheduler) setLast(variable, write int32) {
	s.state -= scatter(uint64(variable)<<32|uint64(uint32(s.last[variable])), 1)
	s.last[variable] = write
	s.state += scatter(uint64(variable)<<32|uint64(uint32(write)), 1)
}

// ran moves a slot on by one event (n is 1), or back (n is -1). Events of base are in no count
// of events to come.
func (s *scheduler) ran(slot uint32, i, n int32) {
	at := min(s.at[slot], s.at[slot]+n)
	s.at[slot] += n
	s.state += uint64(n) * scatter(uint64(slot)<<32|uint64(at), 2)
	if at >= s.base[slot] {
		s.expect(i, at < s.must[slot], -n)
	}
}

// scatter is a hash function: inputs that are nearly equal have very different results
// (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
func scatter(x, seed uint64) uint64 {
	x += seed * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
