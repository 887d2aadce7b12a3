package predict

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Where no sync-preserving schedule leads to an error, a schedule in which two critical
// sections of a lock change places may. To decide that is intractable in general, so the
// search has a budget (Options.Reversals).
//
// First a small set of events is tried: those that must come before the candidates, with
// all critical sections of each lock complete but one, as in the optimistic lock closure of
// Shi, Mathur, Pavlogiannis, "Optimistic Prediction of Synchronization-Reversal Data Races",
// ICSE 2024. Unlike there, the order of the set is then found by search (scheduler). Where
// that fails, threads that are no candidates may run on as far as they did in the run.

// maxTuples bounds the choices of instances that a question tries.
const maxTuples = 256

// budgetShare is the part of the budget that one question may spend: a sixteenth.
const budgetShare = 16

// reversal is the search for a schedule with reversals that answers a question.
type reversal struct {
	*question
	bySlot     *slotLog
	base       []event.Epoch   // by slot: all events up to this epoch happen as observed
	steps      int             // of the budget, left
	tried      int             // choices of instances, one a side, that could be unordered
	incomplete bool            // a choice that might have led to a schedule was not fully tried
	free       bool            // for some choice, no instance must come before another
	found      *scheduler      // the one that found a schedule; nil: none did
	index      []int           // by side: which instance is chosen
	later      map[int32]int32 // for scheduler.later
	needs      [2][]prefixes   // by side, what each of its instances needs after base: [1] in every schedule
}

// reverse searches for a schedule with reversals. Before is the result of the search for a
// sync-preserving one. It is returned as it is where no reversal can help or none is allowed.
func (q *question) reverse(before Result) Result {
	h := q.h
	if h.blind || q.given.Reason.Given() || !settleable(before.Reason.What) {
		return before
	}
	if q.ordered() {
		return refuted(reason.Ordered)
	}
	if h.opt.Reversals < 0 {
		return before
	}
	if h.reversals >= h.opt.Reversals {
		return unknown(reason.Exhausted)
	}
	if h.unswept {
		h.compact() // schedules do not contain discarded events, and the checker knows those of the log
	}
	r := newReversal(q, slices.Clone(h.cut), min(h.opt.Reversals/budgetShare, h.opt.Reversals-h.reversals))
	r.bySlot = h.slotLogs()
	all := r.steps
	r.steps -= len(h.log) / 16
	ok := r.tryChoices(0)
	h.reversals += all - max(r.steps, 0)
	switch {
	case ok:
		return q.scheduled(r.found)
	case r.steps <= 0 || r.tried >= maxTuples:
		return unknown(reason.Exhausted)
	case r.incomplete || q.missed || h.cutThrough():
		return unknown(reason.Evicted)
	}
	if !r.free {
		return refuted(reason.Ordered)
	}
	if r.unexplained {
		return unknown(reason.UnexplainedRead)
	}
	return refuted(reason.NoReordering)
}

// ordered reports whether, of any choice of instances, one must come before another. It is as
// question.search, but for the edges alone that every schedule keeps.
func (q *question) ordered() bool {
	o := q.h.ask(q.kind, q.sides)
	o.c = q.h.start()
	o.c.free = true
	for {
		for i := range o.sides {
			if !o.pick(i) {
				return !o.missed && o.tries[i] == 0 && !o.c.inexact && !o.evicted()
			}
			o.c.before(o.chosen[i])
		}
		if !o.advance() {
			return false
		}
	}
}

// evicted reports whether some instance is of the evicted part of the run: an acquire of a lock that was held at its end
// is kept all the same. It is in every closure, so that the instances of the other sides are compared with later ones.
func (q *question) evicted() bool {
	old := func(seq uint64) bool {
		e := q.h.find(seq)
		return e != nil && e.Epoch <= q.h.cut[e.Slot]
	}
	return slices.ContainsFunc(q.sides, func(side []uint64) bool { return slices.ContainsFunc(side, old) })
}

// settleable reports whether a schedule with reversals may lead to the error, when that is the
// reason why no sync-preserving one does.
func settleable(what reason.What) bool {
	return what != reason.OnlyTrylocks && what != reason.OneThread && what != reason.NoCycle
}

// tryChoices tries the choices of instances, one a side, the earliest first: in ascending order of
// the sum of their indices in the sides, which begins at total.
func (r *reversal) tryChoices(total int) bool {
	most := 0
	for i := range r.sides {
		most += len(r.sides[i]) - 1
	}
	for ; total <= most; total++ {
		if r.choose(0, total) {
			return true
		}
		if r.steps <= 0 || r.tried >= maxTuples {
			return false
		}
	}
	return false
}

// choose tries the choices of instances for the sides from i on whose indices add up to rest.
func (r *reversal) choose(i, rest int) bool {
	if i == len(r.sides) {
		return rest == 0 && r.try()
	}
	from := 0
	if i == len(r.sides)-1 {
		from = rest
	}
	for k := from; k <= min(rest, len(r.sides[i])-1); k++ {
		e := r.h.find(r.sides[i][k])
		if e == nil {
			r.missed = true
			continue
		}
		if e.Flags&event.Try != 0 && e.Op.IsAcquire() {
			continue
		}
		r.chosen[i], r.index[i] = e, k
		if r.choose(i+1, rest-k) {
			return true
		}
		if r.steps <= 0 || r.tried >= maxTuples {
			return false
		}
	}
	return false
}

// try searches for a schedule that leads to the chosen instances.
func (r *reversal) try() bool {
	if r.sameThread() {
		return false
	}
	base := r.base
	for again := range 2 {
		need, ok := r.necessary(base, true, again > 0)
		if !ok {
			return false
		}
		small, likely := r.necessary(base, false, again > 0)
		r.tried += 1 - again
		if later := r.beyondGaps(need, base); later != nil {
			r.incomplete, base = true, later
			continue
		}
		if likely && r.complete(small) && r.beyondGaps(small, base) == nil && r.schedule(base, small.at, small.at) {
			return true
		}
		return r.steps > 0 && r.schedule(base, need.at, r.farthest(base, need))
	}
	return false
}

// beyondGaps returns a later base if the set contains discarded events after base: all events
// up to the last of these must then happen as observed. Otherwise it returns nil.
func (r *reversal) beyondGaps(c *closure, base []event.Epoch) []event.Epoch {
	last := uint64(0)
	for slot, upto := range c.at {
		if g, has := r.h.slots[slot].lastGap(upto); has && g.last > base[slot] {
			last = max(last, r.bySlot.before(slot, g.last))
		}
	}
	if last == 0 {
		return nil
	}
	base = slices.Clone(base)
	for i := range r.h.log[:r.h.log.Index(last+1)] {
		x := &r.h.log[i]
		base[x.Slot] = max(base[x.Slot], x.Epoch)
	}
	return base
}

// complete adds releases to the set until at most one section of each lock is open at its end
// (or several shared ones): that of a candidate's thread, or else the last in the run. It
// returns false if the run lacks a release, or the set then contains a chosen instance.
func (r *reversal) complete(c *closure) bool {
	return r.closeSections(c) && !slices.ContainsFunc(r.chosen, c.has)
}

// closeSections is complete, whatever the set then contains.
func (r *reversal) closeSections(c *closure) bool {
	for again := true; again; {
		again = false
		for slot := range c.at {
			for x := range c.held(uint32(slot)) {
				if r.isCandidate(uint32(slot)) || c.released(x) || !r.contended(c, uint32(slot), x) {
					continue
				}
				if x.release == 0 {
					return false
				}
				c.raise(x.releaseSlot, x.release)
				again = true
				break
			}
		}
	}
	return true
}

// isCandidate reports whether the slot is that of a chosen instance: its sections stay open.
func (r *reversal) isCandidate(slot uint32) bool {
	return slices.ContainsFunc(r.chosen, func(e *event.Event) bool { return e.Slot == slot })
}

// contended reports whether another section of the lock is open at the end of the set that
// takes precedence over x: a candidate's, or one that is later in the run.
func (r *reversal) contended(c *closure, slot uint32, x *section) bool {
	for other := range c.at {
		if uint32(other) == slot {
			continue
		}
		for y := range c.held(uint32(other)) {
			if y.lock == x.lock && !c.released(y) && !(x.shared && y.shared) && (r.isCandidate(uint32(other)) || y.seq > x.seq) {
				return true
			}
		}
	}
	return false
}

// farthest returns, by slot, the last epoch that may run: of a candidate's slot the one before
// the candidate, of others the last of the run or the last before a gap.
func (r *reversal) farthest(base []event.Epoch, need *closure) []event.Epoch {
	upto := slices.Clone(need.at)
	for slot := range upto {
		if !r.isCandidate(uint32(slot)) {
			upto[slot] = r.bySlot.firstGap(slot, max(base[slot], upto[slot]))
		}
	}
	return upto
}

// schedule searches for an order of the events up to must, in which slots may run on up to
// limit.
func (r *reversal) schedule(base, must, limit []event.Epoch) bool {
	counts := func(upto []event.Epoch) []int32 {
		out := make([]int32, len(upto))
		for slot, e := range upto {
			out[slot] = r.bySlot.count(slot, e)
			r.steps -= int(out[slot]) / 4
		}
		return out
	}
	s := r.bySlot.newScheduler(counts(base), counts(must), counts(limit), r.steps)
	s.lenient, s.later = r.lenient, r.later
	ok := s.find()
	r.steps, r.unexplained = s.steps, r.unexplained || s.unexplained
	if ok {
		r.found = s
	}
	return ok
}

// scheduled returns the result whose witness is the scheduler's base and trail.
func (q *question) scheduled(s *scheduler) Result {
	return q.checked(q.executed(s, 0), finding.OrderReversal, []string{finding.GuardedData, finding.RaceFree})
}

// executed returns the steps of the scheduler's base and trail, of the trail those before the event with the number end; 0
// is no event's.
func (q *question) executed(s *scheduler, end uint64) *witness {
	w := &witness{steps: make([]finding.Step, 0, len(s.trail)+len(q.chosen))}
	for i := range q.h.log {
		x := &q.h.log[i]
		if b := s.base[x.Slot]; b > 0 && s.of[x.Slot][b-1] >= int32(i) && !q.h.discarded(x) {
			e := x.Event()
			w.add(&e)
		}
	}
	for _, m := range s.trail {
		e := q.h.log[m.event].Event()
		if e.Seq == end {
			break
		}
		w.add(&e)
	}
	return w
}
