package predict

import (
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// observed is what the checker knows of the run, found by one walk over it. Events
// are named by their index.
type observed struct {
	events     []event.Event
	threads    map[event.ThreadID][]int
	fork       map[event.ThreadID]int
	reads      []int // read or update → the write it saw, -1 for none
	closes     []int // release → acquire, -1-thread for one before the recording, or nothing
	after      map[int][]int
	woken      map[int]wakeup // wake → what explains it
	made       map[event.ObjectID]int
	initial    map[event.ObjectID]int64 // values of semaphores
	heldBefore map[event.ObjectID]event.ThreadID
	streams    map[event.ObjectID]*stream
	behind     map[int]behind
}

// wakeup is the wait that a wake ends, -1 if not recorded, and the notification.
type wakeup struct{ wait, sent int }

// unknownWriter is the writer of a read whose value is not that of the last write.
const unknownWriter = -2

// anyWriter is the writer of a read that happened earlier than it stands here, when
// the variable had the value that it saw (event.Late): its thread did nothing else in
// between, so it may be executed there in the witness too.
const anyWriter = -3

// nothing is what a release closes that has no acquire.
const nothing = -1 << 62

// name tells of an event in an error message.
func (o *observed) name(i int) string {
	if i < 0 {
		return "none recorded"
	}
	e := &o.events[i]
	return fmt.Sprintf("event %d (%s by thread %d)", e.Seq, e.Op, e.Thread)
}

// holder is the thread of an acquire, also of one before the recording.
func (o *observed) holder(i int) event.ThreadID {
	if i < 0 {
		return event.ThreadID(-1 - i)
	}
	return o.events[i].Thread
}

// walk is the state of the walk.
type walk struct {
	*observed
	write   map[event.ObjectID]int
	open    map[event.ObjectID][]int
	uses    map[event.ObjectID][]int
	once    map[event.ObjectID]int
	asleep  map[event.ThreadID]int
	sent    map[event.ObjectID][]int // notifications; -1 taken
	balance map[event.ObjectID]int64
	fixed   map[event.ObjectID]bool // initial value was recorded
	sizes   map[event.ObjectID]int
	rounds  map[event.ObjectID][]gathering
	round   map[int]int // arrival → its place in rounds
}

// gathering is a round of a barrier.
type gathering struct {
	arrived  []int
	departed int
}

func observe(events []event.Event) *observed {
	w := &walk{
		observed: &observed{
			events: events, threads: map[event.ThreadID][]int{}, fork: map[event.ThreadID]int{}, reads: make([]int, len(events)),
			closes: make([]int, len(events)), after: map[int][]int{}, woken: map[int]wakeup{}, made: map[event.ObjectID]int{}, initial: map[event.ObjectID]int64{},
			heldBefore: map[event.ObjectID]event.ThreadID{}, streams: map[event.ObjectID]*stream{}, behind: map[int]behind{},
		},
		write: map[event.ObjectID]int{}, open: map[event.ObjectID][]int{}, uses: map[event.ObjectID][]int{},
		once: map[event.ObjectID]int{}, asleep: map[event.ThreadID]int{}, sent: map[event.ObjectID][]int{},
		balance: map[event.ObjectID]int64{}, fixed: map[event.ObjectID]bool{}, sizes: map[event.ObjectID]int{},
		rounds: map[event.ObjectID][]gathering{}, round: map[int]int{},
	}
	destroyed := map[event.ObjectID]bool{}
	for i := range events {
		if ends(&events[i]) {
			destroyed[events[i].Object] = true
		}
	}
	for i := range events {
		e := &events[i]
		w.threads[e.Thread] = append(w.threads[e.Thread], i)
		w.visit(i, e)
		if destroyed[e.Object] {
			w.uses[e.Object] = append(w.uses[e.Object], i)
		}
	}
	return w.observed
}

// ends tells whether a thread ended an object's lifetime by this event: an inferred
// one tells of no deed, only that the memory is another's by then.
func ends(e *event.Event) bool { return e.Op == event.Destroy && e.Flags&event.Inferred == 0 }

func (w *walk) visit(i int, e *event.Event) {
	switch e.Op {
	case event.Fork:
		w.fork[e.Peer] = i
	case event.Read, event.Write, event.Update:
		w.access(i, e)
	case event.Acquire, event.AcquireRead:
		w.open[e.Object] = append(w.open[e.Object], i)
	case event.Release:
		w.release(i, e)
	case event.Wait:
		w.asleep[e.Thread] = i
	case event.Signal, event.Broadcast:
		w.sent[e.Object] = append(w.sent[e.Object], i)
	case event.Wake:
		w.wake(i, e)
	case event.BarrierArrive, event.BarrierDepart:
		w.barrier(i, e)
	case event.SemPost, event.SemWait, event.SemFailed:
		w.semaphore(e)
	case event.Send, event.Sent, event.Receive, event.Receiving, event.ReceiveFailed:
		w.message(i, e)
	case event.OnceDone:
		w.once[e.Object] = i
	case event.OnceLeave:
		if done, ok := w.once[e.Object]; ok {
			w.after[i] = append(w.after[i], done)
		}
	case event.Init:
		if e.Flags&event.Inferred == 0 {
			w.init(i, e)
		}
	case event.Destroy:
		if !ends(e) {
			return
		}
		w.after[i] = append(w.after[i], w.uses[e.Object]...)
	}
}

func (w *walk) access(i int, e *event.Event) {
	if e.Op != event.Write {
		last, ok := w.write[e.Object]
		if !ok {
			last = -1
		}
		w.reads[i] = last
		if last >= 0 && e.Op == event.Read && e.Flags&w.events[last].Flags&event.HasValue != 0 && e.Value != w.events[last].Value {
			w.reads[i] = unknownWriter
		}
		switch e.Flags & (event.NoSource | event.Late) {
		case event.Late:
			w.reads[i] = anyWriter
		case event.NoSource, event.NoSource | event.Late:
			w.reads[i] = unknownWriter
		}
	}
	if e.Op.IsWrite() {
		w.write[e.Object] = i
	}
}

// release finds the acquire: the thread's own, or else the oldest. A lock that was
// never acquired before was held when the recording began.
func (w *walk) release(i int, e *event.Event) {
	w.closes[i] = nothing
	open, known := w.open[e.Object]
	if !known {
		w.heldBefore[e.Object] = e.Thread
		w.closes[i] = -1 - int(e.Thread)
		w.open[e.Object] = nil
		return
	}
	if len(open) == 0 {
		return
	}
	at := max(0, slices.IndexFunc(open, func(j int) bool { return w.events[j].Thread == e.Thread }))
	w.closes[i] = open[at]
	w.open[e.Object] = slices.Delete(open, at, at+1)
}

// wake finds the oldest notification since the wait that no other wake has taken.
func (w *walk) wake(i int, e *event.Event) {
	since, ok := w.asleep[e.Thread]
	if !ok {
		since = -1
	}
	delete(w.asleep, e.Thread)
	if e.Flags&event.TimedOut != 0 {
		return
	}
	sent := w.sent[e.Object]
	at, _ := slices.BinarySearch(sent, since+1)
	if at == len(sent) {
		return
	}
	w.woken[i] = wakeup{since, sent[at]}
	if w.events[sent[at]].Op == event.Signal {
		w.sent[e.Object] = slices.Delete(sent, at, at+1)
	}
}

// barrier: an arrival comes after those of the round before, a departure after
// all arrivals of its round.
func (w *walk) barrier(i int, e *event.Event) {
	rounds := w.rounds[e.Object]
	if e.Op == event.BarrierArrive {
		n := len(rounds)
		full := func(g *gathering) bool {
			return g.departed > 0 || (w.sizes[e.Object] > 0 && len(g.arrived) == w.sizes[e.Object])
		}
		if n == 0 || full(&rounds[n-1]) {
			rounds = append(rounds, gathering{})
			n++
		}
		if n > 1 {
			w.after[i] = append(w.after[i], rounds[n-2].arrived...)
		}
		rounds[n-1].arrived = append(rounds[n-1].arrived, i)
		w.round[i] = n - 1
		w.rounds[e.Object] = rounds
		return
	}
	w.depart(i, e)
}

func (w *walk) depart(i int, e *event.Event) {
	list := w.threads[e.Thread]
	for k := len(list) - 2; k >= 0; k-- {
		j := list[k]
		if w.events[j].Op != event.BarrierArrive || w.events[j].Object != e.Object {
			continue
		}
		r := &w.rounds[e.Object][w.round[j]]
		w.after[i] = append(w.after[i], r.arrived...)
		r.departed++
		return
	}
}

// semaphore finds the least initial value that explains the run.
func (w *walk) semaphore(e *event.Event) {
	switch e.Op {
	case event.SemPost:
		w.balance[e.Object]++
	case event.SemWait:
		w.balance[e.Object]--
	}
	if !w.fixed[e.Object] {
		w.initial[e.Object] = max(w.initial[e.Object], -w.balance[e.Object])
	}
}

func (w *walk) init(i int, e *event.Event) {
	w.made[e.Object] = i
	if e.Flags&event.HasValue == 0 {
		return
	}
	switch e.Kind {
	case event.KindSemaphore:
		w.initial[e.Object], w.fixed[e.Object] = int64(e.Value), true
	case event.KindBarrier:
		w.sizes[e.Object] = int(min(e.Value, 1<<31))
	}
}

// stream is what happened to a channel, each in the order of the run.
type stream struct{ sends, receives, failures []int }

// behind is how many of these come before an event.
type behind struct{ sends, receives, failures int }

// message: a receive has the sends before it that begin before its end, and all
// receives; what found nothing has all receives, and comes before the sends after it. A
// send that may have waited for room has all receives before its return.
func (w *walk) message(i int, e *event.Event) {
	s := w.streams[e.Object]
	if s == nil {
		s = &stream{}
		w.streams[e.Object] = s
	}
	switch e.Op {
	case event.Send:
		w.behind[i] = behind{failures: len(s.failures)}
		s.sends = append(s.sends, i)
	case event.Sent:
		w.behind[i] = behind{receives: madeRoom(s, e)}
	case event.Receive:
		w.behind[i] = behind{sends: w.begun(s, e), receives: len(s.receives)}
		s.receives = append(s.receives, i)
	case event.Receiving:
		s.receives = append(s.receives, i)
	case event.ReceiveFailed:
		w.behind[i] = behind{receives: len(s.receives)}
		s.failures = append(s.failures, i)
	}
}

// madeRoom counts the receives that made room. Of a channel whose beginning was
// forgotten the first that are left stand for those, which are more.
func madeRoom(s *stream, e *event.Event) int {
	if n := len(s.receives); e.Flags&event.HasValue == 0 || e.Value > uint64(n) {
		return n
	}
	return int(e.Value)
}

// begun counts the sends that a receive may have bytes of, or that are before those.
func (w *walk) begun(s *stream, e *event.Event) int {
	n := len(s.sends)
	if e.Flags&event.HasValue == 0 {
		return n
	}
	for n > 0 {
		if x := &w.events[s.sends[n-1]]; x.Flags&event.HasValue == 0 || x.Value < e.Value {
			break
		}
		n--
	}
	return n
}
