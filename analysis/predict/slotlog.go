package predict

import (
	"math"
	"sort"

	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// slotLog is the log as a scheduler reads it: the events of each slot in their order and, for
// each event, what it depends on. An event is identified by its index in the log.
type slotLog struct {
	h      *History
	of     [][]int32 // by slot: its events
	needTo []int32   // by event: number of its slot's needs that are of this event or an earlier one
	object []int32   // by event: its lock, variable or semaphore, as a dense number
	pair   []int32   // by event: its object and slot, as a dense number
	// source holds, by event, the write that a read or update read, or one of the constants
	// below; of a failed attempt at a lock, whichever if no holder is known, else initially.
	source []int32
	// left has, by write, what the write leaves, as reads have it in source: the write itself or, with
	// History.byValue, the first write of the same value, or initially.
	left []int32
	// rewritten has, with History.byValue, the elements of left that several writes leave, or that the
	// variable (its number, bitwise complemented) has initially and after some write.
	rewritten map[int32]bool
	// counts has, with History.byValue, the variables whose values are computed in schedules, by number.
	counts  map[int32]*values
	until   []int32                 // by event: the release of an acquire; more than any event: none
	closes  []int32                 // by event: the acquire that belongs to a release, or noAcquire
	after   map[int32]int32         // by event: of a send, the send before it in its channel
	value   map[int32]int32         // by object: value of a semaphore at the beginning of the log
	counted map[int32]bool          // by object: the initial value of a semaphore is known
	ended   map[int32][]wait        // by notification: the waits on a condition that it ended
	writers map[event.ObjectID]bool // the read-write locks at which readers wait behind a waiting writer
	// The numbers of different objects, and of pairs of object and slot.
	objects, pairs int
}

// wait is a wait on a condition, from the event that begins it to the wake.
type wait struct{ begin, wake int32 }

// The sources of a read that are no event.
const (
	initially int32 = -1 - iota // the initial value
	unseen                      // not known: the read cannot run
	mixed                       // a write that left another value than in the run; no read has it as its source
	whichever                   // any write, or none
)

// noAcquire stands for the acquire of a release that has none in the log.
const noAcquire int32 = -1

// slotLogs returns the log by slot as it is now. It is kept until the next event, because
// questions often come together.
func (h *History) slotLogs() *slotLog {
	d := h.ofLog()
	if d.bySlot != nil {
		return d.bySlot
	}
	n := len(h.log)
	l := &slotLog{
		h: h, of: make([][]int32, len(h.slots)), needTo: make([]int32, n), object: make([]int32, n), pair: make([]int32, n),
		source: make([]int32, n), left: make([]int32, n), rewritten: map[int32]bool{}, counts: map[int32]*values{}, closes: make([]int32, n), until: make([]int32, n), after: map[int32]int32{}, value: map[int32]int32{},
		counted: map[int32]bool{}, ended: map[int32][]wait{}, writers: map[event.ObjectID]bool{},
	}
	w := slotWalk{
		slotLog: l, dense: map[event.ObjectID]int32{}, paired: map[[2]uint32]int32{}, write: map[event.ObjectID]int32{},
		open: map[event.ObjectID][]int32{}, sems: map[int32]semWalk{}, sent: map[event.ObjectID]int32{},
		matcher: order.New(order.Must), conditions: map[event.ObjectID]*order.Object{}, asleep: map[event.ThreadID]int32{},
	}
	if h.byValue {
		w.values = valuedWrites(h.log)
	}
	next := make([]int, len(h.slots)) // by slot: the first need of its next event
	for i := range h.log {
		x := &h.log[i]
		if h.discarded(x) {
			continue
		}
		needs := h.slots[x.Slot].needs
		for next[x.Slot] < len(needs) && needs[next[x.Slot]].epoch <= x.Epoch {
			next[x.Slot]++
		}
		l.needTo[i] = int32(next[x.Slot])
		l.of[x.Slot] = append(l.of[x.Slot], int32(i))
		w.visit(int32(i), x)
	}
	d.bySlot = l
	return l
}

// slotWalk is the state of the walk over the log.
type slotWalk struct {
	*slotLog
	dense  map[event.ObjectID]int32   // numbers of objects
	paired map[[2]uint32]int32        // numbers of pairs of object number and slot
	write  map[event.ObjectID]int32   // what the latest write of a variable left
	values valued                     // with History.byValue
	open   map[event.ObjectID][]int32 // acquires of the open sections of a lock, oldest first
	sems   map[int32]semWalk          // by object number
	sent   map[event.ObjectID]int32   // the latest send of a channel

	matcher    *order.Matcher // of the conditions
	conditions map[event.ObjectID]*order.Object
	members    []int32                  // by order.Ref: the event that the set consists of
	asleep     map[event.ThreadID]int32 // the wait on a condition that the thread is in
}

// semWalk is the state of a semaphore.
type semWalk struct {
	balance  int32 // posts less waits so far
	recorded bool  // its initial value is known
}

func (w *slotWalk) visit(i int32, x *kept.Event) {
	switch x.Op {
	case event.Read, event.Write, event.Update:
		w.number(i, x)
		w.access(i, x)
	case event.Acquire, event.AcquireRead:
		w.number(i, x)
		w.open[x.Object] = append(w.open[x.Object], i)
		w.until[i] = math.MaxInt32
		if x.Kind == event.KindRWLock && x.Flags&event.HasValue != 0 && x.Value == event.PreferWriterNonrecursive {
			w.writers[x.Object] = true
		}
	case event.AcquireFailed:
		w.number(i, x)
		w.failed(i, x)
	case event.Init:
		w.initial(i, x)
	case event.Release:
		w.number(i, x)
		w.release(i, x)
	case event.SemPost, event.SemWait, event.SemFailed:
		w.number(i, x)
		w.semaphore(i, x)
	case event.Send:
		if last, known := w.sent[x.Object]; known {
			w.after[i] = last
		}
		w.sent[x.Object] = i
	case event.Wait, event.Signal, event.Broadcast, event.Wake:
		w.condition(i, x)
	}
}

// condition matches a wake with the notification that ended its wait.
func (w *slotWalk) condition(i int32, x *kept.Event) {
	o := w.conditions[x.Object]
	if o == nil {
		o = new(order.Object)
		w.conditions[x.Object] = o
	}
	e := x.Event()
	m := w.matcher.Match(o, &e)
	for _, edge := range m.Edges {
		if begin, known := w.asleep[x.Thread]; known && edge.Relation == order.NotifyToWake {
			by := w.members[edge.From]
			w.ended[by] = append(w.ended[by], wait{begin, i})
		}
	}
	for _, c := range m.Changes {
		for int(c.Set) >= len(w.members) {
			w.members = append(w.members, 0)
		}
		w.members[c.Set] = i
	}
	if delete(w.asleep, x.Thread); x.Op == event.Wait {
		w.asleep[x.Thread] = i
	}
}

// number sets the numbers of the event's object and of its pair of object and slot.
func (w *slotWalk) number(i int32, x *kept.Event) {
	d, known := w.dense[x.Object]
	if !known {
		d = int32(len(w.dense))
		w.dense[x.Object] = d
	}
	key := [2]uint32{uint32(d), x.Slot}
	p, known := w.paired[key]
	if !known {
		p = int32(len(w.paired))
		w.paired[key] = p
	}
	w.object[i], w.pair[i] = d, p
	w.objects, w.pairs = len(w.dense), len(w.paired)
}

// access sets the source of a read or update.
func (w *slotWalk) access(i int32, x *kept.Event) {
	last, written := w.write[x.Object]
	switch {
	case x.Op == event.Write:
	case x.Flags&event.NoSource != 0:
		w.source[i] = unseen
	case x.Flags&event.Late != 0 || w.h.byValue && mayReadAny(x):
		w.source[i] = whichever
	case !written:
		w.source[i] = initially
	default:
		w.source[i] = last
	}
	if of := w.values.of[x.Object]; of != nil && !of.unknown && of.tests {
		w.counts[w.object[i]] = of
	}
	if x.Op.IsWrite() {
		w.wrote(i, x)
	}
}

// wrote sets what a write leaves.
func (w *slotWalk) wrote(i int32, x *kept.Event) {
	left := w.values.left(i, x)
	w.left[i], w.write[x.Object] = left, left
	switch {
	case left == initially:
		w.rewritten[^w.object[i]] = true
	case left != i:
		w.rewritten[left] = true
	}
}

// release closes the thread's section of the lock, or else the oldest one.
func (w *slotWalk) release(i int32, x *kept.Event) {
	open := w.open[x.Object]
	if w.closes[i] = noAcquire; len(open) == 0 {
		return
	}
	at := 0
	for k, j := range open {
		if w.h.log[j].Thread == x.Thread {
			at = k
			break
		}
	}
	w.closes[i], w.until[open[at]] = open[at], i
	w.open[x.Object] = append(open[:at:at], open[at+1:]...)
}

// failed records whether a failed attempt at a lock needs one of the sections that are open
// here, or no holder is known.
func (w *slotWalk) failed(i int32, x *kept.Event) {
	if w.source[i] = initially; len(w.open[x.Object]) == 0 {
		w.source[i] = whichever
	}
}

// mostCounted is the value that larger recorded values of a semaphore are reduced to.
const mostCounted = 1 << 30

// initial records a semaphore's initial value.
func (w *slotWalk) initial(i int32, x *kept.Event) {
	if x.Kind == event.KindSemaphore && x.Flags&event.HasValue != 0 {
		w.number(i, x)
		w.value[w.object[i]] = int32(min(x.Value, mostCounted))
		w.sems[w.object[i]] = semWalk{recorded: true}
		w.counted[w.object[i]] = true
	}
}

// semaphore counts a post or a wait. Where the initial value is not recorded, it computes the
// least one that explains the run.
func (w *slotWalk) semaphore(i int32, x *kept.Event) {
	o := w.object[i]
	s := w.sems[o]
	switch x.Op {
	case event.SemPost:
		s.balance++
	case event.SemWait:
		s.balance--
	}
	if w.sems[o] = s; !s.recorded {
		w.value[o] = max(w.value[o], -s.balance)
	}
}

// count returns the number of events of a slot up to an epoch.
func (l *slotLog) count(slot int, upto event.Epoch) int32 {
	events := l.of[slot]
	return int32(sort.Search(len(events), func(i int) bool { return l.h.log[events[i]].Epoch > upto }))
}

// firstGap returns the last epoch of the slot before the first gap beyond that epoch, or the
// last of the run if there is none.
func (l *slotLog) firstGap(slot int, beyond event.Epoch) event.Epoch {
	if gaps := l.h.slots[slot].from(beyond + 1); len(gaps) > 0 {
		return gaps[0].first - 1
	}
	return l.h.slots[slot].epoch
}

// before returns a Seq up to which the slot has run all its events up to an epoch: one less
// than that of its next event or, if there is none, that of the last event of the log.
func (l *slotLog) before(slot int, epoch event.Epoch) uint64 {
	if at := l.count(slot, epoch); int(at) < len(l.of[slot]) {
		return l.h.log[l.of[slot][at]].Seq - 1
	}
	return l.h.log[len(l.h.log)-1].Seq
}
