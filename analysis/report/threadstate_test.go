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
