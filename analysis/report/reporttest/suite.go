package reporttest

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Suite returns the report of a test runner whose tests, so many processes, all have the same deadlock; every second one is
// of another program. Another process has a race on a variable, and yet another one of another program on one of the same
// name.
func Suite(tests int) report.Report {
	table, r := ShopTable(), ShopRun()
	r.Program, r.PID = "/usr/bin/ctest", 100
	r.Processes = []run.Process{{PID: 100, Program: r.Program, Command: "ctest --test-dir build"}}
	var found []finding.Finding
	id := uint64(100)
	add := func(program, arg string, f finding.Finding) {
		pid := 100 + len(r.Processes)
		r.Processes = append(r.Processes, run.Process{PID: pid, Program: "/opt/shop/" + program, Command: "./" + program + " " + arg})
		found = append(found, moved(&table, f, uint32(pid), id))
		id += 100
	}
	for i := range tests {
		add([]string{"desk_test", "till_test"}[i%2], fmt.Sprintf("--gtest_filter=Desk.Test%d", i/2), Deadlock(Ledger, Till))
	}
	add("sell_test", "--all", Race())
	other := Race()
	for i := range other.Evidence {
		other.Evidence[i].Stack = event.StackID(1 + i) // other places
	}
	add("refund_test", "--all", other)
	return report.Build(r, found, table)
}

// moved returns a finding of other threads and objects, which are those of a process, with numbers from id on.
func moved(table *Table, f finding.Finding, pid uint32, id uint64) finding.Finding {
	thread := func(t *event.ThreadID) {
		of := table.Threads[*t]
		of.TGID, *t = pid, *t+event.ThreadID(id)
		table.Threads[*t] = of
	}
	object := func(o *event.ObjectID) {
		of := table.Objects[*o]
		of.TGID, *o = pid, *o+event.ObjectID(id)
		table.Objects[*o] = of
	}
	for _, steps := range []*[]finding.Step{&f.Evidence, &f.Witness} {
		*steps = append([]finding.Step{}, *steps...)
		for i := range *steps {
			s := &(*steps)[i]
			s.Seq += id
			thread(&s.Thread)
			if s.Object != 0 {
				object(&s.Object)
			}
			s.Held = append([]event.ObjectID{}, s.Held...)
			for j := range s.Held {
				object(&s.Held[j])
			}
		}
	}
	f.Threads, f.Objects = append([]event.ThreadID{}, f.Threads...), append([]event.ObjectID{}, f.Objects...)
	for i := range f.Threads {
		thread(&f.Threads[i])
	}
	for i := range f.Objects {
		object(&f.Objects[i])
	}
	return f
}
