package report_test

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestProcesses: a deadlock of several processes is one finding, which names them. A finding of one names that one.
func TestProcesses(t *testing.T) {
	for tests, want := range map[int]string{
		1:  "seen in 1 process: ./desk_test --gtest_filter=Desk.Test0 (pid 101)",
		2:  "seen in 2 processes: ./desk_test --gtest_filter=Desk.Test0 (pid 101); ./till_test --gtest_filter=Desk.Test0 (pid 102)",
		50: "seen in 50 processes: ./desk_test --gtest_filter=Desk.Test0 (pid 101); ./till_test --gtest_filter=Desk.Test0 (pid 102); ./desk_test --gtest_filter=Desk.Test1 (pid 103); ./till_test --gtest_filter=Desk.Test1 (pid 104); and 46 more processes",
	} {
		r := reporttest.Suite(tests)
		if len(r.Findings) != 3 || r.Findings[0].Kind != finding.Deadlock {
			t.Fatalf("%d tests: %d findings, not a deadlock and two races", tests, len(r.Findings))
		}
		f := &r.Findings[0]
		if got := report.ProcessesText(f, 80); got != want || f.Count != tests || len(f.Processes) != min(tests, 16) {
			t.Errorf("%d tests: %d times, %d processes, %s\nwant %s", tests, f.Count, len(f.Processes), got, want)
		}
		if in := report.ProgramsText(f); tests > 1 && in != "in desk_test and till_test" {
			t.Errorf("%d tests: %q", tests, in)
		}
	}
}

// TestProcessesOfOneCommand: processes of one command line are named together.
func TestProcessesOfOneCommand(t *testing.T) {
	f := &report.Finding{ProcessCount: 7}
	for pid := range 6 {
		f.Processes = append(f.Processes, run.Process{PID: 10 + pid, Program: "/bin/a", Command: map[bool]string{true: "a b", false: ""}[pid > 0]})
	}
	const want = "seen in 7 processes: a (pid 10); a b (pids 11, 12, 13 and 2 more); and 1 more process"
	if got := report.ProcessesText(f, 80); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCausesOfPrograms: variables of the same name in two programs are two causes, and those of two processes of one
// program are one.
func TestCausesOfPrograms(t *testing.T) {
	if r := reporttest.Suite(2); len(r.Causes()) != 3 {
		t.Errorf("%d causes of a deadlock and of races in two programs", len(r.Causes()))
	}
	r := reporttest.Suite(2)
	for i := range r.Findings {
		for j := range r.Findings[i].Processes {
			r.Findings[i].Processes[j].Program = "/opt/shop/all_tests"
		}
	}
	if len(r.Causes()) != 2 {
		t.Errorf("%d causes of a deadlock and of races in one program", len(r.Causes()))
	}
}

func TestProcessesObserved(t *testing.T) {
	for _, c := range []struct {
		programs []string
		want     string
	}{
		{[]string{"/bin/a"}, ""},
		{[]string{"/bin/a", "/b/a"}, "2 processes were observed: 2 of a"},
		{[]string{"/bin/ctest", "/x/b", "/x/a", "/x/a"}, "4 processes were observed: 2 of a, 1 each of b and ctest"},
		{[]string{"/bin/ctest", "/x/a", "/x/a"}, "3 processes were observed: 2 of a, 1 of ctest"},
		{[]string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}, "9 processes were observed: 1 each of a, b, c, d, e, f, g and h, and 1 of another program"},
	} {
		var r report.Run
		for i, p := range c.programs {
			r.Processes = append(r.Processes, run.Process{PID: i, Program: p})
		}
		if got := r.ProcessesObserved(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestScheduleOfOneProcess: a schedule leaves out which threads of other processes begin, but not which of its own.
func TestScheduleOfOneProcess(t *testing.T) {
	r := reporttest.Suite(2)
	f := &r.Findings[0]
	before := len(r.Names().Schedules(f, 60)[0].Rows)
	for i := range f.Mentioned { // the main thread is of another process
		if f.Mentioned[i].Main {
			f.Mentioned[i].TGID = 100
		}
	}
	if got := len(r.Names().Schedules(f, 60)[0].Rows); got != before {
		t.Errorf("%d rows, not %d: the threads of the deadlock are begun by another process", got, before)
	}
	foreign := f.Witness[0]
	foreign.Peer = foreign.Thread
	f.Witness = append([]report.Step{foreign}, f.Witness...)
	rows := r.Names().Schedules(f, 60)[0].Rows
	if len(rows) != before+1 || rows[0].Text != "... 1 other step" {
		t.Errorf("%d rows, the first %+v", len(rows), rows[0])
	}
}
