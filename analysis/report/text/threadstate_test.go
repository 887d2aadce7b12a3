package textreport

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Threads that do the same at the same source location form one group; groups that wait for a
// lock come first, with its holder. The threads of a group may wait on different conditions,
// but not for different locks.
func TestDoingIsGrouped(t *testing.T) {
	worker := func(id event.ThreadID, s report.Step) report.ThreadState {
		s.Stack = report.Stack{Frames: []event.Frame{{Function: "take", File: "queue.c", Line: 41}}}
		return report.ThreadState{Thread: report.Thread{ID: id, Thread: run.Thread{Start: "worker"}}, Step: s}
	}
	own := func(addr uint64) *report.Object {
		return &report.Object{Object: run.Object{Name: "0x1", Kind: event.KindCond, Addr: addr}, Anonymous: true}
	}
	lock := func(name string, addr uint64) *report.Object {
		return &report.Object{Object: run.Object{Name: name, Kind: event.KindMutex, Addr: addr}}
	}
	r := report.Report{Run: report.Run{Summary: run.Summary{Program: "/bin/server", PID: 7}}, ThreadStates: []report.ThreadState{
		{Thread: report.Thread{ID: 1, Thread: run.Thread{Main: true}}, Call: "read(2)"},
		worker(2, report.Step{Step: finding.Step{Op: event.Wait}, Object: own(8)}), worker(3, report.Step{Step: finding.Step{Op: event.Wait}, Object: own(16)}),
		worker(4, report.Step{Step: finding.Step{Op: event.Acquire}, Object: lock("m", 24)}), worker(5, report.Step{Step: finding.Step{Op: event.Acquire, Flags: event.Timed}, Object: lock("n", 32)}),
		worker(6, report.Step{Step: finding.Step{Op: event.Acquire, Readers: 2}, Object: lock("table", 40)}), {Thread: report.Thread{ID: 7, Thread: run.Thread{Name: "idle"}}},
	}}
	r.ThreadStates[3].By, r.ThreadStates[4].Ended = []event.ThreadID{1}, true
	r.Run.Called = "redis-server, server"
	r.ThreadStates[1].Thread.TID, r.ThreadStates[2].Thread.TID, r.ThreadStates[3].Thread.TID = 4152, 4153, 4154
	var out strings.Builder
	if err := Write(&out, r, report.Options{Width: 200}); err != nil {
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
