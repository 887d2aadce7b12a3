package report

import (
	"strings"
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

// Threads that do the same at the same source location form one group; groups that wait for a
// lock come first, with its holder. The threads of a group may wait on different conditions,
// but not for different locks.
func TestDoingIsGrouped(t *testing.T) {
	worker := func(id event.ThreadID, s Step) ThreadState {
		s.Stack = Stack{Frames: []event.Frame{{Function: "take", File: "queue.c", Line: 41}}}
		return ThreadState{Thread: Thread{ID: id, Thread: run.Thread{Start: "worker"}}, Step: s}
	}
	own := func(addr uint64) *Object {
		return &Object{Object: run.Object{Name: "0x1", Kind: event.KindCond, Addr: addr}, Anonymous: true}
	}
	lock := func(name string, addr uint64) *Object {
		return &Object{Object: run.Object{Name: name, Kind: event.KindMutex, Addr: addr}}
	}
	r := Report{Run: Run{Summary: run.Summary{Program: "/bin/server", PID: 7}}, ThreadStates: []ThreadState{
		{Thread: Thread{ID: 1, Thread: run.Thread{Main: true}}, Call: "read(2)"},
		worker(2, Step{Step: finding.Step{Op: event.Wait}, Object: own(8)}), worker(3, Step{Step: finding.Step{Op: event.Wait}, Object: own(16)}),
		worker(4, Step{Step: finding.Step{Op: event.Acquire}, Object: lock("m", 24)}), worker(5, Step{Step: finding.Step{Op: event.Acquire, Flags: event.Timed}, Object: lock("n", 32)}),
		worker(6, Step{Step: finding.Step{Op: event.Acquire, Readers: 2}, Object: lock("table", 40)}), {Thread: Thread{ID: 7, Thread: run.Thread{Name: "idle"}}},
	}}
	r.ThreadStates[3].By, r.ThreadStates[4].Ended = []event.ThreadID{1}, true
	r.Run.Called = "redis-server, server"
	r.ThreadStates[1].Thread.TID, r.ThreadStates[2].Thread.TID, r.ThreadStates[3].Thread.TID = 4152, 4153, 4154
	var out strings.Builder
	if err := WriteText(&out, r, TextOptions{Width: 200}); err != nil {
		t.Fatal(err)
	}
	const want = `tracepredict: no hang in redis-server, server (pid 7): 7 threads: 1 in read(2), 2 wait on conditions, 3 wait for locks, 1 runs

   T4 worker, tid 4154: waits for 'm', which T1 holds
     #0 take queue.c:41

   T5 worker: waits for 'n', and the thread that held it has ended, for a limited time
     #0 take queue.c:41

   T6 worker: waits for 'table', which 2 readers hold (which threads, memory does not keep)
     #0 take queue.c:41

   T1 main thread: is in read(2)

   T2 and T3 (worker), tids 4152 4153: each waits on the condition 0x1
     #0 take queue.c:41

   T7 idle: runs
`
	if got := out.String(); got != want {
		t.Errorf("%s", got)
	}
}
