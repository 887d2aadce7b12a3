package predict

import (
	"sort"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Orders returns the event by which event a, given by Seq, comes before b in every schedule:
// a creation or join of a thread, a read of a value, or a wait for a signal, a post, a barrier
// or a message. Op is None if there is no such event or it was evicted.
func (h *History) Orders(a, b uint64) finding.Step {
	x, y := h.find(a), h.find(b)
	if x == nil || y == nil || x.Thread == y.Thread {
		return finding.Step{}
	}
	if x.Slot == y.Slot {
		return h.joinOf(x.Thread) // it came before another thread took over the slot
	}
	if at := h.firstAfter(y.Slot, y.Epoch, x); at != 0 {
		return h.orderingEvent(x, y.Slot, at)
	}
	return finding.Step{}
}

// firstAfter returns the epoch of the first event of a slot, no later than upto, that x comes
// before; 0 if there is none.
func (h *History) firstAfter(slot uint32, upto event.Epoch, x *event.Event) event.Epoch {
	for _, n := range h.slots[slot].needs {
		if n.epoch > upto {
			break
		}
		if n.slot == x.Slot && n.upto >= x.Epoch {
			return n.epoch
		}
	}
	return 0
}

// orderingEvent returns the event by which x comes before that event of the slot.
func (h *History) orderingEvent(x *event.Event, slot uint32, epoch event.Epoch) finding.Step {
	l := h.slotLogs()
	events := l.of[slot]
	at := sort.Search(len(events), func(i int) bool { return h.log[events[i]].Epoch >= epoch })
	if at == len(events) || h.log[events[at]].Epoch != epoch {
		return finding.Step{}
	}
	e := &h.log[events[at]]
	if at == 0 || h.log[events[at-1]].Thread != e.Thread {
		return h.forkOf(e.Thread)
	}
	// The edge to a read is recorded at the next event of its thread.
	if h.reads(l, events[at-1], x) {
		return h.log[events[at-1]].Step()
	}
	if waits(e) {
		return e.Step()
	}
	return finding.Step{}
}

// waits reports whether edges from other threads lead to the event itself.
func waits(e *kept.Event) bool {
	switch e.Op {
	case event.Read, event.Update:
		return e.Flags&event.Atomic != 0
	case event.Join, event.Wake, event.BarrierDepart, event.SemWait, event.OnceLeave, event.Receive:
		return true
	}
	return false
}

// reads reports whether the event is a read of a value that was written after x.
func (h *History) reads(l *slotLog, at int32, x *event.Event) bool {
	e := &h.log[at]
	if !e.Op.IsAccess() || e.Op == event.Write || l.source[at] < 0 {
		return false
	}
	w := &h.log[l.source[at]]
	return w.Slot == x.Slot && w.Epoch >= x.Epoch || h.firstAfter(w.Slot, w.Epoch, x) != 0
}

// forkOf returns the fork of a thread; Op is None if it was evicted.
func (h *History) forkOf(of event.ThreadID) finding.Step { return h.forkOrJoin(event.Fork, of) }

// joinOf returns the join of a thread; Op is None if it was evicted, or there is none.
func (h *History) joinOf(of event.ThreadID) finding.Step { return h.forkOrJoin(event.Join, of) }

// forkOrJoin returns the fork or join whose peer is a thread; Op is None if the log has none.
func (h *History) forkOrJoin(op event.Op, thread event.ThreadID) finding.Step {
	for i := range h.log {
		if e := &h.log[i]; e.Op == op && e.Peer == thread {
			return e.Step()
		}
	}
	return finding.Step{}
}
