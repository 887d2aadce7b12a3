package report

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Threads are counted by the category of what they do, in the order of threads.
func TestStanding(t *testing.T) {
	at := func(op event.Op, object bool) ThreadState {
		d := ThreadState{Step: Step{Step: finding.Step{Op: op}}}
		if object {
			d.Step.Object = &Object{Object: run.Object{Name: "x"}}
		}
		return d
	}
	in := ThreadState{Call: "epoll_wait(2)"}
	for _, c := range []struct {
		all  []ThreadState
		want string
	}{
		{[]ThreadState{in}, "no thread waits for a lock; 1 thread: 1 in epoll_wait(2)"},
		{[]ThreadState{in, at(event.Wait, true), at(event.Wait, true), at(event.Wait, false)}, "no thread waits for a lock; 4 threads: 1 in epoll_wait(2), 2 wait on conditions, 1 waits to be woken"},
		{[]ThreadState{at(event.Join, false), at(event.Acquire, true), at(event.AcquireRead, true), {}}, "4 threads: 1 waits for a thread to end, 2 wait for locks, 1 runs"},
		{[]ThreadState{{Stopped: true}, {Stopped: true}, at(event.SemWait, true), at(event.BarrierArrive, true)}, "no thread waits for a lock; 4 threads: 2 are stopped, 1 waits for a semaphore, 1 waits at a barrier"},
	} {
		if got := StateCounts(c.all); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestBlocks: who holds what others wait for says so, of each lock by itself.
func TestBlocks(t *testing.T) {
	waits := func(id event.ThreadID, op event.Op, object string, by ...event.ThreadID) ThreadState {
		d := ThreadState{Thread: Thread{ID: id}, Step: Step{Step: finding.Step{Op: op}}, By: by}
		d.Step.Object = &Object{Object: run.Object{Name: object}}
		return d
	}
	r := Report{ThreadStates: []ThreadState{
		{Thread: Thread{ID: 1}}, {Thread: Thread{ID: 2}, Call: "read(2)"}, {Thread: Thread{ID: 3}, Stopped: true},
		waits(4, event.Acquire, "m", 1), waits(5, event.AcquireRead, "m", 1), waits(6, event.Acquire, "n", 1), waits(7, event.Acquire, "k", 2, 3),
		waits(8, event.Join, "", 3), {Thread: Thread{ID: 9}},
	}}
	r.addBlocks()
	for i, want := range map[int]string{
		0: "runs, while T4 and T5 wait for 'm', T6 waits for 'n', which it holds", 1: "is in read(2), while T7 waits for 'k', which it holds",
		2: "is stopped, while T7 waits for 'k', which it holds", 3: "waits for 'm', which T1 holds", 8: "runs",
	} {
		if got := r.ThreadStates[i].Phrase(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
