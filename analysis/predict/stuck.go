package predict

import (
	"math"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Stuck finds out whether the run can end with threads that wait for each other for ever, at joins,
// waits for conditions, semaphores, barriers and initialisations as well as at locks, if some threads come later than
// in the run: each of the events given by Seq waits until nothing else can happen. From the first of
// them on, all events of the run that still can happen do, in the order of the run.
//
// Unlike Deadlock, it does not search: there is one such schedule. The threads that it leaves
// waiting for each other are the deadlock, and of several sets of them the smallest is. A cycle of
// locks alone is refuted: Deadlock finds these. So is a wait whose signal came before it began,
// unless wait is the Seq of the release by which it begins: the thread may look at what the signal is
// about before it waits, and then not wait.
//
// If left is not 0, that thread ends with the locks that it holds, which the run shows by inferred
// releases before its end.
//
// If threads are left waiting, possible is asked whether they can come there, before the schedule is made and checked,
// which takes as long as the run has events; nil: they can.
func (h *History) Stuck(later []uint64, left event.ThreadID, wait uint64, possible func() bool) Result {
	if h.blind {
		return unknown(reason.Evicted)
	}
	if h.done() {
		return unknown(reason.NotSearched)
	}
	if h.stuckSteps >= h.opt.Reversals/stuckShare {
		h.unsettled++
		return unknown(reason.Exhausted)
	}
	l := h.slotLogs()
	late := map[int32]bool{}
	first := int32(len(h.log))
	for _, seq := range later {
		x := h.entry(seq)
		if x == nil || h.discarded(x) {
			return unknown(reason.Evicted)
		}
		i := int32(h.log.Index(seq))
		late[i], first = true, min(first, i)
	}
	s := l.rest(first)
	kept, ok := s.leave(left)
	if !ok {
		return refuted(reason.NobodyStuck)
	}
	h.stuckSteps += s.runLate(late)
	b := newBlocked(s)
	b.begun, b.kept = s.beganBy(wait), kept
	b.find()
	h.stuckSteps += (len(b.woken) + len(b.initialisers)) * len(h.log) / 8
	return b.result(b.smallest(), 0, possible)
}

// StuckByTaken finds out whether the run can end with threads that wait for ever if a signal, given by
// Seq, wakes another thread than in the run, where wake is the Seq of the wake of the one that it woke. The
// other one waits on the same condition then, and waits again until it is woken as in the run. All else
// that can happen does, in the order of the run. Possible is as for Stuck.
func (h *History) StuckByTaken(signal, wake uint64, possible func() bool) Result {
	if h.blind || h.entry(signal) == nil || h.entry(wake) == nil {
		return unknown(reason.Evicted)
	}
	if h.done() {
		return unknown(reason.NotSearched)
	}
	if h.stuckSteps >= h.opt.Reversals/stuckShare {
		h.unsettled++
		return unknown(reason.Exhausted)
	}
	l := h.slotLogs()
	i, by := int32(h.log.Index(wake)), int32(h.log.Index(signal))
	if !slices.ContainsFunc(l.ended[by], func(w wait) bool { return w.wake == i }) || !l.takes(by) {
		return refuted(reason.NobodyStuck)
	}
	s := l.rest(i)
	slot := h.log[i].Slot
	s.limit[slot] = s.at[slot]
	h.stuckSteps += s.runLate(nil)
	b := newBlocked(s)
	b.taken = by
	b.find()
	h.stuckSteps += len(b.woken) * len(h.log) / 8
	if b.at[h.log[i].Thread] != i {
		return refuted(reason.NobodyStuck)
	}
	return b.result(b.around(h.log[i].Thread), signal, possible)
}

// takes reports whether another thread than the one that a signal woke in the run waited for it too.
func (l *slotLog) takes(signal int32) bool {
	for by, all := range l.ended {
		if by > signal && l.h.log[by].Object == l.h.log[signal].Object && slices.ContainsFunc(all, func(w wait) bool { return w.begin < signal }) {
			return true
		}
	}
	return false
}

// newBlocked returns what the threads wait for at the end of the schedule of s, before it is found.
func newBlocked(s *scheduler) *blocked {
	return &blocked{
		scheduler: s, at: map[event.ThreadID]int32{}, helpers: map[helpKey]map[event.ThreadID]bool{}, waits: map[event.ThreadID][]event.ThreadID{},
		begun: -1, taken: -1, woken: map[int32]bool{}, initialisers: map[event.ObjectID]event.ThreadID{},
	}
}

// result returns the result of Stuck if threads wait for each other at these events, or of StuckByTaken if
// taken is not 0.
func (b *blocked) result(chosen []int32, taken uint64, possible func() bool) Result {
	s, h := b.scheduler, b.h
	if len(chosen) == 0 || possible != nil && !possible() {
		return refuted(reason.NobodyStuck)
	}
	q := h.ask(finding.Deadlock, make(Pattern, len(chosen)))
	q.taken = taken
	for k, i := range chosen {
		e := h.log[i].Event()
		e.Op = attempted(e.Op)
		q.chosen[k] = &e
	}
	r := q.scheduled(s)
	r.Timed = slices.ContainsFunc(chosen, func(i int32) bool { return b.timed(i) })
	if r.Verdict == Unknown {
		return r
	}
	r.Reordered, r.Taken = s.reordered(), taken
	if len(chosen) == 1 && b.missed[chosen[0]] {
		r.Missed = h.log[b.notificationOf(chosen[0])].Seq
	}
	return r
}

// leave makes a thread stop before the inferred releases at its end, if it is not 0. It returns
// these releases, and whether the thread has ended while it held locks that nobody acquired again
// and that are no robust mutexes.
func (s *scheduler) leave(t event.ThreadID) (map[int32]bool, bool) {
	if t == 0 {
		return nil, true
	}
	if s.h.cutThrough() || s.h.evicted > 0 {
		return nil, false // the mutex may have been initialised as a robust one
	}
	for slot, events := range s.of {
		end := len(events) - 1
		for end >= 0 && s.h.log[events[end]].Thread != t {
			end--
		}
		if end < 0 || s.h.log[events[end]].Op != event.End || s.h.log[events[end]].Flags&event.WithProcess != 0 {
			continue
		}
		kept := map[int32]bool{}
		at := end
		for ; at > 0 && s.h.log[events[at-1]].Op == event.Release && s.h.log[events[at-1]].Flags&event.Inferred != 0; at-- {
			kept[events[at-1]] = !s.inheritable(events[at-1])
		}
		if int32(at) < s.base[slot] {
			return nil, false
		}
		s.limit[slot] = int32(at)
		return kept, len(kept) > 0
	}
	return nil, false
}

// inheritable reports whether the lock of an inferred release was acquired later, or is a mutex
// that was initialised with attributes, which may make it a robust one.
func (s *scheduler) inheritable(release int32) bool {
	for i := range s.h.log {
		x := &s.h.log[i]
		if x.Object == s.h.log[release].Object && (int32(i) > release && x.Op.IsAcquire() || x.Op == event.Init && x.Flags&event.HasValue != 0 && x.Value != 0) {
			return true
		}
	}
	return false
}

// beganBy returns the wake of the wait on a condition that begins by a release, given by Seq; -1 if
// there is none.
func (s *scheduler) beganBy(release uint64) int32 {
	x := s.h.entry(release)
	if x == nil || x.Flags&event.InCondWait == 0 {
		return -1
	}
	events := s.of[x.Slot]
	at, _ := slices.BinarySearch(events, int32(s.h.log.Index(release)))
	if at+2 >= len(events) || s.h.log[events[at+1]].Op != event.Wait {
		return -1
	}
	return events[at+2]
}

// stuckShare is the part of Options.Reversals that all calls of Stuck together may spend: a quarter.
const stuckShare = 4

// SetStuck makes f the deadlock that a result of Stuck shows.
func (h *History) SetStuck(f *finding.Finding, r *Result) {
	h.setPredicted(f, r)
	f.NoCycle = len(r.Chosen) == 1
	if x := h.entry(r.Missed); x != nil {
		f.Lost = []finding.Step{x.Step()}
	}
	f.HasTimeout = r.Timed
}

// attempted returns the operation at which a thread waits whose next event is of that operation.
func attempted(op event.Op) event.Op {
	switch op {
	case event.Wake:
		return event.Wait
	case event.BarrierDepart:
		return event.BarrierArrive
	case event.OnceLeave:
		return event.OnceEnter
	}
	return op
}

// rest returns a scheduler that has run the events before event first as observed, and may run all
// others.
func (l *slotLog) rest(first int32) *scheduler {
	base, must, limit := make([]int32, len(l.of)), make([]int32, len(l.of)), make([]int32, len(l.of))
	for slot, events := range l.of {
		at, _ := slices.BinarySearch(events, first)
		base[slot], limit[slot] = int32(at), int32(len(events))
	}
	s := l.newScheduler(base, must, limit, 0)
	s.trail = s.trail[:0]
	return s
}

// runLate runs all events that can happen, in the order of the run, except that the late ones wait
// until nothing else can happen. A late AcquireAgain behind a writer waits on. It returns the number
// of steps that it took.
func (s *scheduler) runLate(late map[int32]bool) int {
	steps := len(s.h.log) / 8
	for {
		steps += 1 + len(s.at)/8
		next := int32(-1)
		for slot := range s.at {
			i, ok := s.next(uint32(slot))
			if ok && !late[i] && (next < 0 || i < next) && s.can(uint32(slot)) {
				next = i
			}
		}
		switch {
		case next >= 0:
			s.run(s.h.log[next].Slot)
		default:
			left := s.behindWriters(late)
			if len(left) == len(late) {
				return steps
			}
			late = left
		}
	}
}

// behindWriters returns those of the late events that are the next ones of their slots and each an
// AcquireAgain of a lock which another thread requests as a writer next.
func (s *scheduler) behindWriters(late map[int32]bool) map[int32]bool {
	left := map[int32]bool{}
	for slot := range s.at {
		i, ok := s.next(uint32(slot))
		if ok && late[i] && len(s.waitingWriters(&s.h.log[i])) > 0 {
			left[i] = true
		}
	}
	return left
}

// waitingWriters returns, for an AcquireAgain of a lock at which readers wait behind writers, the
// threads that request the lock as writers next.
func (s *scheduler) waitingWriters(x *kept.Event) (threads []event.ThreadID) {
	if x.Op != event.AcquireAgain || !s.writers[x.Object] {
		return nil
	}
	for slot := range s.at {
		i, ok := s.next(uint32(slot))
		if !ok {
			continue
		}
		y := &s.h.log[i]
		if y.Op == event.Acquire && y.Object == x.Object && y.Thread != x.Thread && y.Flags&event.Try == 0 {
			threads = append(threads, y.Thread)
		}
	}
	return threads
}

// reordered returns two events whose critical sections of a lock, or whose waits for a semaphore,
// the schedule executes in another order than the run, or of which it executes only the second.
// Without the data that they guard nobody knows whether the threads then do the same as in the run.
// It returns zeros if there are none.
func (s *scheduler) reordered() (pair [2]uint64) {
	latest := map[int32]int32{} // by object: the last acquire of the run that was executed
	for _, m := range s.trail {
		x := &s.h.log[m.event]
		if !x.Op.IsAcquire() && x.Op != event.SemWait {
			continue
		}
		o := s.object[m.event]
		if at, any := latest[o]; any && at > m.event && s.conflict(m.event, at) {
			return [2]uint64{x.Seq, s.h.log[at].Seq}
		}
		latest[o] = max(latest[o], m.event)
	}
	for slot, events := range s.of {
		for _, i := range events[s.at[slot]:] {
			x := &s.h.log[i]
			if at, any := latest[s.object[i]]; any && (x.Op.IsAcquire() || x.Op == event.SemWait) && at > i && s.conflict(i, at) {
				return [2]uint64{x.Seq, s.h.log[at].Seq}
			}
		}
	}
	return pair
}

// conflict reports whether two acquires of a lock, or waits for a semaphore, belong to two threads
// and not both to readers.
func (s *scheduler) conflict(i, j int32) bool {
	x, y := &s.h.log[i], &s.h.log[j]
	return x.Object == y.Object && x.Thread != y.Thread && !(x.Op == event.AcquireRead && y.Op == event.AcquireRead)
}

// blocked holds what the threads wait for at the end of a schedule.
type blocked struct {
	*scheduler
	at           map[event.ThreadID]int32            // by thread: the event at which it waits
	helpers      map[helpKey]map[event.ThreadID]bool // the threads that have such operations left
	waits        map[event.ThreadID][]event.ThreadID // by thread: those that could let it go on, all of them blocked too
	begun        int32                               // the wake that may have missed its notification; -1: none
	taken        int32                               // the signal that another thread took than in the run; -1: none
	kept         map[int32]bool                      // by inferred release at the end of a thread: its lock stays held
	woken        map[int32]bool                      // by wake: the result of mayHaveBeenWoken
	initialisers map[event.ObjectID]event.ThreadID   // by initialisation: the result of initialiser
}

// helpKey identifies the operations on an object that end the waits at events of that operation.
type helpKey struct {
	ends   event.Op
	object event.ObjectID
}

// find finds the threads that can never go on after the schedule: the largest set in which each
// waits for others of the set only.
func (b *blocked) find() {
	var unborn []event.ThreadID
	for slot, events := range b.of {
		rest := events[b.scheduler.at[slot]:]
		if len(rest) > 0 {
			b.at[b.h.log[rest[0]].Thread] = rest[0]
		}
		for _, i := range rest {
			x := &b.h.log[i]
			if b.help(x); x.Op == event.Fork {
				unborn = append(unborn, x.Peer)
			}
		}
	}
	for _, t := range unborn { // a trace may have no event of its beginning
		delete(b.at, t)
	}
	for again := true; again; {
		again = false
		for t, i := range b.at {
			by, ok := b.waitsFor(i)
			if !ok {
				delete(b.at, t)
				delete(b.waits, t)
				again = true
				continue
			}
			b.waits[t] = by
		}
	}
}

// help records an operation that could end waits, if it is one.
func (b *blocked) help(x *kept.Event) {
	var ends event.Op
	switch x.Op {
	case event.SemPost:
		ends = event.SemWait
	case event.Signal, event.Broadcast:
		ends = event.Wake
	case event.BarrierArrive:
		ends = event.BarrierDepart
	default:
		return
	}
	key := helpKey{ends, x.Object}
	if b.helpers[key] == nil {
		b.helpers[key] = map[event.ThreadID]bool{}
	}
	b.helpers[key][x.Thread] = true
}

// waitsFor returns the threads that could let the thread of event i go on, and whether all of them
// are blocked or have ended.
func (b *blocked) waitsFor(i int32) ([]event.ThreadID, bool) {
	x := &b.h.log[i]
	if x.Flags&event.Try != 0 {
		return nil, false
	}
	switch x.Op {
	case event.Acquire, event.AcquireRead:
		return b.holder(i, x)
	case event.Join:
		_, ok := b.at[x.Peer]
		return []event.ThreadID{x.Peer}, ok
	case event.AcquireAgain:
		for _, t := range b.waitingWriters(x) {
			if _, ok := b.at[t]; ok {
				return []event.ThreadID{t}, true
			}
		}
		return nil, false
	case event.OnceLeave:
		t, known := b.initialisers[x.Object]
		if !known {
			t = b.initialiser(x)
			b.initialisers[x.Object] = t
		}
		_, ok := b.at[t]
		return []event.ThreadID{t}, ok && t != x.Thread
	case event.SemWait:
		if b.value[b.object[i]] > 0 || !b.counted[b.object[i]] {
			return nil, false
		}
	case event.Wake:
		woken, known := b.woken[i]
		if !known {
			woken = b.mayHaveBeenWoken(i)
			b.woken[i] = woken
		}
		if woken || b.missed[i] && b.begun != i {
			return nil, false
		}
	case event.BarrierDepart:
	default:
		return nil, false
	}
	var by []event.ThreadID
	for t := range b.helpers[helpKey{x.Op, x.Object}] {
		if _, ok := b.at[t]; !ok {
			return nil, false
		}
		if t != x.Thread {
			by = append(by, t)
		}
	}
	slices.Sort(by)
	return by, true
}

// initialiser returns the thread that is within the initialisation of the object of x: the only one
// that completes it in the run, and the first to enter it in the schedule. It returns 0 if there is no
// such thread.
func (b *blocked) initialiser(x *kept.Event) event.ThreadID {
	var by event.ThreadID
	for i := range b.h.log {
		y := &b.h.log[i]
		if y.Object != x.Object || y.Op != event.OnceDone {
			continue
		}
		if by != 0 || b.hasRun(int32(i)) {
			return 0
		}
		by = y.Thread
	}
	enters := func(i int32) bool { return b.h.log[i].Object == x.Object && b.h.log[i].Op == event.OnceEnter }
	for i := range b.h.log {
		if enters(int32(i)) && b.within(b.base, int32(i)) {
			return oneOf(by, b.h.log[i].Thread)
		}
	}
	for _, m := range b.trail {
		if enters(m.event) {
			return oneOf(by, b.h.log[m.event].Thread)
		}
	}
	return 0
}

// oneOf returns a thread if it is the same as another, else 0.
func oneOf(a, b event.ThreadID) event.ThreadID {
	if a != b {
		return 0
	}
	return a
}

// mayHaveBeenWoken reports whether a notification that ended no other wait was executed during the
// wait that event i ends, or it is not known what ended the wait in the run.
func (b *blocked) mayHaveBeenWoken(i int32) bool {
	wait := b.waitOf(i)
	if wait < 0 {
		return true
	}
	since := -1 // index in the trail
	for k, m := range b.trail {
		x := &b.h.log[m.event]
		switch {
		case m.event == wait:
			since = k
		case x.Object != b.h.log[wait].Object || m.event == b.taken:
		case x.Op == event.Broadcast && (since >= 0 || b.within(b.base, wait)):
			return true
		case x.Op == event.Signal && (since >= 0 || b.within(b.base, wait)) && !b.awoke(m.event):
			return true
		}
	}
	return b.within(b.base, wait) && b.notifiedInBase(wait)
}

// notifiedInBase reports whether, of the events that run as observed, one after a wait is a
// notification of its condition that has ended no other wait.
func (b *blocked) notifiedInBase(wait int32) bool {
	for i := int(wait) + 1; i < len(b.h.log); i++ {
		x := &b.h.log[i]
		if x.Object == b.h.log[wait].Object && int32(i) != b.taken && b.within(b.base, int32(i)) && (x.Op == event.Broadcast || x.Op == event.Signal && !b.awoke(int32(i))) {
			return true
		}
	}
	return false
}

// awoke reports whether a notification has ended a wait.
func (b *blocked) awoke(i int32) bool {
	return slices.ContainsFunc(b.ended[i], func(w wait) bool { return b.hasRun(w.wake) })
}

// notificationOf returns the notification that ended the wait of a wake that missed it.
func (b *blocked) notificationOf(wake int32) int32 {
	for by, all := range b.ended {
		if slices.ContainsFunc(all, func(w wait) bool { return w.wake == wake }) {
			return by
		}
	}
	return 0
}

// waitOf returns the wait that event i, a wake, ends: the event of its thread before it; -1 if that
// is none.
func (b *blocked) waitOf(i int32) int32 {
	events := b.of[b.h.log[i].Slot]
	at, _ := slices.BinarySearch(events, i)
	if at == 0 || b.h.log[events[at-1]].Op != event.Wait || b.h.log[events[at-1]].Thread != b.h.log[i].Thread {
		return -1
	}
	return events[at-1]
}

// holder returns the thread that holds the lock that event i requests.
func (b *blocked) holder(i int32, x *kept.Event) ([]event.ThreadID, bool) {
	for _, j := range b.open[b.object[i]] {
		h := &b.h.log[j]
		if x.Op != event.Acquire && h.Op != event.Acquire || h.Thread == x.Thread {
			continue
		}
		if b.kept[b.until[j]] {
			return nil, true
		}
		by := []event.ThreadID{h.Thread}
		if release := b.until[j]; release != math.MaxInt32 && b.h.log[release].Thread != h.Thread {
			by = append(by, b.h.log[release].Thread)
		}
		if !slices.ContainsFunc(by, func(t event.ThreadID) bool { _, ok := b.at[t]; return !ok }) {
			return by, true
		}
		if events := b.of[h.Slot]; b.h.log[events[b.scheduler.at[h.Slot]-1]].Op == event.End && b.until[j] == math.MaxInt32 {
			return nil, true
		}
	}
	return nil, false
}

// smallest returns the events at which the threads of the smallest set wait that is blocked in
// itself, but no cycle of locks; nil if there is none. A thread comes before those that it waits
// for.
func (b *blocked) smallest() []int32 {
	threads := make([]event.ThreadID, 0, len(b.at))
	for t := range b.at {
		threads = append(threads, t)
	}
	slices.Sort(threads)
	var best []int32
	for _, t := range threads {
		set := b.around(t)
		locks := !slices.ContainsFunc(set, func(i int32) bool { return !b.h.log[i].Op.IsAcquire() })
		if (!locks || len(set) == 1) && (best == nil || len(set) < len(best)) {
			best = set
		}
	}
	return best
}

// around returns the event at which a thread waits, and those of all threads that it waits for.
func (b *blocked) around(t event.ThreadID) []int32 {
	seen := map[event.ThreadID]bool{t: true}
	todo := []event.ThreadID{t}
	var out []int32
	for len(todo) > 0 {
		u := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		out = append(out, b.at[u])
		for _, v := range b.waits[u] {
			if !seen[v] {
				seen[v] = true
				todo = append(todo, v)
			}
		}
	}
	return out
}

// timed reports whether the wait at event i has a time limit.
func (b *blocked) timed(i int32) bool {
	x := &b.h.log[i]
	if x.Flags&event.Timed != 0 {
		return true
	}
	if x.Op != event.Wake {
		return false
	}
	w := b.waitOf(i)
	return w >= 0 && b.h.log[w].Flags&event.Timed != 0
}

// compact removes the discarded events from the log, so that schedules need not contain them.
func (h *History) compact() {
	h.moveLoneOf(0)
	h.update()
	h.removeStale()
	h.sweep()
	h.derived = derived{}
}

// Kept calls yield for each kept event, in the order of the run; it is the source of candidates for
// Stuck. The event is reused for the next call. After Kept, the history takes no more events.
func (h *History) Kept(yield func(*event.Event) bool) {
	h.compact()
	var e event.Event
	for i := range h.log {
		e = h.log[i].Event()
		if !yield(&e) {
			return
		}
	}
}

// ThreadOf returns the thread of an event, given by Seq; 0 if it was evicted.
func (h *History) ThreadOf(seq uint64) event.ThreadID {
	if x := h.entry(seq); x != nil {
		return x.Thread
	}
	return 0
}
