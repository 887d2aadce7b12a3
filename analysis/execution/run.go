package execution

import (
	"fmt"
	"math"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// Run is a run as Check needs it: its events, what each needs and what each met. Events
// are named by their place in it.
type Run struct {
	events  []event.Event
	threads map[event.ThreadID]int32 // → the queue of its events
	ids     map[event.ObjectID]int32
	object  []int32 // by event: its object, from 1; 0 is none
	objects int     // how many there are
	met     []int32 // by event: what it met, see below
	closed  []int32 // by event: of an acquire, its release
	slept   map[int32]int32
	needs   []need
	needTo  []int32 // by event: its needs end there
	queues  [][]int32
	sends   map[int32]int32 // by object: the queue of its messages

	initial       map[int32]int64 // by object: of semaphores
	heldBefore    map[int32]int32 // by object: the release of who held the lock when the run begins
	unexplainable []bool          // by event; nil until asked for
}

// need is that the first events of a queue have happened. Queues hold the events of a
// thread, or of an object those of one sort, in the order of the run. All edges M of the
// order table that ask nothing of a state are needs.
type need struct {
	queue, first int32
	rule         Rule
}

// What an event met is of a read the write that it saw, of a release the acquire, of a
// wake the notification, of a receive how many messages; or one of these.
const (
	nobody int32 = math.MinInt32 + iota
	// unknown is the writer of a read whose value is not that of the last write.
	unknown
	// anybody is the writer of a read that happened earlier than it stands here, when the
	// variable had the value that it saw (event.Late): its thread did nothing else in
	// between, so it may be executed there in the witness too.
	anybody
)

// name tells of an event in a refusal.
func (r *Run) name(i int32) string {
	if i < 0 {
		return "none recorded"
	}
	e := &r.events[i]
	return fmt.Sprintf("event %d (%s by thread %d)", e.Seq, e.Op, e.Thread)
}

// holder is the thread of a section: an acquire, or the complement of the release of one
// that was open when the run begins.
func (r *Run) holder(h int32) event.ThreadID { return r.events[max(h, ^h)].Thread }

// closedBy is the end of a section in the run.
func (r *Run) closedBy(h int32) int32 {
	if h < 0 {
		return ^h
	}
	return r.closed[h]
}

func (r *Run) needFrom(i int32) int32 {
	if i == 0 {
		return 0
	}
	return r.needTo[i-1]
}

// isEnd reports whether a thread ended an object's lifetime by this event: an inferred
// one tells of no deed, only that the memory is another's by then.
func isEnd(e *event.Event) bool { return e.Op == event.Destroy && e.Flags&event.Inferred == 0 }

// unexplained reports whether the run itself breaks the rule at this event.
func (r *Run) unexplained(i int32) bool {
	if r.unexplainable == nil {
		r.unexplainable = make([]bool, len(r.events))
		s := r.start()
		for j := range r.events {
			r.unexplainable[j] = s.may(int32(j)) != nil
			s.do(int32(j))
		}
	}
	return r.unexplainable[i]
}

// Observe reads off a run, or the part of it that was recorded, by Seq, what its events
// need. It keeps the events, and uses no clock of theirs.
func Observe(events []event.Event) *Run {
	n := len(events)
	w := walk{
		Run: &Run{
			events: events, threads: map[event.ThreadID]int32{}, ids: map[event.ObjectID]int32{0: 0}, object: make([]int32, n), met: make([]int32, n),
			closed: make([]int32, n), slept: map[int32]int32{}, needTo: make([]int32, n), sends: map[int32]int32{},
			initial: map[int32]int64{}, heldBefore: map[int32]int32{},
		},
		fork: map[event.ThreadID]int32{}, asleep: map[event.ThreadID]int32{}, inside: map[visitor]int{},
		destroyed: map[event.ObjectID]bool{}, poster: map[event.ObjectID]event.ThreadID{}, past: []past{{}},
	}
	for i := range events {
		w.foresee(&events[i])
	}
	for i := range events {
		w.visit(int32(i), &events[i])
		w.needTo[i] = int32(len(w.needs))
	}
	w.objects = len(w.past)
	return w.Run
}

// walk is the state of the walk over the run.
type walk struct {
	*Run
	fork      map[event.ThreadID]int32 // → the queue of its creation
	asleep    map[event.ThreadID]int32 // → its wait
	inside    map[visitor]int          // of barriers: the generation
	destroyed map[event.ObjectID]bool
	poster    map[event.ObjectID]event.ThreadID // who alone posts, or 0
	past      []past                            // by object
}

type visitor struct {
	thread event.ThreadID
	object int32
}

// past is what happened to an object.
type past struct {
	open  []int32 // acquires
	known bool    // who held the lock when the run begins
	write int32   // plus 1
	queue []int32 // by sort, plus 1; nil: there are none
	more  *more
}

// The sorts of queues of an object.
const (
	births = iota
	uses   // of one that will be destroyed
	arrivals
	posts
	dones
	messages
	receives
	failures
	sorts
)

// more is what few objects have.
type more struct {
	sent        []int32 // notifications that no wake has taken
	size        int     // of a barrier
	generations []generation
	balance     int64
	waits       int64
	fixed       bool // the initial value was recorded
}

// generation is one use of a barrier, from an arrival on.
type generation struct {
	first int32
	left  bool // somebody has departed
}

// foresee finds what is known only at the end of the run.
func (w *walk) foresee(e *event.Event) {
	switch e.Op {
	case event.Destroy:
		if isEnd(e) {
			w.destroyed[e.Object] = true
		}
	case event.SemPost:
		if by, known := w.poster[e.Object]; known && by != e.Thread {
			w.poster[e.Object] = 0
		} else {
			w.poster[e.Object] = e.Thread
		}
	}
}

func (w *walk) visit(i int32, e *event.Event) {
	w.enqueue(i, e)
	if e.Object != 0 {
		o, known := w.ids[e.Object]
		if !known {
			o = int32(len(w.past))
			w.ids[e.Object] = o
			w.past = append(w.past, past{})
		}
		w.object[i] = o
		w.lifetime(i, e)
	}
	w.event(i, e)
	if len(w.destroyed) > 0 && w.destroyed[e.Object] {
		w.enter(i, uses)
	}
}

// enqueue adds the event to the queue of its thread.
func (w *walk) enqueue(i int32, e *event.Event) {
	q, known := w.threads[e.Thread]
	if !known {
		q = w.newQueue()
		w.threads[e.Thread] = q
		if created, ok := w.fork[e.Thread]; ok {
			w.need(created, 1, Creation)
		}
	}
	w.queues[q] = append(w.queues[q], i)
}

func (w *walk) newQueue() int32 {
	w.queues = append(w.queues, nil)
	return int32(len(w.queues) - 1)
}

// need adds one of the event that is visited.
func (w *walk) need(queue int32, first int, rule Rule) {
	if first > 0 {
		w.needs = append(w.needs, need{queue, int32(first), rule})
	}
}

// of is a queue of the event's object, which is made if it is not there.
func (w *walk) of(i int32, sort int) int32 {
	p := &w.past[w.object[i]]
	if p.queue == nil {
		p.queue = make([]int32, sorts)
	}
	if p.queue[sort] == 0 {
		p.queue[sort] = w.newQueue() + 1
	}
	return p.queue[sort] - 1
}

func (w *walk) enter(i int32, sort int) {
	q := w.of(i, sort)
	w.queues[q] = append(w.queues[q], i)
}

// all needs the events of a sort that there were so far.
func (w *walk) all(i int32, sort int, rule Rule) {
	q := w.of(i, sort)
	w.need(q, len(w.queues[q]), rule)
}

func (w *walk) lifetime(i int32, e *event.Event) {
	if p := &w.past[w.object[i]]; p.queue != nil && p.queue[births] != 0 {
		w.need(p.queue[births]-1, 1, Lifetime)
	}
	if isEnd(e) {
		w.all(i, uses, Lifetime)
	}
}

func (w *walk) event(i int32, e *event.Event) {
	w.met[i], w.closed[i] = nobody, math.MaxInt32
	switch e.Op {
	case event.Fork:
		w.fork[e.Peer] = w.newQueue()
		w.queues[w.fork[e.Peer]] = []int32{i}
	case event.Join:
		w.join(e)
	case event.Read, event.Write, event.Update:
		w.access(i, e)
	case event.Acquire, event.AcquireRead:
		p := &w.past[w.object[i]]
		p.known, p.open = true, append(p.open, i)
	case event.Release:
		w.release(i, e)
	case event.OnceDone:
		w.enter(i, dones)
	case event.OnceLeave:
		w.all(i, dones, Once)
	case event.Wait, event.Signal, event.Broadcast, event.Wake:
		w.condition(i, e)
	case event.BarrierArrive, event.BarrierDepart:
		w.barrier(i, e)
	case event.SemPost, event.SemWait, event.SemFailed:
		w.semaphore(i, e)
	case event.Send, event.Sent, event.Receive, event.Receiving, event.ReceiveFailed:
		w.message(i, e)
	case event.Init:
		if e.Flags&event.Inferred == 0 {
			w.init(i, e)
		}
	}
}

// join needs all events of the thread, also those that are still to come.
func (w *walk) join(e *event.Event) {
	if q, known := w.threads[e.Peer]; known {
		w.needs = append(w.needs, need{q, math.MaxInt32, Ending})
	}
}

func (w *walk) access(i int32, e *event.Event) {
	p := &w.past[w.object[i]]
	if e.Op != event.Write {
		w.met[i] = w.source(e, p.write)
	}
	if e.Op.IsWrite() {
		p.write = i + 1
	}
}

// source is the write that a read saw; last is the one before it, plus 1.
func (w *walk) source(e *event.Event, last int32) int32 {
	switch {
	case e.Flags&event.NoSource != 0:
		return unknown
	case e.Flags&event.Late != 0:
		return anybody
	case last == 0:
		return nobody
	}
	x := &w.events[last-1]
	if e.Op == event.Read && e.Flags&x.Flags&event.HasValue != 0 && e.Value != x.Value {
		return unknown
	}
	return last - 1
}

// release finds the acquire: the thread's own, or else the oldest. A lock that was
// never acquired before was held when the recording began.
func (w *walk) release(i int32, e *event.Event) {
	p := &w.past[w.object[i]]
	if !p.known {
		p.known = true
		w.heldBefore[w.object[i]], w.met[i] = i, ^i
		return
	}
	if len(p.open) == 0 {
		return
	}
	at := max(0, slices.IndexFunc(p.open, func(j int32) bool { return w.events[j].Thread == e.Thread }))
	w.met[i], w.closed[p.open[at]] = p.open[at], i
	p.open = slices.Delete(p.open, at, at+1)
}

// rest is what few objects have, of the event's object.
func (w *walk) rest(i int32) *more {
	p := &w.past[w.object[i]]
	if p.more == nil {
		p.more = &more{}
	}
	return p.more
}

// condition finds for a wake the oldest notification since its wait that no other wake
// has taken.
func (w *walk) condition(i int32, e *event.Event) {
	m := w.rest(i)
	switch e.Op {
	case event.Wait:
		w.asleep[e.Thread] = i
	case event.Signal, event.Broadcast:
		m.sent = append(m.sent, i)
	case event.Wake:
		since, ok := w.asleep[e.Thread]
		if !ok {
			since = -1
		} else {
			w.slept[i] = since
		}
		delete(w.asleep, e.Thread)
		at, _ := slices.BinarySearch(m.sent, since+1)
		if e.Flags&event.TimedOut != 0 || at == len(m.sent) {
			return
		}
		w.met[i] = m.sent[at]
		if w.events[m.sent[at]].Op == event.Signal {
			m.sent = slices.Delete(m.sent, at, at+1)
		}
	}
}

// barrier: an arrival comes after those of the generations before, a departure after all
// arrivals of its generation. A generation ends when it is full, or somebody departs.
func (w *walk) barrier(i int32, e *event.Event) {
	q, m, who := w.of(i, arrivals), w.rest(i), visitor{e.Thread, w.object[i]}
	if e.Op == event.BarrierDepart {
		k, ok := w.inside[who]
		if !ok {
			return
		}
		m.generations[k].left = true
		if k+1 < len(m.generations) {
			w.need(q, int(m.generations[k+1].first), Generations)
		} else {
			w.need(q, len(w.queues[q]), Generations)
		}
		return
	}
	n := len(w.queues[q])
	if k := len(m.generations) - 1; k < 0 || m.generations[k].left || m.size > 0 && n-int(m.generations[k].first) >= m.size {
		m.generations = append(m.generations, generation{first: int32(n)})
	}
	w.inside[who] = len(m.generations) - 1
	w.need(q, int(m.generations[len(m.generations)-1].first), Generations)
	w.enter(i, arrivals)
}

// semaphore finds the least initial value that explains the run. Of one that begins with
// v, and that one thread alone posts, wait v+j comes after post j.
func (w *walk) semaphore(i int32, e *event.Event) {
	m, o := w.rest(i), w.object[i]
	switch e.Op {
	case event.SemPost:
		m.balance++
		w.enter(i, posts)
	case event.SemWait:
		m.balance--
		m.waits++
		if m.fixed && w.poster[e.Object] != 0 {
			w.need(w.of(i, posts), int(m.waits-w.initial[o]), Count)
		}
	}
	if !m.fixed {
		w.initial[o] = max(w.initial[o], -m.balance)
	}
}

func (w *walk) init(i int32, e *event.Event) {
	w.enter(i, births)
	if e.Flags&event.HasValue == 0 {
		return
	}
	switch e.Kind {
	case event.KindSemaphore:
		w.initial[w.object[i]], w.rest(i).fixed = int64(min(e.Value, 1<<31)), true
	case event.KindBarrier:
		w.rest(i).size = int(min(e.Value, 1<<31))
	}
}

// message: a receive has the sends before it that begin before its end, and all
// receives; what found nothing has all receives, and comes before the sends after it. A
// send that may have waited for room has all receives before its return.
func (w *walk) message(i int32, e *event.Event) {
	switch e.Op {
	case event.Send:
		w.all(i, failures, Messages)
		w.enter(i, messages)
		w.sends[w.object[i]] = w.of(i, messages)
	case event.Sent:
		q := w.of(i, receives)
		w.need(q, madeRoom(len(w.queues[q]), e), Messages)
	case event.Receive:
		w.all(i, receives, Messages)
		w.enter(i, receives)
		w.met[i] = w.begun(w.queues[w.of(i, messages)], e)
	case event.Receiving:
		w.enter(i, receives)
	case event.ReceiveFailed:
		w.all(i, receives, Messages)
		w.enter(i, failures)
	}
}

// madeRoom counts the receives, of n, that made room. Of a channel whose beginning was
// forgotten the first that are left stand for those, which are more.
func madeRoom(n int, e *event.Event) int {
	if e.Flags&event.HasValue == 0 || e.Value > uint64(n) {
		return n
	}
	return int(e.Value)
}

// begun counts the sends that a receive may have bytes of, or that are before those.
func (w *walk) begun(sends []int32, e *event.Event) int32 {
	n := len(sends)
	for ; n > 0 && e.Flags&event.HasValue != 0; n-- {
		if x := &w.events[sends[n-1]]; x.Flags&event.HasValue == 0 || x.Value < e.Value {
			break
		}
	}
	return int32(n)
}
