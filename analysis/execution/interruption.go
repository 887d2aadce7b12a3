package execution

import (
	"sort"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// interruption checks that events of another thread have come, or come next, between two events of a block, and that both of
// these conflict with them. Which values the last steps would read does not matter.
func (s *state) interruption(last []finding.Step, x *Interruption) *Refusal {
	var at [4]int32
	for k, seq := range []uint64{x.First, x.From, x.To, x.Last} {
		i := sort.Search(len(s.events), func(i int) bool { return s.events[i].Seq >= seq })
		if i == len(s.events) || s.events[i].Seq != seq {
			return refuse(Goal, "the run has no event %d", seq)
		}
		at[k] = int32(i)
	}
	first, from, to, end := at[0], at[1], at[2], at[3]
	if s.events[first].Thread != s.events[end].Thread || s.events[from].Thread != s.events[to].Thread || s.events[first].Thread == s.events[from].Thread {
		return refuse(Goal, "events %d and %d should be of one thread, and %d and %d of another", x.First, x.Last, x.From, x.To)
	}
	open := []int32{to, end}
	if !x.Open {
		open = open[1:]
	}
	if len(last) != len(open) {
		return refuse(Goal, "the steps after those that are executed are %d, not %d", len(last), len(open))
	}
	for k, i := range open {
		if refusal := s.nextIs(i, last[k].Seq); refusal != nil {
			return refusal
		}
	}
	switch {
	case s.when[first] == 0 || from != to && s.when[from] == 0 || !x.Open && s.when[to] == 0:
		return refuse(Goal, "not all of events %d, %d and %d were executed", x.First, x.From, x.To)
	case s.when[from] != 0 && s.when[from] < s.when[first]:
		return refuse(Goal, "event %d was executed before event %d", x.From, x.First)
	case s.when[from] == 0 && (from != to || !x.Open) || s.when[to] != 0 && s.when[to] < s.when[from]:
		return refuse(Goal, "event %d does not come after event %d", x.To, x.From)
	}
	if refusal := s.cannotSwap(first, from); refusal != nil {
		return refusal
	}
	return s.cannotSwap(to, end)
}

// nextIs checks that an event of that Seq comes next in its thread. A lock that it acquires must be free.
func (s *state) nextIs(want int32, seq uint64) *Refusal {
	e := &s.events[want]
	i, refusal := s.enabled(e.Thread)
	switch {
	case refusal != nil:
		return refusal
	case i != want || e.Seq != seq:
		return refuse(Goal, "thread %d goes on with event %d, not with %d", e.Thread, s.events[i].Seq, seq)
	case e.Op.IsAcquire():
		return s.check(i)
	}
	return nil
}

// cannotSwap returns nil if two events, in this order, conflict: two accesses of a variable, one of which writes, or an acquire
// or release of a lock and a later acquire that it excludes, or that excludes it.
func (s *state) cannotSwap(a, b int32) *Refusal {
	x, y := &s.events[a], &s.events[b]
	mode := x.Op
	if x.Op == event.Release && s.source[a] != noSource {
		mode = s.events[s.source[a]].Op
	}
	accesses := x.Op.IsAccess() && y.Op.IsAccess() && (x.Op.IsWrite() || y.Op.IsWrite())
	locks := mode.IsAcquire() && y.Op.IsAcquire() && (mode == event.Acquire || y.Op == event.Acquire)
	if x.Object != y.Object || x.Thread == y.Thread || !accesses && !locks {
		return refuse(Goal, "events %d and %d do not conflict", x.Seq, y.Seq)
	}
	return nil
}
