package execution

import (
	"fmt"
	"math"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// Run is a run in the form that Check needs: its events, the needs of each, and the source of each.
// An event is identified by its index in the run.
type Run struct {
	events  []event.Event
	threads map[event.ThreadID]int32 // the queue of the thread's events
	ids     map[event.ObjectID]int32 // objects in the order of their first events, from 1; 0 is none
	object  []int32                  // by event: its object; 0 is none
	objects int                      // number of objects, none included
	source  []int32                  // by event: its source, see noSource below
	closed  []int32                  // by acquire: its release; MaxInt32: none
	waitOf  map[int32]int32          // by wake: the wait that it ends
	needs   []need                   // of all events, in the order of the run
	needTo  []int32                  // by event: the index after its last need in needs
	queues  [][]int32                // lists of events, see need
	sends   map[int32]int32          // by object: the queue of its messages

	initial     map[int32]int64 // by object: the value of a semaphore
	counted     map[int32]bool  // by object: the initial value of a semaphore was recorded
	writers     map[int32]bool  // by object: a read-write lock at which readers wait behind a waiting writer
	heldBefore  map[int32]int32 // by object: the release of a lock that was held when the run begins
	values      []knownValues   // by object: of a variable
	brokenByRun []bool          // by event: the run itself breaks the event's rule; nil until needed

	strict, lenient checkpoints // of Check and of CheckUnexplained
}

// need is the condition that the first events of a queue have been executed. A queue is a list, in
// the order of the run, of the events of one thread, or of one sort of events of one object. Each
// edge that every feasible reordering keeps, and that does not depend on a state, is a need.
type need struct {
	queue int32
	first int32 // number of the events
	rule  Rule  // the rule that is broken without them
}

// The source of an event: for a read, the write that it saw; for a release, the acquire; for a
// wake, the notification; for a receive, the number of messages; or one of these values.
const (
	noSource int32 = math.MinInt32 + iota // there is none
	// unknownSource is the source of a read whose value is not that of the last write, and of a
	// semaphore wait for which no post is left.
	unknownSource
	// unseenStore is the source of an atomic read that saw another value than recorded accesses of
	// the variable before it: a store came in between that was not recorded, and orders the read.
	unseenStore
	// anySource is the source of a read that happened earlier than its position in the run,
	// when the variable had the value that it saw (event.Late). Its thread did nothing else in
	// between, so a witness may execute the read after any write.
	anySource
)

// name returns the description of an event in a refusal.
func (r *Run) name(i int32) string {
	if i < 0 {
		return "none recorded"
	}
	e := &r.events[i]
	return fmt.Sprintf("event %d (%s by thread %d)", e.Seq, e.Op, e.Thread)
}

// holder returns the thread of a critical section h: h is an acquire, or the bitwise complement of
// the release of a lock that was held when the run begins.
func (r *Run) holder(h int32) event.ThreadID { return r.events[max(h, ^h)].Thread }

// closedBy returns the release of a critical section in the run.
func (r *Run) closedBy(h int32) int32 {
	if h < 0 {
		return ^h
	}
	return r.closed[h]
}

// needFrom returns the index of the event's first need in needs.
func (r *Run) needFrom(i int32) int32 {
	if i == 0 {
		return 0
	}
	return r.needTo[i-1]
}

// isEnd reports whether a thread ended an object's lifetime by this event. An inferred destroy is
// not an operation: it only shows that the memory was used for another object by then.
func isEnd(e *event.Event) bool { return e.Op == event.Destroy && e.Flags&event.Inferred == 0 }

// breaksRule reports whether the run itself breaks the rule at this event.
func (r *Run) breaksRule(i int32) bool {
	if r.brokenByRun == nil {
		r.brokenByRun = make([]bool, len(r.events))
		s := r.start()
		for j := range r.events {
			r.brokenByRun[j] = s.check(int32(j)) != nil
			s.execute(int32(j))
		}
	}
	return r.brokenByRun[i]
}

// Observe computes from a run, or from the part of it that was recorded, what its events need. The
// events are in the order of Seq. Observe keeps the slice and does not use the clocks of the
// events.
func Observe(events []event.Event) *Run {
	n := len(events)
	w := walk{
		Run: &Run{
			events: events, threads: map[event.ThreadID]int32{}, ids: map[event.ObjectID]int32{0: 0}, object: make([]int32, n), source: make([]int32, n),
			closed: make([]int32, n), waitOf: map[int32]int32{}, needTo: make([]int32, n), sends: map[int32]int32{},
			initial: map[int32]int64{}, counted: map[int32]bool{}, writers: map[int32]bool{}, heldBefore: map[int32]int32{},
		},
		fork: map[event.ThreadID]int32{}, waiting: map[event.ThreadID]int32{}, arrivedIn: map[arrivalKey]int{},
		destroyed: map[event.ObjectID]bool{}, poster: map[event.ObjectID]event.ThreadID{}, hasWaited: map[semaphoreUse]bool{}, objectsSoFar: []objectSoFar{{}},
	}
	for i := range events {
		w.lookAhead(&events[i])
	}
	for i := range events {
		w.visit(int32(i), &events[i])
		w.needTo[i] = int32(len(w.needs))
	}
	w.objects = len(w.objectsSoFar)
	w.Run.findValues()
	return w.Run
}

// walk is the state of the pass over the run.
type walk struct {
	*Run
	fork         map[event.ThreadID]int32 // by thread: the queue of its fork
	waiting      map[event.ThreadID]int32 // by thread: its current wait
	arrivedIn    map[arrivalKey]int       // of barriers: the generation of the thread's last arrival
	destroyed    map[event.ObjectID]bool
	poster       map[event.ObjectID]event.ThreadID // the only thread that posts, or 0: there are several, or it had waited
	hasWaited    map[semaphoreUse]bool
	objectsSoFar []objectSoFar // by object
}

// semaphoreUse is a thread's use of a semaphore.
type semaphoreUse struct {
	thread    event.ThreadID
	semaphore event.ObjectID
}

type arrivalKey struct {
	thread event.ThreadID
	object int32
}

// objectSoFar is the state of an object so far in the run.
type objectSoFar struct {
	open  []int32 // acquires without a release so far
	known bool    // it is known whether the lock was held when the run begins
	write int32   // the last write, plus 1; 0: none
	read  int32   // the first read, plus 1; 0: none
	queue []int32 // by sort: the queue, plus 1; 0: none; nil: no queues
	extra *extra
}

// The sorts of queues of an object.
const (
	inits = iota
	uses  // of an object that will be destroyed
	arrivals
	posts
	onceDones
	messages
	receives
	failures
	sorts
)

// extra is the part of objectSoFar that few objects have.
type extra struct {
	sent        []int32 // broadcasts, and signals that have not ended a wait
	size        int     // number of threads of a generation of a barrier; 0: unknown
	generations []generation
	balance     int64 // of a semaphore: posts minus waits
	waits       int64 // of a semaphore: waits
	hasInitial  bool  // Init recorded the initial value
}

// generation is one use of a barrier, beginning with an arrival.
type generation struct {
	first    int32 // index of its first arrival in the queue of arrivals
	departed bool  // some thread has departed
}

// lookAhead records what later events of the run determine about earlier ones.
func (w *walk) lookAhead(e *event.Event) {
	switch e.Op {
	case event.Destroy:
		if isEnd(e) {
			w.destroyed[e.Object] = true
		}
	case event.SemPost:
		if by, known := w.poster[e.Object]; known && by != e.Thread || w.hasWaited[semaphoreUse{e.Thread, e.Object}] {
			w.poster[e.Object] = 0
		} else {
			w.poster[e.Object] = e.Thread
		}
	case event.SemWait:
		w.hasWaited[semaphoreUse{e.Thread, e.Object}] = true
	}
}

// visit computes the queues, the needs and the source of the next event of the run.
func (w *walk) visit(i int32, e *event.Event) {
	w.enqueue(i, e)
	if e.Object != 0 {
		o, known := w.ids[e.Object]
		if !known {
			o = int32(len(w.objectsSoFar))
			w.ids[e.Object] = o
			w.objectsSoFar = append(w.objectsSoFar, objectSoFar{})
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

// need adds a need of the current event.
func (w *walk) need(queue int32, first int, rule Rule) {
	if first > 0 {
		w.needs = append(w.needs, need{queue, int32(first), rule})
	}
}

// queueOf returns a queue of the event's object, which it makes if there is none.
func (w *walk) queueOf(i int32, sort int) int32 {
	p := &w.objectsSoFar[w.object[i]]
	if p.queue == nil {
		p.queue = make([]int32, sorts)
	}
	if p.queue[sort] == 0 {
		p.queue[sort] = w.newQueue() + 1
	}
	return p.queue[sort] - 1
}

// enter adds the event to a queue of its object.
func (w *walk) enter(i int32, sort int) {
	q := w.queueOf(i, sort)
	w.queues[q] = append(w.queues[q], i)
}

// needAll makes the event need all events so far of a sort of its object.
func (w *walk) needAll(i int32, sort int, rule Rule) {
	q := w.queueOf(i, sort)
	w.need(q, len(w.queues[q]), rule)
}

// lifetime adds the needs of the object's lifetime: uses need the init, and the destroy needs all
// uses.
func (w *walk) lifetime(i int32, e *event.Event) {
	if p := &w.objectsSoFar[w.object[i]]; p.queue != nil && p.queue[inits] != 0 {
		w.need(p.queue[inits]-1, 1, Lifetime)
	}
	if isEnd(e) {
		w.needAll(i, uses, Lifetime)
	}
}

// event computes the needs and the source of an event by its operation.
func (w *walk) event(i int32, e *event.Event) {
	w.source[i], w.closed[i] = noSource, math.MaxInt32
	switch e.Op {
	case event.Fork:
		w.fork[e.Peer] = w.newQueue()
		w.queues[w.fork[e.Peer]] = []int32{i}
	case event.Join:
		w.join(e)
	case event.Read, event.Write, event.Update:
		w.access(i, e)
	case event.Acquire, event.AcquireRead:
		p := &w.objectsSoFar[w.object[i]]
		p.known, p.open = true, append(p.open, i)
		if e.Kind == event.KindRWLock && e.Flags&event.HasValue != 0 && e.Value == event.PreferWriterNonrecursive {
			w.writers[w.object[i]] = true
		}
	case event.Release:
		w.release(i, e)
	case event.OnceDone:
		w.enter(i, onceDones)
	case event.OnceLeave:
		w.needAll(i, onceDones, Once)
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

// join needs all events of the thread, including those that come later in the run.
func (w *walk) join(e *event.Event) {
	if q, known := w.threads[e.Peer]; known {
		w.needs = append(w.needs, need{q, math.MaxInt32, Ending})
	}
}

func (w *walk) access(i int32, e *event.Event) {
	p := &w.objectsSoFar[w.object[i]]
	if e.Op != event.Write {
		w.source[i] = w.writeSeenBy(e, p.write)
		if w.source[i] == unknownSource && e.Flags&event.Atomic != 0 && !w.onlySaw(p, e) {
			w.source[i] = unseenStore
		}
		if p.read == 0 {
			p.read = i + 1
		}
	}
	if e.Op.IsWrite() {
		p.write = i + 1
	}
}

// writeSeenBy returns the write that a read saw. last is the last write before the read, plus 1; 0:
// none.
func (w *walk) writeSeenBy(e *event.Event, last int32) int32 {
	switch {
	case e.Flags&event.NoSource != 0:
		return unknownSource
	case e.Flags&event.Late != 0:
		return anySource
	case last == 0:
		return noSource
	}
	x := &w.events[last-1]
	if e.Op == event.Read && e.Flags&x.Flags&event.HasValue != 0 && e.Value != x.Value {
		return unknownSource
	}
	return last - 1
}

// onlySaw reports whether all accesses of a variable before e, which reads, were reads of the same value.
// Then it may have had this value since the program began, although its file says otherwise.
func (w *walk) onlySaw(p *objectSoFar, e *event.Event) bool {
	if p.write != 0 || p.read == 0 {
		return p.write == 0
	}
	first := &w.events[p.read-1]
	return first.Flags&e.Flags&event.HasValue != 0 && first.Value == e.Value
}

// release finds the acquire of a release: the thread's own, or else the oldest open one. A lock
// without an acquire before its first release was held when the recording began.
func (w *walk) release(i int32, e *event.Event) {
	p := &w.objectsSoFar[w.object[i]]
	if !p.known {
		p.known = true
		w.heldBefore[w.object[i]], w.source[i] = i, ^i
		return
	}
	if len(p.open) == 0 {
		return
	}
	at := max(0, slices.IndexFunc(p.open, func(j int32) bool { return w.events[j].Thread == e.Thread }))
	w.source[i], w.closed[p.open[at]] = p.open[at], i
	p.open = slices.Delete(p.open, at, at+1)
}

// extraOf returns the extra of the event's object, which it makes if there is none.
func (w *walk) extraOf(i int32) *extra {
	p := &w.objectsSoFar[w.object[i]]
	if p.extra == nil {
		p.extra = &extra{}
	}
	return p.extra
}

// condition finds the notification that ended the wait of a wake: the oldest one since that wait
// that is a broadcast, or a signal that has not ended another wait.
func (w *walk) condition(i int32, e *event.Event) {
	m := w.extraOf(i)
	switch e.Op {
	case event.Wait:
		w.waiting[e.Thread] = i
	case event.Signal, event.Broadcast:
		m.sent = append(m.sent, i)
	case event.Wake:
		since, ok := w.waiting[e.Thread]
		if !ok {
			since = -1
		} else {
			w.waitOf[i] = since
		}
		delete(w.waiting, e.Thread)
		at, _ := slices.BinarySearch(m.sent, since+1)
		if e.Flags&event.TimedOut != 0 || at == len(m.sent) {
			return
		}
		w.source[i] = m.sent[at]
		if w.events[m.sent[at]].Op == event.Signal {
			m.sent = slices.Delete(m.sent, at, at+1)
		}
	}
}

// barrier adds the needs of barrier operations: an arrival needs the arrivals of the generations
// before it, a departure all arrivals of its generation. A generation is complete when it has its
// number of threads, or a thread departs.
func (w *walk) barrier(i int32, e *event.Event) {
	q, m, who := w.queueOf(i, arrivals), w.extraOf(i), arrivalKey{e.Thread, w.object[i]}
	if e.Op == event.BarrierDepart {
		k, ok := w.arrivedIn[who]
		if !ok {
			return
		}
		m.generations[k].departed = true
		if k+1 < len(m.generations) {
			w.need(q, int(m.generations[k+1].first), Generations)
		} else {
			w.need(q, len(w.queues[q]), Generations)
		}
		return
	}
	n := len(w.queues[q])
	if k := len(m.generations) - 1; k < 0 || m.generations[k].departed || m.size > 0 && n-int(m.generations[k].first) >= m.size {
		m.generations = append(m.generations, generation{first: int32(n)})
	}
	w.arrivedIn[who] = len(m.generations) - 1
	w.need(q, int(m.generations[len(m.generations)-1].first), Generations)
	w.enter(i, arrivals)
}

// semaphore computes the least initial value that explains the run. If Init recorded the initial
// value v, and only one thread posts, wait v+j needs post j.
func (w *walk) semaphore(i int32, e *event.Event) {
	m, o := w.extraOf(i), w.object[i]
	switch e.Op {
	case event.SemPost:
		m.balance++
		w.enter(i, posts)
	case event.SemWait:
		if m.hasInitial && m.balance+w.initial[o] <= 0 {
			w.source[i] = unknownSource
			return
		}
		m.balance--
		m.waits++
		if m.hasInitial && w.poster[e.Object] != 0 {
			w.need(w.queueOf(i, posts), int(m.waits-w.initial[o]), Count)
		}
	}
	if !m.hasInitial {
		w.initial[o] = max(w.initial[o], -m.balance)
	}
}

func (w *walk) init(i int32, e *event.Event) {
	w.enter(i, inits)
	if e.Flags&event.HasValue == 0 {
		return
	}
	switch e.Kind {
	case event.KindSemaphore:
		w.initial[w.object[i]], w.extraOf(i).hasInitial = int64(min(e.Value, 1<<31)), true
		w.counted[w.object[i]] = true
	case event.KindBarrier:
		w.extraOf(i).size = int(min(e.Value, 1<<31))
	}
}

// message adds the needs of channel operations. A receive needs the sends that may have begun
// before its end, and all receives before it. A failed receive needs all receives before it, and
// the sends after it need it. A send that may have waited for room needs the receives that made
// room before its return.
func (w *walk) message(i int32, e *event.Event) {
	switch e.Op {
	case event.Send:
		w.needAll(i, failures, Messages)
		w.enter(i, messages)
		w.sends[w.object[i]] = w.queueOf(i, messages)
	case event.Sent:
		q := w.queueOf(i, receives)
		w.need(q, madeRoom(len(w.queues[q]), e), Messages)
	case event.Receive:
		w.needAll(i, receives, Messages)
		w.enter(i, receives)
		w.source[i] = w.begun(w.queues[w.queueOf(i, messages)], e)
	case event.Receiving:
		w.enter(i, receives)
	case event.ReceiveFailed:
		w.needAll(i, receives, Messages)
		w.enter(i, failures)
	}
}

// madeRoom returns how many of the first n receives made room. If the beginning of a channel was
// discarded, it counts the first of those that are left, which come later.
func madeRoom(n int, e *event.Event) int {
	if e.Flags&event.HasValue == 0 || e.Value > uint64(n) {
		return n
	}
	return int(e.Value)
}

// begun returns the number of sends of which a receive may have bytes, or that precede such sends.
func (w *walk) begun(sends []int32, e *event.Event) int32 {
	n := len(sends)
	for ; n > 0 && e.Flags&event.HasValue != 0; n-- {
		if x := &w.events[sends[n-1]]; x.Flags&event.HasValue == 0 || x.Value < e.Value {
			break
		}
	}
	return int32(n)
}
