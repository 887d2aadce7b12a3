package predict

import (
	"math"
	"sort"

	"github.com/tracepredict/tracepredict/observer/event"
)

// slotLog is the log as a scheduler reads it: by slot, whose events keep their
// order, and for each event what it waits for. Events are named by their place in the
// log.
type slotLog struct {
	h      *History
	of     [][]int32       // by slot: its events
	needTo []int32         // by event: of its slot's needs, those before this one are the event's or an earlier one's
	object []int32         // by event: its lock or variable, dense
	pair   []int32         // by event: of an acquire or a write, object and slot, dense
	source []int32         // by event: of a read or update, the write that it saw, or one of the below; of a failed attempt at a lock, whichever if nobody is known who held it
	until  []int32         // by event: of an acquire, the release, or more than any event
	closes []int32         // by event: of a release, the acquire, or nobody
	after  map[int32]int32 // by event: of a message, the one before it in its channel
	value  map[int32]int32 // by object: what a semaphore holds at the beginning of the log
	// How many there are of each.
	objects, pairs int
}

// The sources of a read that are no event.
const (
	initially int32 = -1 - iota
	unseen
	whichever
)

// nobody is what a release closes that has no acquire in the log.
const nobody int32 = -1

// slotLogs returns the log by slot as it is now. Questions often come together.
func (h *History) slotLogs() *slotLog {
	if h.bySlot != nil {
		return h.bySlot
	}
	n := len(h.log)
	l := &slotLog{
		h: h, of: make([][]int32, len(h.slots)), needTo: make([]int32, n), object: make([]int32, n), pair: make([]int32, n),
		source: make([]int32, n), closes: make([]int32, n), until: make([]int32, n), after: map[int32]int32{}, value: map[int32]int32{},
	}
	w := slotWalk{
		slotLog: l, dense: map[event.ObjectID]int32{}, paired: map[[2]uint32]int32{}, write: map[event.ObjectID]int32{},
		open: map[event.ObjectID][]int32{}, sems: map[int32]semWalk{}, sent: map[event.ObjectID]int32{},
	}
	next := make([]int, len(h.slots)) // by slot: the first need of its next event
	for i := range h.log {
		x := &h.log[i]
		if h.gone(x) {
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
	h.bySlot = l
	return l
}

// slotWalk is the state of the walk over the log.
type slotWalk struct {
	*slotLog
	dense  map[event.ObjectID]int32
	paired map[[2]uint32]int32
	write  map[event.ObjectID]int32
	open   map[event.ObjectID][]int32
	sems   map[int32]semWalk        // by object
	sent   map[event.ObjectID]int32 // the latest message
}

// semWalk is how much a semaphore has more than at first, and whether that is recorded.
type semWalk struct {
	balance  int32
	recorded bool
}

func (w *slotWalk) visit(i int32, x *entry) {
	switch x.Op {
	case event.Read, event.Write, event.Update:
		w.name(i, x)
		w.access(i, x)
	case event.Acquire, event.AcquireRead:
		w.name(i, x)
		w.open[x.Object] = append(w.open[x.Object], i)
		w.until[i] = math.MaxInt32
	case event.AcquireFailed:
		w.name(i, x)
		w.failed(i, x)
	case event.Init:
		w.initial(i, x)
	case event.Release:
		w.name(i, x)
		w.release(i, x)
	case event.SemPost, event.SemWait, event.SemFailed:
		w.name(i, x)
		w.semaphore(i, x)
	case event.Send:
		if last, known := w.sent[x.Object]; known {
			w.after[i] = last
		}
		w.sent[x.Object] = i
	}
}

// name numbers the object, and who uses it.
func (w *slotWalk) name(i int32, x *entry) {
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

func (w *slotWalk) access(i int32, x *entry) {
	last, written := w.write[x.Object]
	switch {
	case x.Op == event.Write:
	case x.Flags&event.NoSource != 0:
		w.source[i] = unseen
	case x.Flags&event.Late != 0:
		w.source[i] = whichever
	case !written:
		w.source[i] = initially
	default:
		w.source[i] = last
	}
	if x.Op.IsWrite() {
		w.write[x.Object] = i
	}
}

// release closes the thread's section, or else the oldest.
func (w *slotWalk) release(i int32, x *entry) {
	open := w.open[x.Object]
	if w.closes[i] = nobody; len(open) == 0 {
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

// failed notes whether a failed attempt at a lock needs one of those who hold it here, or
// whether nobody is known who does.
func (w *slotWalk) failed(i int32, x *entry) {
	if w.source[i] = initially; len(w.open[x.Object]) == 0 {
		w.source[i] = whichever
	}
}

// mostCounted bounds what is believed of a semaphore's recorded value.
const mostCounted = 1 << 30

func (w *slotWalk) initial(i int32, x *entry) {
	if x.Kind == event.KindSemaphore && x.Flags&event.HasValue != 0 {
		w.name(i, x)
		w.value[w.object[i]] = int32(min(x.Value, mostCounted))
		w.sems[w.object[i]] = semWalk{recorded: true}
	}
}

// semaphore finds the least value at first that explains the run, if none is recorded.
func (w *slotWalk) semaphore(i int32, x *entry) {
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

// count is how many events a slot has up to an epoch.
func (l *slotLog) count(slot int, upto event.Epoch) int32 {
	events := l.of[slot]
	return int32(sort.Search(len(events), func(i int) bool { return l.h.log[events[i]].Epoch > upto }))
}

// firstGap is the last epoch of the slot before anything forgotten that lies beyond
// that one.
func (l *slotLog) firstGap(slot int, beyond event.Epoch) event.Epoch {
	if gaps := l.h.slots[slot].from(beyond + 1); len(gaps) > 0 {
		return gaps[0].first - 1
	}
	return l.h.slots[slot].epoch
}

// before is the Seq up to which the slot surely has run all up to an epoch: one less
// than that of its next event, or else of the last there is.
func (l *slotLog) before(slot int, epoch event.Epoch) uint64 {
	if at := l.count(slot, epoch); int(at) < len(l.of[slot]) {
		return l.h.log[l.of[slot][at]].Seq - 1
	}
	return l.h.log[len(l.h.log)-1].Seq
}
