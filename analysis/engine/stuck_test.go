package engine_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestStuck checks deadlocks that are no cycle of locks alone, each with a twin in which no schedule
// leads there.
func TestStuck(t *testing.T) {
	const (
		a event.ObjectID = iota + 1
		b
		s
		cond
		barrier
		once
	)
	of := func(t event.ThreadID, op event.Op, o event.ObjectID) event.Event {
		return event.Event{Thread: t, Op: op, Object: o}
	}
	fork := func(t, u event.ThreadID) event.Event { return event.Event{Thread: t, Op: event.Fork, Peer: u} }
	join := func(t, u event.ThreadID) event.Event { return event.Event{Thread: t, Op: event.Join, Peer: u} }
	initial := func(o event.ObjectID, kind event.Kind, v uint64) event.Event {
		return event.Event{Thread: 1, Op: event.Init, Object: o, Kind: kind, Value: v, Flags: event.HasValue}
	}
	likely, predicted := []string{"likely deadlock"}, []string{"predicted deadlock"}
	opposite := func(permits uint64) []event.Event {
		return []event.Event{
			initial(a, event.KindSemaphore, permits), initial(b, event.KindSemaphore, permits), fork(1, 2), fork(1, 3),
			of(2, event.SemWait, a), of(2, event.SemWait, b), of(2, event.SemPost, b), of(2, event.SemPost, a),
			of(3, event.SemWait, b), of(3, event.SemWait, a), of(3, event.SemPost, a), of(3, event.SemPost, b),
		}
	}
	monitor := func(outer event.Op) []event.Event {
		return []event.Event{
			fork(1, 2), fork(1, 3), of(2, outer, a), of(2, event.Release, a),
			of(3, outer, a), of(3, event.Acquire, b), of(3, event.Release, b), of(3, event.Wait, cond),
			of(2, event.Acquire, b), of(2, event.Signal, cond), of(2, event.Release, b),
			of(3, event.Wake, cond), of(3, event.Acquire, b), of(3, event.Release, b), of(3, event.Release, a),
		}
	}
	// signalled is a wait on a condition with mutex a, which thread 2 signals after some events.
	signalled := func(before ...event.Event) []event.Event {
		release, acquire := of(1, event.Release, a), of(1, event.Acquire, a)
		release.Flags, acquire.Flags = event.InCondWait, event.InCondWait
		run := append([]event.Event{fork(1, 2), of(1, event.Acquire, a), release, of(1, event.Wait, cond)}, before...)
		return append(run, of(2, event.Signal, cond), of(1, event.Wake, cond), acquire, of(1, event.Release, a))
	}
	// counted is a wait for a change of atomic variable b, which thread 1 reads before it acquires
	// mutex a, and again if it should, as the fixed variants of the Remote Agent do.
	counted := func(again ...event.Event) []event.Event {
		release, acquire := of(1, event.Release, a), of(1, event.Acquire, a)
		release.Flags, acquire.Flags = event.InCondWait, event.InCondWait
		read := of(1, event.Read, b)
		read.Flags = event.Atomic
		update := of(2, event.Update, b)
		update.Flags = event.Atomic
		run := append([]event.Event{fork(1, 2), read, of(1, event.Acquire, a)}, again...)
		return append(run, release, of(1, event.Wait, cond), of(2, event.Acquire, a), update, of(2, event.Signal, cond), of(2, event.Release, a),
			of(1, event.Wake, cond), acquire, of(1, event.Release, a))
	}
	// again is a lock that thread 2 acquires twice for reading, and thread 1 for writing before that.
	again := func(kind uint64) []event.Event {
		run := []event.Event{
			of(1, event.Acquire, a), of(1, event.Release, a), of(2, event.AcquireRead, a), of(2, event.AcquireAgain, a), of(2, event.Release, a),
		}
		for i := range run {
			run[i].Kind = event.KindRWLock
		}
		run[0].Flags, run[0].Value = event.HasValue, kind
		return run
	}
	// initialised is an initialisation during which thread 2 holds one lock, and which thread 1 finds
	// done while it holds another.
	initialised := func(held, needed event.ObjectID) []event.Event {
		return []event.Event{
			of(2, event.OnceEnter, once), of(2, event.Acquire, needed), of(2, event.Release, needed), of(2, event.OnceDone, once),
			of(1, event.Acquire, held), of(1, event.OnceEnter, once), of(1, event.OnceLeave, once), of(1, event.Release, held),
		}
	}
	left := func(more ...event.Event) []event.Event {
		release := of(3, event.Release, a)
		release.Flags = event.Inferred
		return append([]event.Event{
			fork(1, 2), fork(1, 3), of(2, event.Acquire, a), of(2, event.Release, a), of(3, event.Acquire, a), release, of(3, event.End, 0),
		}, more...)
	}
	tests := []struct {
		name string
		run  []event.Event
		want []string
	}{
		{"a join while holding", []event.Event{
			fork(1, 2), of(2, event.Acquire, a), of(2, event.Release, a), of(2, event.End, 0), of(1, event.Acquire, a), join(1, 2), of(1, event.Release, a),
		}, predicted},
		{"a join while holding what the joined thread never takes", []event.Event{
			fork(1, 2), of(2, event.Acquire, b), of(2, event.Release, b), of(2, event.End, 0), of(1, event.Acquire, a), join(1, 2), of(1, event.Release, a),
		}, nil},
		{"a join after a post of the joined thread", []event.Event{
			initial(s, event.KindSemaphore, 0), fork(1, 2), of(2, event.Acquire, a), of(2, event.Release, a), of(2, event.SemPost, s), of(2, event.End, 0),
			of(1, event.SemWait, s), of(1, event.Acquire, a), join(1, 2), of(1, event.Release, a),
		}, nil},
		{"a join while a third thread holds", []event.Event{
			fork(1, 2), fork(1, 3), of(2, event.Acquire, b), of(2, event.Release, b), of(2, event.End, 0),
			of(3, event.Acquire, b), of(3, event.Acquire, a), of(3, event.Release, a), of(3, event.Release, b),
			of(1, event.Acquire, a), join(1, 2), of(1, event.Release, a), join(1, 3),
		}, predicted},
		{"a nested monitor", monitor(event.Acquire), likely},
		{"a nested monitor of readers", monitor(event.AcquireRead), nil},
		{"semaphores in opposite orders", opposite(1), likely},
		{"semaphores of two permits in opposite orders", opposite(2), nil},
		{"a barrier while holding", []event.Event{
			initial(barrier, event.KindBarrier, 2), fork(1, 2), fork(1, 3), of(2, event.Acquire, a), of(2, event.Release, a), of(2, event.BarrierArrive, barrier),
			of(3, event.Acquire, a), of(3, event.BarrierArrive, barrier), of(3, event.BarrierDepart, barrier), of(3, event.Release, a), of(2, event.BarrierDepart, barrier),
		}, likely},
		{"a barrier while holding what others take behind it", []event.Event{
			initial(barrier, event.KindBarrier, 2), fork(1, 2), fork(1, 3), of(2, event.BarrierArrive, barrier),
			of(3, event.Acquire, a), of(3, event.BarrierArrive, barrier), of(3, event.BarrierDepart, barrier), of(3, event.Release, a), of(2, event.BarrierDepart, barrier),
			of(2, event.Acquire, a), of(2, event.Release, a),
		}, nil},
		{"a signal that needs no mutex", signalled(), likely},
		{"a signal after a section of the mutex", signalled(of(2, event.Acquire, a), of(2, event.Release, a)), nil},
		{"a look outside the mutex", counted(), likely},
		{"a look under the mutex", counted(event.Event{Thread: 1, Op: event.Read, Object: b, Flags: event.Atomic}), nil},
		{"a reader behind a writer", again(event.PreferWriterNonrecursive), predicted},
		{"a reader beside a writer", again(event.PreferWriter), nil},
		{"an initialiser that needs what is held", initialised(a, a), predicted},
		{"an initialiser that needs a lock under the one that is held", initialised(a, b), nil},
		{"an initialiser under the lock that is held", slices.Concat([]event.Event{of(2, event.Acquire, s)}, initialised(a, b)[:4], []event.Event{of(2, event.Release, s)}, initialised(s, b)[4:]), nil},
		{"a lock left held", left(), []string{"likely deadlock", "observed misuse"}},
		{"a lock left held and acquired again", left(of(1, event.Acquire, a), of(1, event.Release, a)), []string{"observed misuse"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := slices.Clone(tt.run)
			for i := range run {
				run[i].Seq, run[i].Stack = uint64(i+1), event.StackID(i+1)
			}
			eventtest.Stamp(run)
			analyses := engine.New(engine.Options{})
			for i := range run {
				analyses.Event(&run[i])
			}
			found := finish(analyses, verdict.Run{}, part.Known{})
			if diff := cmp.Diff(tt.want, brief(found)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, f := range found {
				if f.Kind != finding.Deadlock {
					continue
				}
				want := reason.PerhapsPrevented
				if f.Confidence == finding.Predicted {
					want = ""
					if !slices.Contains(f.Assumes, finding.GuardedData) {
						t.Errorf("it assumes %q", f.Assumes)
					}
				}
				if len(f.Witness) == 0 || len(f.Lost) == 0 && f.Reason.What != want {
					t.Errorf("%d steps of a schedule, reason %+v", len(f.Witness), f.Reason)
				}
			}
			if w := analyses.Witnesses(); w.Refused > 0 {
				t.Errorf("the checker refused %d schedules", w.Refused)
			}
		})
	}
}

// TestReadAgain checks that the schedule of a reader behind a writer goes to the cycle of locks that is
// found without one, and that there is neither if readers are not to wait behind writers.
func TestReadAgain(t *testing.T) {
	const lock event.ObjectID = 1
	run := []event.Event{
		{Thread: 1, Op: event.Acquire, Flags: event.HasValue, Value: event.PreferWriterNonrecursive}, {Thread: 1, Op: event.Release},
		{Thread: 2, Op: event.AcquireRead}, {Thread: 2, Op: event.AcquireAgain}, {Thread: 2, Op: event.Release},
	}
	for i := range run {
		run[i].Seq, run[i].Stack, run[i].Object, run[i].Kind = uint64(i+1), event.StackID(i+1), lock, event.KindRWLock
	}
	eventtest.Stamp(run)
	for policy, want := range map[goodlock.Policy][]string{goodlock.ByLockKind: {"predicted deadlock"}, goodlock.ReaderPreferring: nil} {
		analyses := engine.New(engine.Options{Locks: goodlock.Options{Policy: policy}})
		for i := range run {
			e := run[i]
			analyses.Event(&e)
		}
		found := finish(analyses, verdict.Run{}, part.Known{})
		if diff := cmp.Diff(want, brief(found)); diff != "" {
			t.Errorf("policy %d: (-want +got):\n%s", policy, diff)
		}
		for _, f := range found {
			if n := len(f.Witness); n < 2 || f.Witness[n-1].Object != lock || !f.Witness[n-2].Blocked || f.Reason.Given() {
				t.Errorf("%+v", f)
			}
		}
	}
}
