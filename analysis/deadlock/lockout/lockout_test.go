package lockout_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/deadlock/lockout"
	"github.com/tracepredict/tracepredict/observer/event"
)

const (
	a event.ObjectID = iota + 1
	b
	s
	cond
	barrier
	once
)

func of(t event.ThreadID, op event.Op, o event.ObjectID) event.Event {
	return event.Event{Thread: t, Op: op, Object: o}
}

func joins(t, u event.ThreadID) event.Event { return event.Event{Thread: t, Op: event.Join, Peer: u} }

// find returns the candidates of a run whose events are numbered from 1.
func find(run []event.Event) ([]lockout.Candidate, uint64) {
	return lockout.Find(func(yield func(*event.Event) bool) {
		for i := range run {
			e := run[i]
			e.Seq = uint64(i + 1)
			if !yield(&e) {
				return
			}
		}
	})
}

// later returns candidates of events that come later.
func later(all ...[]uint64) []lockout.Candidate {
	var out []lockout.Candidate
	for _, l := range all {
		out = append(out, lockout.Candidate{Later: l})
	}
	return out
}

func flagged(e event.Event, f event.Flags) event.Event {
	e.Flags = f
	return e
}

func stacked(e event.Event, s event.StackID) event.Event {
	e.Stack = s
	return e
}

func TestFind(t *testing.T) {
	try := of(2, event.Acquire, a)
	try.Flags = event.Try
	reads := event.Event{Thread: 2, Op: event.AcquireRead, Object: a, Kind: event.KindRWLock, Flags: event.HasValue, Value: event.PreferWriterNonrecursive}
	tests := []struct {
		name string
		run  []event.Event
		want []lockout.Candidate
	}{
		{"a join while holding", []event.Event{
			of(2, event.Acquire, a), of(2, event.Release, a), of(1, event.Acquire, a), joins(1, 2),
		}, later([]uint64{1})},
		{"the last request of each thread", []event.Event{
			of(2, event.Acquire, a), of(2, event.Release, a), of(2, event.Acquire, a), of(2, event.Release, a), of(3, event.Acquire, a), of(3, event.Release, a),
			of(1, event.Acquire, a), joins(1, 2),
		}, later([]uint64{5}, []uint64{3}, []uint64{5, 3})},
		{"a join after the release", []event.Event{
			of(2, event.Acquire, a), of(2, event.Release, a), of(1, event.Acquire, a), of(1, event.Release, a), joins(1, 2),
		}, nil},
		{"a request that does not wait", []event.Event{try, of(2, event.Release, a), of(1, event.Acquire, a), joins(1, 2)}, nil},
		{"two readers", []event.Event{
			of(2, event.AcquireRead, a), of(2, event.Release, a), of(1, event.AcquireRead, a), joins(1, 2),
		}, nil},
		{"a reader and a writer", []event.Event{
			of(2, event.Acquire, a), of(2, event.Release, a), of(1, event.AcquireRead, a), joins(1, 2),
		}, later([]uint64{1})},
		{"a third thread between", []event.Event{
			of(2, event.Acquire, b), of(2, event.Release, b), of(3, event.Acquire, b), of(3, event.Acquire, a), of(3, event.Release, a), of(3, event.Release, b),
			of(1, event.Acquire, a), joins(1, 2),
		}, later([]uint64{4}, []uint64{4, 1})},
		{"waits for a condition, and at a barrier", []event.Event{
			of(2, event.Acquire, a), of(2, event.Release, a), of(1, event.Acquire, a), of(1, event.Wait, cond), of(1, event.Wake, cond),
			of(1, event.BarrierArrive, barrier), of(1, event.BarrierDepart, barrier),
		}, later([]uint64{1}, []uint64{1})},
		{"semaphores in opposite orders", []event.Event{
			of(2, event.SemWait, s), of(2, event.SemWait, b), of(2, event.SemPost, b), of(2, event.SemPost, s),
			of(1, event.SemWait, b), of(1, event.SemWait, s), of(1, event.SemPost, s), of(1, event.SemPost, b),
		}, later([]uint64{2})},
		{"a semaphore that is not given back", []event.Event{
			of(2, event.SemWait, s), of(2, event.SemWait, b), of(1, event.SemWait, b), of(1, event.SemWait, s),
		}, nil},
		{"a lock under a permit", []event.Event{
			of(2, event.Acquire, a), of(2, event.SemWait, s), of(2, event.SemPost, s), of(2, event.Release, a),
			of(1, event.SemWait, s), of(1, event.Acquire, a), of(1, event.Release, a), of(1, event.SemPost, s),
		}, later([]uint64{2})},
		{"a wait on a condition", []event.Event{
			of(1, event.Acquire, a), flagged(of(1, event.Release, a), event.InCondWait), of(1, event.Wait, cond), of(2, event.Signal, cond), of(1, event.Wake, cond),
		}, []lockout.Candidate{{Later: []uint64{2}, Wait: 2}, {Later: []uint64{1}, Wait: 2, Decides: []lockout.Code{{}}}}},
		{"events between the acquire and the wait", []event.Event{
			stacked(of(1, event.Acquire, a), 1), stacked(of(1, event.SemPost, s), 2), flagged(of(1, event.Release, a), event.InCondWait), stacked(of(1, event.Wait, cond), 4),
			of(2, event.Signal, cond), of(1, event.Wake, cond),
		}, []lockout.Candidate{{Later: []uint64{3}, Wait: 3}, {Later: []uint64{1}, Wait: 3, Decides: []lockout.Code{{From: 1, To: 2}, {From: 2, To: 4}}}}},
		{"many events between the acquire and the wait", slices.Concat([]event.Event{of(1, event.Acquire, a)}, slices.Repeat([]event.Event{of(1, event.SemPost, s)}, 8),
			[]event.Event{flagged(of(1, event.Release, a), event.InCondWait), of(1, event.Wait, cond), of(2, event.Signal, cond), of(1, event.Wake, cond)},
		), []lockout.Candidate{{Later: []uint64{10}, Wait: 10}}},
		{"a wait with a time limit", []event.Event{
			of(1, event.Acquire, a), flagged(of(1, event.Release, a), event.InCondWait), flagged(of(1, event.Wait, cond), event.Timed), of(2, event.Signal, cond),
			of(1, event.Wake, cond),
		}, []lockout.Candidate{{Later: []uint64{2}, Wait: 2}}},
		{"a look outside the mutex", []event.Event{
			flagged(of(1, event.Read, s), event.Atomic), of(1, event.Acquire, a), flagged(of(1, event.Release, a), event.InCondWait), of(1, event.Wait, cond),
			of(2, event.Acquire, a), flagged(of(2, event.Update, s), event.Atomic), of(2, event.Signal, cond), of(2, event.Release, a), of(1, event.Wake, cond),
		}, []lockout.Candidate{{Later: []uint64{3}, Wait: 3}, {Later: []uint64{2}, Wait: 3}}},
		{"a look at what is written outside the mutex", []event.Event{
			flagged(of(1, event.Read, s), event.Atomic), of(1, event.Acquire, a), flagged(of(1, event.Release, a), event.InCondWait), of(1, event.Wait, cond),
			flagged(of(2, event.Update, s), event.Atomic), of(2, event.Acquire, a), of(2, event.Signal, cond), of(2, event.Release, a), of(1, event.Wake, cond),
		}, []lockout.Candidate{{Later: []uint64{3}, Wait: 3}, {Later: []uint64{2}, Wait: 3, Decides: []lockout.Code{{}}}}},
		{"an initialiser that needs what is held", []event.Event{
			of(2, event.OnceEnter, once), of(2, event.Acquire, a), of(2, event.Release, a), of(2, event.OnceDone, once), of(2, event.Acquire, a), of(2, event.Release, a),
			of(1, event.Acquire, a), of(1, event.OnceEnter, once), of(1, event.OnceLeave, once),
		}, later([]uint64{2})},
		{"an initialiser that needs another lock", []event.Event{
			of(2, event.Acquire, a), of(2, event.OnceEnter, once), of(2, event.Acquire, b), of(2, event.Release, b), of(2, event.OnceDone, once), of(2, event.Release, a),
			of(1, event.Acquire, a), of(1, event.OnceLeave, once),
		}, nil},
		{"an initialiser whose beginning was not seen", []event.Event{
			of(2, event.Acquire, a), of(2, event.Release, a), of(2, event.OnceDone, once), of(1, event.Acquire, a), of(1, event.OnceLeave, once),
		}, nil},
		{"a reader again, before a writer", []event.Event{
			reads, of(2, event.AcquireAgain, a), of(2, event.Release, a), of(1, event.Acquire, a), of(1, event.Release, a), of(2, event.AcquireRead, b),
		}, later([]uint64{2})},
		{"a reader again, after a writer", []event.Event{
			of(1, event.Acquire, a), of(1, event.Release, a), reads, of(2, event.AcquireAgain, a), of(2, event.Release, a),
		}, later([]uint64{1, 4})},
		{"a reader again, among readers", []event.Event{
			of(1, event.AcquireRead, a), of(1, event.Release, a), reads, of(2, event.AcquireAgain, a), of(2, event.Release, a),
		}, nil},
		{"a reader again, which tries", []event.Event{
			of(1, event.Acquire, a), of(1, event.Release, a), reads, flagged(of(2, event.AcquireAgain, a), event.Try), of(2, event.Release, a),
		}, nil},
		{"a reader again, of a lock that prefers readers", []event.Event{
			of(1, event.Acquire, a), of(1, event.Release, a), of(2, event.AcquireRead, a), of(2, event.AcquireAgain, a), of(2, event.Release, a),
		}, nil},
		{"a wait that times out", []event.Event{
			of(1, event.Acquire, a), flagged(of(1, event.Release, a), event.InCondWait), of(1, event.Wait, cond), flagged(of(1, event.Wake, cond), event.TimedOut),
		}, nil},
		{"a join under a lock, and several requests of it before", []event.Event{
			stacked(of(2, event.Acquire, a), 1), of(2, event.Release, a), stacked(of(2, event.Acquire, a), 2), of(2, event.Release, a),
			of(1, event.Acquire, a), joins(1, 2),
		}, later([]uint64{3}, []uint64{1})},
		{"a join of a thread that waits for a third one", []event.Event{
			of(2, event.Acquire, a), of(2, event.Release, a), of(3, event.Acquire, a), of(1, event.Acquire, b), joins(1, 2), of(1, event.Release, b),
			of(3, event.Acquire, b),
		}, later([]uint64{7, 1})},
		{"a join of a thread that waits for a third one, by way of a fourth", []event.Event{
			of(2, event.Acquire, a), of(2, event.Release, a), of(3, event.Acquire, a), of(3, event.Acquire, s), of(3, event.Release, s),
			of(4, event.Acquire, s), of(1, event.Acquire, b), joins(1, 2), of(1, event.Release, b), of(4, event.Acquire, b),
		}, later([]uint64{10, 4, 1})},
		{"a lock left held", []event.Event{
			of(2, event.Acquire, a), of(2, event.Release, a), of(1, event.Acquire, a), flagged(of(1, event.Release, a), event.Inferred), of(1, event.End, 0),
		}, []lockout.Candidate{{Later: []uint64{1}, Left: 1}}},
		{"locks alone", []event.Event{
			of(2, event.Acquire, a), of(2, event.Acquire, b), of(2, event.Release, b), of(2, event.Release, a),
			of(1, event.Acquire, b), of(1, event.Acquire, a), of(1, event.Release, a), of(1, event.Release, b), joins(1, 2),
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, leftOut := find(tt.run)
			if diff := cmp.Diff(tt.want, got); diff != "" || leftOut != 0 {
				t.Errorf("left out %d (-want +got):\n%s", leftOut, diff)
			}
		})
	}
}

// TestBounds checks that alike candidates are few, and that the number of all is bounded.
func TestBounds(t *testing.T) {
	round := []event.Event{of(2, event.Acquire, a), of(2, event.Release, a), of(1, event.Acquire, a), joins(1, 2), of(1, event.Release, a)}
	all, leftOut := find(slices.Repeat(round, 50))
	// The first two, and the last two.
	if diff := cmp.Diff(later([]uint64{1}, []uint64{6}, []uint64{241}, []uint64{246}), all); diff != "" || leftOut != 0 {
		t.Errorf("with the same stacks, %d left out (-want +got):\n%s", leftOut, diff)
	}
	var run []event.Event
	for i := range 300 {
		for _, e := range round {
			e.Stack = event.StackID(i + 1)
			run = append(run, e)
		}
	}
	if all, leftOut := find(run); len(all) != 256 || leftOut < 44 {
		t.Errorf("%d candidates, %d left out", len(all), leftOut)
	}
}
