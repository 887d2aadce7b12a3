package engine_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestProbableOrder checks that a likely finding is potential if probable orders keep its sides apart
// wherever they were executed, and that a predicted one remains.
func TestProbableOrder(t *testing.T) {
	const (
		a event.ObjectID = iota + 1
		b
		x
	)
	of := func(t event.ThreadID, op event.Op, o event.ObjectID, at event.StackID) event.Event {
		return event.Event{Thread: t, Op: op, Object: o, Stack: at}
	}
	nests := func(t event.ThreadID, outer, inner event.ObjectID, at event.StackID) []event.Event {
		return []event.Event{of(t, event.Acquire, outer, at), of(t, event.Acquire, inner, at+1), of(t, event.Release, inner, at+2), of(t, event.Release, outer, at+3)}
	}
	write := func(t event.ThreadID, at event.StackID) []event.Event {
		return []event.Event{of(t, event.Write, x, at)}
	}
	begin := []event.Event{{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 1, Op: event.Fork, Peer: 3}, {Thread: 1, Op: event.Fork, Peer: 4}}
	cycle := slices.Concat(begin, nests(2, a, b, 10), nests(3, b, a, 20)) // 4 to 7, 8 to 11
	race := slices.Concat(begin, write(2, 10), write(3, 20))              // 4, 5
	order := func(from event.ThreadID, until uint64, to event.ThreadID, since uint64) []verdict.Order {
		return []verdict.Order{{From: from, Until: until, To: to, Since: since, Why: reason.Reason{What: reason.WaitEnded}}}
	}
	unseen := reason.Reason{What: reason.Unseen}
	for _, tt := range []struct {
		name   string
		run    []event.Event
		orders []verdict.Order
		doubt  reason.Reason
		want   []string
	}{
		{"no order", cycle, nil, unseen, []string{"likely deadlock"}},
		{"a deadlock that is kept apart", cycle, order(2, 7, 3, 8), unseen, []string{"potential deadlock"}},
		{"within the first section", cycle, order(2, 5, 3, 8), unseen, []string{"potential deadlock"}},
		{"before the first request", cycle, order(2, 4, 3, 8), unseen, []string{"likely deadlock"}},
		{"after the second request", cycle, order(2, 7, 3, 10), unseen, []string{"likely deadlock"}},
		{"of other threads", cycle, order(2, 7, 4, 8), unseen, []string{"likely deadlock"}},
		{"the other way round", cycle, order(3, 7, 2, 4), unseen, []string{"likely deadlock"}},
		{"no doubt", cycle, order(2, 7, 3, 8), reason.Reason{}, []string{"predicted deadlock"}},
		{"once more, later", slices.Concat(cycle, nests(2, a, b, 10)), order(2, 7, 3, 8), unseen, []string{"likely deadlock"}},
		{"elsewhere, later", slices.Concat(cycle, nests(2, a, x, 10)), order(2, 7, 3, 8), unseen, []string{"potential deadlock"}},
		{"by another thread too", slices.Concat(cycle, nests(4, a, b, 10)), order(2, 7, 3, 8), unseen, []string{"likely deadlock"}},
		{"a race that is kept apart", race, order(2, 4, 3, 5), unseen, []string{"potential race"}},
		{"a race that is not", race, order(2, 3, 3, 5), unseen, []string{"likely race"}},
		{"a race, once more", slices.Concat(race, write(2, 10)), order(2, 4, 3, 5), unseen, []string{"likely race"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := slices.Clone(tt.run)
			for i := range run {
				run[i].Seq = uint64(i + 1)
				if run[i].Op == event.Write {
					run[i].Kind = event.KindVariable
				}
			}
			eventtest.Stamp(run)
			s := engine.New(engine.Options{})
			for i := range run {
				s.Event(&run[i])
			}
			found := finish(s, verdict.Run{Doubt: func(*finding.Finding) reason.Reason { return tt.doubt }, Orders: tt.orders}, part.Known{})
			if diff := cmp.Diff(tt.want, brief(found)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, f := range found {
				if f.Confidence == finding.Potential && (f.Reason.What != reason.WaitEnded || len(f.Witness) > 0 || len(f.Assumes) > 0) {
					t.Errorf("%+v", f)
				}
				if f.Confidence == finding.Likely && f.Reason.What != reason.Unseen {
					t.Errorf("the reason is %+v", f.Reason)
				}
			}
		})
	}
}
