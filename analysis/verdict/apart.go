package verdict

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// This file handles orders that other schedules probably keep: a thread waited, no event records what ended
// its wait, and a system call of another thread may have done that. Such an order
// proves nothing, so no analysis prunes by it. But a finding that is only likely, and whose sides it keeps
// apart, is potential.
//
// A finding stands for all pairs of events at its call stacks. So it stays likely unless such orders keep
// apart all of these pairs, of whichever threads.

// Order is a probable order: what thread From did up to event Until comes before what thread To did from
// event Since on.
type Order struct {
	From  event.ThreadID
	Until uint64
	To    event.ThreadID
	Since uint64
	Why   reason.Reason
}

// keepsApart reports whether event a of one thread and b of another cannot be next at the same time.
func (o *Order) keepsApart(a, b *side) bool {
	return o.precedes(a, b) || o.precedes(b, a)
}

func (o *Order) precedes(a, b *side) bool {
	return a.thread == o.From && a.seq <= o.Until && b.thread == o.To && b.seq >= o.Since
}

// side is an event at which a thread stands in a finding.
type side struct {
	thread event.ThreadID
	seq    uint64
}

// maxSides bounds the events of one side that are compared with those of another.
const maxSides = 1 << 10

// ordered makes a likely finding potential whose sides are probably ordered.
func (j *Judge) ordered(f *finding.Finding) {
	if len(j.Run.Orders) == 0 || !j.Record.Whole() || f.Confidence != finding.Likely || !standsStill(f) {
		return
	}
	if o := j.keptApart(f); o != nil {
		f.Confidence, f.Reason = finding.Potential, o.Why
		f.Witness, f.Spans, f.Moved, f.Assumes, f.Order = nil, nil, nil, nil, finding.OrderNone
	}
}

// apart reports whether one of some orders keeps two sides of a finding apart, as far as its evidence shows.
func apart(f *finding.Finding, orders []Order) bool {
	if !standsStill(f) {
		return false
	}
	for i := range f.Evidence {
		for j := range i {
			if orderOf(orders, sideOf(&f.Evidence[j]), sideOf(&f.Evidence[i])) != nil {
				return true
			}
		}
	}
	return false
}

func sideOf(x *finding.Step) *side { return &side{x.Thread, x.Seq} }

// standsStill reports whether a finding says that its threads stand at the events of its evidence at the same
// time, and not only that these come in another order.
func standsStill(f *finding.Finding) bool {
	if f.NoCycle || f.Kind != finding.Race && f.Kind != finding.Deadlock {
		return false
	}
	return !slices.ContainsFunc(f.Evidence, func(e finding.Step) bool {
		return e.Seq == 0 || !e.Op.IsAccess() && e.Op != event.Acquire && e.Op != event.AcquireRead
	})
}

// keptApart returns an order that keeps two sides of a finding apart; nil if there is none, or if these are
// not kept apart everywhere that the two sides were executed.
func (j *Judge) keptApart(f *finding.Finding) *Order {
	for i := range f.Evidence {
		for k := range i {
			a, b := &f.Evidence[k], &f.Evidence[i]
			o := orderOf(j.Run.Orders, sideOf(a), sideOf(b))
			if o != nil && j.alwaysApart(a, b) {
				return o
			}
		}
	}
	return nil
}

// orderOf returns the probable order of two events; nil if there is none.
func orderOf(orders []Order, a, b *side) *Order {
	for i := range orders {
		if o := &orders[i]; o.keepsApart(a, b) {
			return o
		}
	}
	return nil
}

// alwaysApart reports whether all events like a are kept apart from all events like b of other threads.
func (j *Judge) alwaysApart(a, b *finding.Step) bool {
	first, second := j.like(a), j.like(b)
	if len(first) > maxSides || len(second) > maxSides {
		return false
	}
	for i := range first {
		for k := range second {
			if first[i].thread != second[k].thread && orderOf(j.Run.Orders, &first[i], &second[k]) == nil {
				return false
			}
		}
	}
	return true
}

// like returns the events that do the same to the same object as a step, at the same call stack.
func (j *Judge) like(x *finding.Step) (out []side) {
	j.Record.Kept(func(e *event.Event) bool {
		if e.Op == x.Op && e.Object == x.Object && e.Stack == x.Stack {
			out = append(out, side{e.Thread, e.Seq})
		}
		return len(out) <= maxSides
	})
	return out
}
