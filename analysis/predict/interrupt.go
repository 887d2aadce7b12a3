package predict

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// interruptionShare is the part of Options.Reversals that one question of Interrupt may spend. All of them together may spend
// as much as all other questions.
const interruptionShare = 64

// Interrupt finds out whether events of another thread can come between two events of a block. It searches for a
// schedule as for reversals: critical sections may change places. Open is set by Interrupt, which tries both. As for
// Deadlock, the history must have got the events before.
func (h *History) Interrupt(x execution.Interruption) Result {
	if h.blind {
		return unknown(reason.Evicted)
	}
	if h.unswept {
		h.compact()
	}
	h.moveLoneOf(0)
	h.update()
	h.removeStale()
	var at [4]*event.Event
	for i, seq := range []uint64{x.First, x.From, x.To, x.Last} {
		if at[i] = h.find(seq); at[i] == nil || at[i].Epoch <= h.cut[at[i].Slot] {
			return unknown(reason.Evicted)
		}
	}
	if at[0].Slot == at[1].Slot {
		return refuted(reason.OneThread)
	}
	i := &interruption{h: h, first: at[0], from: at[1], to: at[2], last: at[3]}
	if h.opt.Reversals < 0 || h.interruptions >= h.opt.Reversals {
		return unknown(reason.Exhausted)
	}
	i.steps = min(h.opt.Reversals/interruptionShare, h.opt.Reversals-h.interruptions)
	all := i.steps
	i.steps -= len(h.log) / 16
	r := i.answer(x)
	h.interruptions += all - max(i.steps, 0)
	return r
}

// interruption is the search for a schedule that answers a question of Interrupt.
type interruption struct {
	h                     *History
	first, from, to, last *event.Event
	steps                 int  // of the budget, left
	incomplete            bool // something that might have led to a schedule was not tried
	free                  bool // nothing that every schedule keeps forbids one
}

// answer tries to execute To, and then, if it is a read, to end its thread there.
func (i *interruption) answer(x execution.Interruption) Result {
	for _, x.Open = range []bool{false, true} {
		if x.Open && i.to.Op != event.Read {
			break
		}
		if s, q := i.try(x); s != nil {
			return q.interrupted(s)
		}
		if i.steps <= 0 || i.h.done() {
			return unknown(reason.Exhausted)
		}
	}
	switch {
	case i.incomplete || i.h.cutThrough():
		return unknown(reason.Evicted)
	case !i.free:
		return refuted(reason.Ordered)
	}
	return refuted(reason.NoReordering)
}

// try searches for a schedule.
func (i *interruption) try(x execution.Interruption) (*scheduler, *question) {
	q := i.h.ask(finding.Knowledge, Pattern{{x.Last}})
	if q.chosen[0] = i.last; x.Open {
		q = i.h.ask(finding.Knowledge, Pattern{{x.To}, {x.Last}})
		q.chosen[0], q.chosen[1] = i.to, i.last
	}
	q.between = &x
	r := newReversal(q, slices.Clone(i.h.cut), i.steps)
	r.bySlot, r.later = i.h.slotLogs(), i.constraints(&x)
	defer func() { i.steps, i.incomplete = r.steps, i.incomplete || r.incomplete }()
	base := r.base
	for range 2 {
		need, ok := i.necessary(r, base, true, x.Open)
		if !ok {
			return nil, nil
		}
		i.free = true
		if later := r.beyondGaps(need, base); later != nil {
			r.incomplete, base = true, later
			continue
		}
		if i.h.within(base, i.from) && !i.h.within(base, i.first) || i.h.within(base, i.last) {
			return nil, nil
		}
		if small, likely := i.necessary(r, base, false, x.Open); likely && r.closeSections(small) && i.isEnd(small, x.Open) &&
			r.beyondGaps(small, base) == nil && r.schedule(base, small.at, small.at) {
			return r.found, q
		}
		if r.steps > 0 && r.schedule(base, need.at, i.farthest(r, base, need, x.Open)) {
			return r.found, q
		}
		return nil, nil
	}
	return nil, nil
}

// within reports whether an event is of the part of the run that ends with these epochs, by slot.
func (h *History) within(upto []event.Epoch, e *event.Event) bool { return e.Epoch <= upto[e.Slot] }

// constraints returns what a schedule must keep besides what events need.
func (i *interruption) constraints(x *execution.Interruption) map[int32]int32 {
	at := func(seq uint64) int32 { return int32(i.h.log.Index(seq)) }
	later := map[int32]int32{at(x.From): at(x.First)}
	if i.last.Op.IsAcquire() && !x.Open {
		later[at(x.Last)] = at(x.To)
	}
	return later
}

// necessary returns the events that must run: those of the block before Last, the other thread's up to To, and what these
// need. An acquire as Last is one of them, since the lock must be free for it. The set is closed as for reversal.necessary.
func (i *interruption) necessary(r *reversal, base []event.Epoch, free, open bool) (*closure, bool) {
	r.steps -= 1 + len(base)/4
	c := r.from(base, free)
	if open {
		i.before(c, r.bySlot, i.to)
	} else {
		c.raise(i.to.Slot, i.to.Epoch)
	}
	if i.last.Op.IsAcquire() && !open {
		c.raise(i.last.Slot, i.last.Epoch)
	} else {
		i.before(c, r.bySlot, i.last)
	}
	r.steps -= c.work / needShare
	c.work = 0
	return c, i.isEnd(c, open)
}

// before adds the events that must come before e, except the write that e reads. Of an atomic access, closure.before cannot
// tell that one from others.
func (i *interruption) before(c *closure, l *slotLog, e *event.Event) {
	at := int(l.count(int(e.Slot), e.Epoch)) - 1
	if e.Flags&event.Atomic == 0 {
		c.before(e)
		return
	}
	c.raise(e.Slot, e.Epoch-1)
	if at == 0 {
		if fork := i.h.find(i.h.forkOf(e.Thread).Seq); fork != nil {
			c.raise(fork.Slot, fork.Epoch)
		}
		return
	}
	if last := l.of[e.Slot][at-1]; i.h.log[last].Op == event.Read && l.source[last] >= 0 {
		w := &i.h.log[l.source[last]] // of a read, that edge leads to the event after it
		c.raise(w.Slot, w.Epoch)
	}
}

// isEnd reports whether the set ends where the schedule must: at Last, or before it, and with open before To. First needs
// nothing of the other thread from From on.
func (i *interruption) isEnd(c *closure, open bool) bool {
	end := i.last.Epoch - 1
	if i.last.Op.IsAcquire() && !open {
		end++
	}
	if c.at[i.last.Slot] != end || open && c.at[i.to.Slot] != i.to.Epoch-1 {
		return false
	}
	first := &closure{h: i.h, at: slices.Clone(i.h.cut), next: make([]int, len(c.next)), free: true}
	first.raise(i.first.Slot, i.first.Epoch)
	return !first.has(i.from)
}

// farthest returns, by slot, the last epoch that may run; see reversal.farthest.
func (i *interruption) farthest(r *reversal, base []event.Epoch, need *closure, open bool) []event.Epoch {
	upto := slices.Clone(need.at)
	for slot := range upto {
		if s := uint32(slot); s != i.last.Slot && (s != i.to.Slot || !open) {
			upto[slot] = r.bySlot.firstGap(slot, max(base[slot], upto[slot]))
		}
	}
	return upto
}

// interrupted returns the result whose witness is what the scheduler executed before Last.
func (q *question) interrupted(s *scheduler) Result {
	w := q.executed(s, q.chosen[len(q.chosen)-1].Seq)
	by, assumes := finding.OrderReversal, []string{finding.GuardedData, finding.RaceFree}
	if q.h.keepsSections(w.steps) {
		by, assumes = finding.OrderSyncPreserving, assumes[1:]
	}
	return q.checked(w, by, assumes)
}

// keepsSections reports whether a schedule has, of each lock and semaphore, the first critical sections and operations of the
// run, in the order of the run.
func (h *History) keepsSections(steps []finding.Step) bool {
	orders := func(op event.Op) bool { return op.IsAcquire() || op == event.SemWait || op == event.SemPost }
	next, of := map[event.ObjectID]int{}, map[event.ObjectID][]uint64{}
	for i := range h.log {
		if x := &h.log[i]; orders(x.Op) && !h.discarded(x) {
			of[x.Object] = append(of[x.Object], x.Seq)
		}
	}
	for i := range steps {
		x := &steps[i]
		if !orders(x.Op) {
			continue
		}
		if n := next[x.Object]; n == len(of[x.Object]) || of[x.Object][n] != x.Seq {
			return false
		}
		next[x.Object]++
	}
	return h.evicted+h.thinned == 0
}
