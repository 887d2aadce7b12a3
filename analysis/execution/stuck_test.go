package execution_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestStuckEnds checks witnesses that end with threads which wait for ever, at joins, semaphores,
// conditions and barriers.
func TestStuckEnds(t *testing.T) {
	permits := func(n uint64) event.Event {
		return valued(1, event.Init, semaphore, event.KindSemaphore, n)
	}
	two := valued(1, event.Init, barrier, event.KindBarrier, 2)
	readerFirst := func(kind uint64) event.Event { return valued(2, event.AcquireRead, lock, event.KindRWLock, kind) }
	tests := []struct {
		name  string
		run   []event.Event
		order []int // the numbers of the events that are executed, from 1
		waits []int // the numbers of the events at which threads wait
		ok    bool
	}{
		{"a join while holding", []event.Event{
			of(2, event.Acquire, lock), of(2, event.Release, lock), of(2, event.End, 0),
			of(1, event.Acquire, lock), peer(1, event.Join, 2), of(1, event.Release, lock),
		}, []int{4}, []int{1, 5}, true},
		{"a join of a thread that goes on", []event.Event{
			of(2, event.Acquire, lock), of(2, event.Release, lock), of(2, event.End, 0),
			of(1, event.Acquire, other), peer(1, event.Join, 2), of(1, event.Release, other),
		}, []int{4}, []int{5}, false},
		{"a join while another thread holds", []event.Event{
			of(2, event.Acquire, lock), of(2, event.Release, lock), of(2, event.End, 0),
			of(3, event.Acquire, lock), of(3, event.Release, lock), peer(1, event.Join, 2),
		}, []int{4}, []int{1, 6}, false},
		{"a lock that is released by a third thread", []event.Event{
			of(2, event.Acquire, lock), of(2, event.Release, lock), of(2, event.End, 0),
			of(1, event.Acquire, lock), peer(1, event.Join, 2), of(3, event.Release, lock),
		}, []int{4}, []int{1, 5}, false},
		{"a lock left held", []event.Event{
			of(1, event.Acquire, lock), of(1, event.Release, lock), of(2, event.Acquire, lock), of(2, event.End, 0),
		}, []int{3, 4}, []int{1}, true},
		{"a lock left held, with an inferred release", []event.Event{
			of(1, event.Acquire, lock), of(1, event.Release, lock), of(2, event.Acquire, lock), flagged(of(2, event.Release, lock), event.Inferred), of(2, event.End, 0),
		}, []int{3}, []int{1}, true},
		{"a lock left held, but acquired later", []event.Event{
			of(1, event.Acquire, lock), of(1, event.Release, lock), of(2, event.Acquire, lock), flagged(of(2, event.Release, lock), event.Inferred), of(2, event.End, 0),
			of(3, event.Acquire, lock),
		}, []int{3}, []int{1}, false},
		{"a lock left held at the end of the process", []event.Event{
			of(1, event.Acquire, lock), of(1, event.Release, lock), of(2, event.Acquire, lock), flagged(of(2, event.Release, lock), event.Inferred),
			flagged(of(2, event.End, 0), event.WithProcess),
		}, []int{3}, []int{1}, false},
		{"a mutex with attributes left held", []event.Event{
			valued(1, event.Init, lock, event.KindMutex, 1), of(1, event.Acquire, lock), of(1, event.Release, lock), of(2, event.Acquire, lock),
			flagged(of(2, event.Release, lock), event.Inferred), of(2, event.End, 0),
		}, []int{1, 4}, []int{2}, false},
		{"an inferred release before other events", []event.Event{
			of(1, event.Acquire, lock), of(1, event.Release, lock), of(2, event.Acquire, lock), flagged(of(2, event.Release, lock), event.Inferred),
			of(2, event.Signal, condition), of(2, event.End, 0),
		}, []int{3}, []int{1}, false},
		{"a lock held by a thread that goes on", []event.Event{
			of(1, event.Acquire, lock), of(1, event.Release, lock), of(2, event.Acquire, lock), of(2, event.End, 0),
		}, []int{3}, []int{1}, false},
		{"a post behind the lock", []event.Event{
			permits(0), of(2, event.Acquire, lock), of(2, event.SemPost, semaphore), of(2, event.Release, lock),
			of(1, event.Acquire, lock), of(1, event.SemWait, semaphore), of(1, event.Release, lock),
		}, []int{1, 5}, []int{2, 6}, true},
		{"a post by a third thread", []event.Event{
			permits(0), of(2, event.Acquire, lock), of(2, event.SemPost, semaphore), of(2, event.Release, lock),
			of(1, event.Acquire, lock), of(1, event.SemWait, semaphore), of(1, event.Release, lock), of(3, event.SemPost, semaphore),
		}, []int{1, 5}, []int{2, 6}, false},
		{"a permit is left", []event.Event{
			permits(1), of(2, event.Acquire, lock), of(2, event.SemPost, semaphore), of(2, event.Release, lock),
			of(1, event.Acquire, lock), of(1, event.SemWait, semaphore), of(1, event.Release, lock),
		}, []int{1, 5}, []int{2, 6}, false},
		{"an initial value that was not recorded", []event.Event{
			of(2, event.Acquire, lock), of(2, event.SemPost, semaphore), of(2, event.Release, lock),
			of(1, event.Acquire, lock), of(1, event.SemWait, semaphore), of(1, event.Release, lock),
		}, []int{4}, []int{1, 5}, false},
		{"a signal behind the lock", []event.Event{
			of(2, event.Acquire, lock), of(2, event.Release, lock), of(1, event.Acquire, lock), of(1, event.Wait, condition),
			of(2, event.Signal, condition), of(1, event.Wake, condition), of(1, event.Release, lock),
		}, []int{3, 4}, []int{1, 6}, true},
		{"a signal before the wait", []event.Event{
			of(1, event.Wait, condition), of(2, event.Signal, condition), of(1, event.Wake, condition),
		}, []int{2, 1}, []int{3}, true},
		{"a signal during the wait", []event.Event{
			of(1, event.Wait, condition), of(2, event.Signal, condition), of(1, event.Wake, condition),
		}, []int{1, 2}, []int{3}, false},
		{"a signal that ended another wait", []event.Event{
			of(1, event.Wait, condition), of(3, event.Wait, condition), of(2, event.Signal, condition), of(2, event.Signal, condition),
			of(1, event.Wake, condition), of(3, event.Wake, condition),
		}, []int{3, 1, 2, 4, 6}, []int{5}, true},
		{"a signal that may end another wait", []event.Event{
			of(1, event.Wait, condition), of(3, event.Wait, condition), of(2, event.Signal, condition), of(2, event.Signal, condition),
			of(1, event.Wake, condition), of(3, event.Wake, condition),
		}, []int{3, 1, 2, 4}, []int{5}, false},
		{"a broadcast by a third thread", []event.Event{
			of(2, event.Acquire, lock), of(2, event.Release, lock), of(1, event.Acquire, lock), of(1, event.Wait, condition),
			of(2, event.Signal, condition), of(1, event.Wake, condition), of(1, event.Release, lock), of(3, event.Broadcast, condition),
		}, []int{3, 4}, []int{1, 6}, false},
		{"a reader behind a writer", []event.Event{
			readerFirst(event.PreferWriterNonrecursive), of(2, event.AcquireAgain, lock), of(2, event.Release, lock), of(1, event.Acquire, lock), of(1, event.Release, lock),
		}, []int{1}, []int{2, 4}, true},
		{"a reader beside a writer", []event.Event{
			readerFirst(event.PreferWriter), of(2, event.AcquireAgain, lock), of(2, event.Release, lock), of(1, event.Acquire, lock), of(1, event.Release, lock),
		}, []int{1}, []int{2, 4}, false},
		{"a reader behind a writer of another lock", []event.Event{
			readerFirst(event.PreferWriterNonrecursive), of(2, event.AcquireAgain, lock), of(2, event.Release, lock), of(1, event.Acquire, other), of(1, event.Release, other),
		}, []int{1}, []int{2, 4}, false},
		{"a reader that tries, behind a writer", []event.Event{
			readerFirst(event.PreferWriterNonrecursive), flagged(of(2, event.AcquireAgain, lock), event.Try), of(2, event.Release, lock),
			of(1, event.Acquire, lock), of(1, event.Release, lock),
		}, []int{1}, []int{2, 4}, false},
		{"an initialiser that needs what is held", []event.Event{
			of(2, event.OnceEnter, once), of(2, event.Acquire, lock), of(2, event.Release, lock), of(2, event.OnceDone, once),
			of(1, event.Acquire, lock), of(1, event.OnceEnter, once), of(1, event.OnceLeave, once), of(1, event.Release, lock),
		}, []int{1, 5, 6}, []int{2, 7}, true},
		{"an initialiser that was not entered", []event.Event{
			of(2, event.Acquire, lock), of(2, event.Release, lock), of(2, event.OnceEnter, once), of(2, event.OnceDone, once),
			of(1, event.Acquire, lock), of(1, event.OnceEnter, once), of(1, event.OnceLeave, once), of(1, event.Release, lock),
		}, []int{5, 6}, []int{1, 7}, false},
		{"another thread enters the initialiser first", []event.Event{
			of(2, event.OnceEnter, once), of(2, event.Acquire, lock), of(2, event.Release, lock), of(2, event.OnceDone, once),
			of(1, event.Acquire, lock), of(1, event.OnceEnter, once), of(1, event.OnceLeave, once), of(1, event.Release, lock),
		}, []int{5, 6, 1}, []int{2, 7}, false},
		{"an initialiser that goes on", []event.Event{
			of(2, event.OnceEnter, once), of(2, event.Acquire, other), of(2, event.Release, other), of(2, event.OnceDone, once),
			of(1, event.Acquire, lock), of(1, event.OnceEnter, once), of(1, event.OnceLeave, once), of(1, event.Release, lock),
		}, []int{1, 5, 6}, []int{7}, false},
		{"an initialisation that is done", []event.Event{
			of(2, event.OnceEnter, once), of(2, event.OnceDone, once), of(2, event.Acquire, lock), of(2, event.Release, lock),
			of(1, event.Acquire, lock), of(1, event.OnceEnter, once), of(1, event.OnceLeave, once), of(1, event.Release, lock),
		}, []int{1, 2, 5, 6}, []int{3, 7}, false},
		{"an initialisation that two threads complete", []event.Event{
			of(2, event.OnceEnter, once), of(2, event.Acquire, lock), of(2, event.Release, lock), of(2, event.OnceDone, once),
			of(1, event.Acquire, lock), of(1, event.OnceEnter, once), of(1, event.OnceLeave, once), of(1, event.Release, lock), of(3, event.OnceDone, once),
		}, []int{1, 5, 6}, []int{2, 7}, false},
		{"a wait that timed out", []event.Event{
			of(1, event.Wait, condition), flagged(of(1, event.Wake, condition), event.TimedOut),
		}, []int{1}, []int{2}, false},
		{"a barrier while holding", []event.Event{
			two, of(2, event.Acquire, lock), of(2, event.Release, lock), of(2, event.BarrierArrive, barrier),
			of(1, event.Acquire, lock), of(1, event.BarrierArrive, barrier), of(1, event.BarrierDepart, barrier), of(2, event.BarrierDepart, barrier),
		}, []int{1, 5, 6}, []int{2, 7}, true},
		{"a barrier where all have arrived", []event.Event{
			two, of(2, event.BarrierArrive, barrier), of(1, event.BarrierArrive, barrier), of(1, event.BarrierDepart, barrier), of(2, event.BarrierDepart, barrier),
		}, []int{1, 2, 3}, []int{4, 5}, false},
		{"a barrier where one is to come", []event.Event{
			two, of(2, event.BarrierArrive, barrier), of(1, event.BarrierArrive, barrier), of(1, event.BarrierDepart, barrier), of(2, event.BarrierDepart, barrier),
		}, []int{1, 3}, []int{4}, false},
		{"a post is no wait", []event.Event{permits(0), of(1, event.SemPost, semaphore)}, []int{1}, []int{2}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i := range tt.run {
				tt.run[i].Seq = uint64(i + 1)
			}
			var all []finding.Step
			for _, n := range tt.order {
				all = append(all, step(&tt.run[n-1]))
			}
			for _, n := range tt.waits {
				all = append(all, waiting(&tt.run[n-1]))
			}
			err := execution.Observe(tt.run).Check(all, finding.Deadlock)
			var refusal *execution.Refusal
			if (err == nil) != tt.ok || err != nil && (!errors.As(err, &refusal) || refusal.Step != len(all)) {
				t.Error(err)
			}
		})
	}
}

// waiting returns the step of a thread that waits and whose next event is e.
func waiting(e *event.Event) finding.Step {
	s := step(e)
	s.Seq, s.Blocked = 0, true
	switch s.Op {
	case event.Wake:
		s.Op = event.Wait
	case event.BarrierDepart:
		s.Op = event.BarrierArrive
	case event.OnceLeave:
		s.Op = event.OnceEnter
	}
	return s
}

// TestStuckNeverGoesOn compares, after random beginnings of short runs, the checker with the plain
// model: no thread that the checker accepts as stuck goes on in any schedule of the events that are
// left.
func TestStuckNeverGoesOn(t *testing.T) {
	runs := testtool.Cases(1500, 1500, 3000)
	accepted := map[event.Op]int{}
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 9))
		var run plain = meetingRun(r)
		w := walk{t: t, run: run, judge: execution.Observe(run)}
		before := w.prefix(r, r.IntN(len(run)))
		for set, heads := 1, w.heads(before); set < 1<<len(heads); set++ {
			var waits []int
			all := steps(run, before)
			for k, i := range heads {
				if set&(1<<k) != 0 {
					waits = append(waits, i)
					all = append(all, waiting(&run[i]))
				}
			}
			if locksOnly(run, waits) && len(waits) > 1 || w.judge.Check(all, finding.Deadlock) != nil {
				continue
			}
			for _, i := range waits {
				accepted[run[i].Op]++
			}
			if i := w.goesOn(before, waits, map[string]bool{}); i >= 0 {
				t.Fatalf("seed %d: after %v, %v are accepted as stuck, but %d can happen\n%s", seed, before, waits, i, text(run))
			}
		}
	}
	t.Log(accepted)
	for _, op := range []event.Op{event.Acquire, event.Join, event.SemWait, event.Wake, event.BarrierDepart} {
		if accepted[op] == 0 {
			t.Errorf("no %s was accepted: the test shows nothing of it", op)
		}
	}
}

// locksOnly reports whether all events are acquires.
func locksOnly(run []event.Event, events []int) bool {
	return !slices.ContainsFunc(events, func(i int) bool { return !run[i].Op.IsAcquire() })
}

// goesOn returns one of the events that can happen in some schedule after before, or -1. What it
// has seen are sets of events that were executed, in the order of the run.
func (w *walk) goesOn(before, events []int, seen map[string]bool) int {
	done := make([]byte, len(w.run))
	for _, i := range before {
		done[i] = 1
	}
	if seen[string(done)] {
		return -1
	}
	seen[string(done)] = true
	for _, i := range w.heads(before) {
		if !w.run.may(before, i) {
			continue
		}
		if slices.Contains(events, i) {
			return i
		}
		if found := w.goesOn(append(slices.Clip(before), i), events, seen); found >= 0 {
			return found
		}
	}
	return -1
}

// meetingRun returns a run that ended, of three short random programs that use two locks, a
// semaphore, a condition and a barrier. The first thread creates and joins the others.
func meetingRun(r *rand.Rand) []event.Event {
	for {
		if run := played(r, [3][]event.Event{meetingProgram(r, 1), meetingProgram(r, 2), meetingProgram(r, 3)}); run != nil {
			return run
		}
	}
}

// meetingProgram returns the events of a thread.
func meetingProgram(r *rand.Rand, t event.ThreadID) []event.Event {
	var out []event.Event
	var held []event.ObjectID
	if t == 1 {
		out = append(out, valued(1, event.Init, semaphore, event.KindSemaphore, r.Uint64N(3)), valued(1, event.Init, barrier, event.KindBarrier, 2),
			peer(1, event.Fork, 2), peer(1, event.Fork, 3))
	}
	for range 1 + r.IntN(3) {
		switch k := r.IntN(8); {
		case k < 3:
			o := []event.ObjectID{lock, other}[r.IntN(2)]
			if slices.Contains(held, o) {
				continue
			}
			held = append(held, o)
			out = append(out, of(t, event.Acquire, o))
		case k == 3 && len(held) > 0:
			out = append(out, of(t, event.Release, held[len(held)-1]))
			held = held[:len(held)-1]
		case k == 4:
			out = append(out, of(t, event.SemWait, semaphore))
		case k == 5:
			out = append(out, of(t, event.SemPost, semaphore))
		case k == 6:
			out = append(out, of(t, event.BarrierArrive, barrier), of(t, event.BarrierDepart, barrier))
		case r.IntN(2) == 0:
			out = append(out, of(t, event.Wait, condition), of(t, event.Wake, condition))
		default:
			out = append(out, of(t, []event.Op{event.Signal, event.Broadcast}[r.IntN(2)], condition))
		}
	}
	if t == 1 {
		out = append(out, peer(1, event.Join, 2), peer(1, event.Join, 3))
	}
	if r.IntN(4) > 0 || t == 1 { // else the thread leaves its locks held
		for _, o := range held {
			out = append(out, of(t, event.Release, o))
		}
	}
	return append(out, of(t, event.End, 0))
}

// played executes the programs in a random order; nil if they do not come to their ends.
func played(r *rand.Rand, programs [3][]event.Event) []event.Event {
	var run plain
	left := [3]int{len(programs[0]), len(programs[1]), len(programs[2])}
	for range 400 {
		k := r.IntN(3)
		if left[k] == 0 || k > 0 && !slices.ContainsFunc(run, func(e event.Event) bool { return e.Op == event.Fork && int(e.Peer) == k+1 }) {
			continue
		}
		e := programs[k][len(programs[k])-left[k]]
		if !mayPlay(run, &e) {
			continue
		}
		e.Seq = uint64(len(run) + 1)
		run = append(run, e)
		if left[k]--; left == [3]int{} {
			return run
		}
	}
	return nil
}

// mayPlay reports whether e can be the next event of a run.
func mayPlay(run plain, e *event.Event) bool {
	all := first(len(run))
	n := len(run)
	switch e.Op {
	case event.Acquire:
		return len(run.open(all, e.Object)) == 0
	case event.SemWait:
		return run.value(all, e.Object) > 0
	case event.Join:
		return slices.ContainsFunc(run, func(o event.Event) bool { return o.Thread == e.Peer && o.Op == event.End })
	case event.Wake:
		next := append(slices.Clip(run), *e)
		return next.notification(n) >= 0
	case event.BarrierArrive, event.BarrierDepart:
		arrived, departed := 0, 0
		for i := range run {
			if run[i].Op == event.BarrierArrive {
				arrived++
			} else if run[i].Op == event.BarrierDepart {
				departed++
			}
		}
		if e.Op == event.BarrierArrive {
			return arrived-departed < 2 && departed%2 == 0
		}
		return arrived-departed == 2 || departed%2 == 1
	}
	return true
}
