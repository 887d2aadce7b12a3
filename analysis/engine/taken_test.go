package engine_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestTakenSignal checks that a thread can wait for ever whose signal may wake another thread, which
// waits for something else, and that it cannot if another notification comes for sure or the code is
// not known to lose the signal.
func TestTakenSignal(t *testing.T) {
	const (
		a event.ObjectID = iota + 1
		cond
	)
	of := func(t event.ThreadID, op event.Op, o event.ObjectID) event.Event {
		return event.Event{Thread: t, Op: op, Object: o}
	}
	inWait := func(e event.Event) event.Event {
		e.Flags = event.InCondWait
		return e
	}
	waits := func(t event.ThreadID) []event.Event {
		return []event.Event{of(t, event.Acquire, a), inWait(of(t, event.Release, a)), of(t, event.Wait, cond)}
	}
	wakes := func(t event.ThreadID) []event.Event {
		return []event.Event{of(t, event.Wake, cond), inWait(of(t, event.Acquire, a)), of(t, event.Release, a)}
	}
	sends := func(t event.ThreadID, op event.Op) []event.Event {
		return []event.Event{of(t, event.Acquire, a), of(t, op, cond), of(t, event.Release, a)}
	}
	begin := []event.Event{{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 1, Op: event.Fork, Peer: 3}}
	told := slices.Concat(begin, waits(2), waits(3), sends(1, event.Signal), wakes(2), sends(1, event.Signal), wakes(3))
	all := part.Known{
		Elsewhere:       func(a, b event.StackID) bool { return a != b },
		PassesNothingOn: func(event.StackID) bool { return true },
	}
	for _, tt := range []struct {
		name  string
		run   []event.Event
		known part.Known
		want  []string
	}{
		{"a signal each", told, all, []string{"likely deadlock"}},
		{"nothing is known of the code", told, part.Known{}, nil},
		{"it may pass the signal on", told, part.Known{Elsewhere: all.Elsewhere}, nil},
		{"at one place", told, part.Known{PassesNothingOn: all.PassesNothingOn}, nil},
		{"another signal comes last", slices.Concat(told, sends(1, event.Signal)), all, nil},
		{"a broadcast comes last", slices.Concat(told, sends(1, event.Broadcast)), all, nil},
		{"a signal of the one that comes last", slices.Concat(begin, waits(2), waits(3), sends(1, event.Signal), wakes(2), sends(2, event.Signal), wakes(3)), all, []string{"likely deadlock"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := slices.Clone(tt.run)
			for i := range run {
				run[i].Seq, run[i].Stack = uint64(i+1), event.StackID(i+1)
			}
			eventtest.Stamp(run)
			s := engine.New(engine.Options{})
			for i := range run {
				s.Event(&run[i])
			}
			found := finish(s, verdict.Run{}, tt.known)
			if diff := cmp.Diff(tt.want, brief(found)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, f := range found {
				if f.Reason.What != reason.SignalTaken || len(f.Witness) == 0 || f.Evidence[0].Thread != 2 || f.Evidence[0].Op != event.Wait {
					t.Errorf("%+v", f)
				}
			}
			if w := s.Witnesses(); w.Refused > 0 {
				t.Errorf("the checker refused %d schedules", w.Refused)
			}
		})
	}
}
