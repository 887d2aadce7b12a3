package execution

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// executedSteps returns how many of the steps are executed. The error is at the steps after them.
func executedSteps(steps []finding.Step, claim *Claim) int {
	if x := claim.Interruption; x != nil && x.Open {
		return max(0, len(steps)-2)
	} else if x != nil {
		return max(0, len(steps)-1)
	}
	switch claim.Kind {
	case finding.Race:
		return max(0, len(steps)-2)
	case finding.Deadlock:
		end := len(steps)
		for end > 0 && steps[end-1].Blocked {
			end--
		}
		return end
	}
	return len(steps)
}

// checkEnd returns nil if the error can occur next, at the last steps.
func (s *state) checkEnd(last []finding.Step, claim *Claim) *Refusal {
	if claim.Interruption != nil {
		return s.interruption(last, claim.Interruption)
	}
	switch claim.Kind {
	case finding.Property, finding.Typestate:
		return nil
	case finding.Deadlock:
		return s.deadlock(last)
	case finding.Race:
		return s.race(last)
	}
	return refuse(Goal, "nothing is known of a witness for %q", claim.Kind)
}

// deadlock checks that the threads wait for each other in a cycle of locks, or that none of them can
// ever go on.
func (s *state) deadlock(last []finding.Step) *Refusal {
	if len(last) == 0 {
		return refuse(Goal, "a deadlock's witness ends with blocked threads, this one with none")
	}
	if len(last) == 1 || slices.ContainsFunc(last, func(x finding.Step) bool { return !x.Op.IsAcquire() }) {
		return s.stuck(last)
	}
	requests := make([]*event.Event, len(last))
	for k := range last {
		e, refusal := s.blocked(&last[k])
		if refusal != nil {
			return refusal
		}
		if slices.ContainsFunc(requests[:k], func(o *event.Event) bool { return o.Thread == e.Thread }) {
			return refuse(Goal, "thread %d is in the cycle twice", e.Thread)
		}
		requests[k] = e
	}
	if s.cycle(requests, 1) || s.cycle(requests, len(requests)-1) {
		return nil
	}
	return refuse(Goal, "the %d blocked threads do not wait for each other in a cycle", len(last))
}

// blocked returns the acquire at which a thread should wait: its next event, which must match x.
func (s *state) blocked(x *finding.Step) (*event.Event, *Refusal) {
	i, refusal := s.enabled(x.Thread)
	if refusal != nil {
		return nil, refusal
	}
	e := &s.events[i]
	switch {
	case e.Op != x.Op || e.Object != x.Object || !e.Op.IsAcquire():
		return nil, refuse(Goal, "thread %d goes on with %s of object %d, not with the acquire that is to block", e.Thread, e.Op, e.Object)
	case e.Flags&event.Try != 0:
		return nil, refuse(Goal, "thread %d only tries the lock %d, which does not block", e.Thread, e.Object)
	}
	return e, nil
}

// enabled returns the thread's next event, if its needs are met. Only the state of its object may
// still forbid it.
func (s *state) enabled(t event.ThreadID) (int32, *Refusal) {
	i, refusal := s.next(t)
	if refusal == nil {
		refusal = s.ready(i)
	}
	return i, refusal
}

// cycle reports whether each thread requests a lock that excludes it and that is held by the thread
// the given number of indices after it, cyclically.
func (s *state) cycle(requests []*event.Event, distance int) bool {
	for k, e := range requests {
		by := requests[(k+distance)%len(requests)].Thread
		o := &s.objects[s.ids[e.Object]]
		if !slices.ContainsFunc(o.holders, func(h int32) bool { return s.excludes(h, e.Op) && s.holder(h) == by }) {
			return false
		}
	}
	return true
}

// race checks that the two accesses are both next, and conflict. Which values they would read does
// not matter.
func (s *state) race(last []finding.Step) *Refusal {
	if len(last) != 2 {
		return refuse(Goal, "a race's witness ends with two accesses, the steps of this one are %d", len(last))
	}
	var pair [2]*event.Event
	for k := range last {
		i, refusal := s.enabled(last[k].Thread)
		if refusal != nil {
			return refusal
		}
		pair[k] = &s.events[i]
		if pair[k].Seq != last[k].Seq {
			return refuse(Goal, "thread %d goes on with event %d, not with %d", last[k].Thread, pair[k].Seq, last[k].Seq)
		}
	}
	return conflict(pair[0], pair[1])
}

// conflict returns nil if the two accesses conflict.
func conflict(a, b *event.Event) *Refusal {
	switch {
	case !a.Op.IsAccess() || !b.Op.IsAccess() || a.Object != b.Object:
		return refuse(Goal, "events %d and %d are not accesses of one variable", a.Seq, b.Seq)
	case a.Thread == b.Thread:
		return refuse(Goal, "events %d and %d are of one thread", a.Seq, b.Seq)
	case !a.Op.IsWrite() && !b.Op.IsWrite():
		return refuse(Goal, "events %d and %d only read", a.Seq, b.Seq)
	case event.BothAtomic(a.Flags, b.Flags):
		return refuse(Goal, "events %d and %d are both atomic", a.Seq, b.Seq)
	}
	return nil
}
