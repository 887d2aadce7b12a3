package report_test

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestThreadsOfAllInstances checks the threads of an analysis that merges instances itself.
func TestThreadsOfAllInstances(t *testing.T) {
	f := finding.Finding{Kind: finding.Deadlock, Count: 6, Evidence: []finding.Step{{Seq: 1, Thread: 2}, {Seq: 2, Thread: 3}}, AllThreads: []event.ThreadID{2, 3, 4, 5}}
	if got := report.Build(report.Run{}, []finding.Finding{f}, nil).Findings[0]; got.ThreadCount != 4 || got.Count != 6 {
		t.Errorf("seen %d times by %d threads, not 6 by 4", got.Count, got.ThreadCount)
	}
}

// TestProcessIsCalledAsItWasStarted checks the name of the first process, whose file has another name
// than the link by which it was started, and that of one that has executed another program.
func TestProcessIsCalledAsItWasStarted(t *testing.T) {
	for _, c := range []struct{ last, want string }{
		{"", "mpirun (pid 7)"}, {"/bin/env", "env (pid 7)"},
	} {
		program := "/usr/bin/orterun"
		if c.last != "" {
			program = c.last
		}
		r := report.Run{Summary: run.Summary{Program: "/usr/bin/mpirun", LastProgram: c.last, PID: 7, Processes: []run.Process{{PID: 7, Program: program}, {PID: 8, Program: "/bin/true"}}}}
		tab := reporttest.ShopTable()
		for id, of := range tab.Threads {
			of.TGID = 7
			tab.Threads[id] = of
		}
		f := report.Build(r, []finding.Finding{reporttest.Race()}, tab).Findings[0]
		if got := f.Mentioned[0].Process; got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
