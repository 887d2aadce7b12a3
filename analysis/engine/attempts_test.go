package engine_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestAttemptsWithAnInterpretersLock checks that attempts that may wait, with the lock of an interpreter, make a deadlock
// that is potential, and none under a gate lock or with attempts that certainly do not wait. A deadlock of other locks is
// potential if its schedule needs that the lock is released at an attempt.
func TestAttemptsWithAnInterpretersLock(t *testing.T) {
	const (
		gil event.ObjectID = iota + 1
		a
		b
		gate
		free
		ready
	)
	of := func(t event.ThreadID, op event.Op, o event.ObjectID, flags event.Flags) event.Event {
		return event.Event{Thread: t, Op: op, Object: o, Kind: event.KindMutex, Flags: flags}
	}
	attempt := func(t event.ThreadID, o event.ObjectID) []event.Event {
		return []event.Event{
			of(t, event.Release, gil, event.MayWait), of(t, event.Acquire, o, event.MayWait), of(t, event.Acquire, gil, event.Try|event.MayWait),
		}
	}
	take := func(t event.ThreadID, o event.ObjectID) []event.Event {
		return []event.Event{of(t, event.Acquire, o, 0)}
	}
	try := func(t event.ThreadID, o event.ObjectID) []event.Event {
		return []event.Event{of(t, event.Acquire, o, event.Try)}
	}
	type request func(event.ThreadID, event.ObjectID) []event.Event
	releases := func(t event.ThreadID, all ...event.ObjectID) (run []event.Event) {
		for _, o := range all {
			run = append(run, of(t, event.Release, o, 0))
		}
		return run
	}
	with := func(t event.ThreadID, outer, inner event.ObjectID, get request) []event.Event {
		return slices.Concat(take(t, gil), get(t, outer), get(t, inner), releases(t, inner, outer, gil))
	}
	both := func(get request) []event.Event { return slices.Concat(with(2, a, b, get), with(3, b, a, get)) }
	// told is a run in which thread 3 can acquire b before thread 2 requests it only within an attempt of thread 2.
	told := func(attempt request) []event.Event {
		return slices.Concat(
			[]event.Event{{Thread: 1, Op: event.Init, Object: ready, Kind: event.KindSemaphore, Flags: event.HasValue}},
			take(2, gil), take(2, a), []event.Event{{Thread: 2, Op: event.SemPost, Object: ready, Kind: event.KindSemaphore}},
			attempt(2, free), take(2, b), releases(2, b, free, a, gil),
			[]event.Event{{Thread: 3, Op: event.SemWait, Object: ready, Kind: event.KindSemaphore}},
			take(3, gil), take(3, b), releases(3, gil), take(3, a), releases(3, a, b),
		)
	}
	gated := func(t event.ThreadID, run []event.Event) []event.Event {
		return append(append(take(t, gate), run...), of(t, event.Release, gate, 0))
	}
	for _, tt := range []struct {
		name string
		run  []event.Event
		want []string
	}{
		{"attempts", both(attempt), []string{"potential deadlock"}},
		{"under a gate lock", slices.Concat(gated(2, with(2, a, b, attempt)), gated(3, with(3, b, a, attempt))), nil},
		{"attempts that do not wait", both(try), nil},
		{"the lock is kept", both(take), nil},
		{"only within an attempt", told(attempt), []string{"potential deadlock"}},
		{"within no attempt", told(try), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := slices.Concat([]event.Event{{Thread: 1, Op: event.Fork, Peer: 2}, {Thread: 1, Op: event.Fork, Peer: 3}}, tt.run)
			for i := range run {
				run[i].Seq, run[i].Stack = uint64(i+1), event.StackID(i+1)
			}
			eventtest.Stamp(run)
			s := engine.New(engine.Options{})
			for i := range run {
				s.Event(&run[i])
			}
			var got []string
			for _, f := range finish(s, verdict.Run{}, part.Known{}) {
				if f.Confidence != finding.Potential || len(f.Witness) > 0 {
					got = append(got, string(f.Confidence)+" "+string(f.Kind))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
