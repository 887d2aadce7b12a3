package textreport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestCoverage checks what a report without findings says was looked for, and what not.
func TestCoverage(t *testing.T) {
	locks := []report.KindCount{{Kind: event.KindMutex, Count: 2}, {Kind: event.KindBarrier, Count: 1}}
	for _, c := range []struct {
		name     string
		coverage report.Coverage
		change   func(*report.Run)
		want     []string
		not      string
	}{
		{
			name: "locks alone", coverage: report.Coverage{Objects: locks, Misuse: true},
			want: []string{"looked for: deadlocks of 2 mutexes and 1 barrier; misuse of these", "not looked for: races, since no variable was watched (--watch NAME;"},
			not:  "nothing could be predicted",
		},
		{
			name: "no lock in another", coverage: report.Coverage{Objects: locks}, change: func(r *report.Run) { r.Locks = &run.Locks{} },
			want: []string{"2 mutexes and 1 barrier (no thread requested a lock while it held another)"}, not: "misuse",
		},
		{
			name: "variables", coverage: report.Coverage{Variables: 12, Fields: 1},
			want: []string{"looked for: races in 12 variables and 1 field of an object", "not looked for: deadlocks, since no lock or other object"}, not: "races, since",
		},
		{
			name: "watched, never accessed", coverage: report.Coverage{Objects: locks}, change: func(r *report.Run) { r.NeverAccessed = []string{"a", "b", "c", "d", "e", "f"} },
			want: []string{"races in a, b, c, d and 2 more, of which no access was seen"}, not: "no variable was watched",
		},
		{
			name: "shared, some never accessed", coverage: report.Coverage{Variables: 1}, change: func(r *report.Run) { r.Untouched = 3 },
			want: []string{"races in 1 variable (3 more were watched and never accessed)"}, not: "races, since",
		},
		{
			name: "shared, none accessed", coverage: report.Coverage{}, change: func(r *report.Run) { r.Untouched = 3 },
			want: []string{"races, since no access of a watched variable was seen", "nothing that threads share was observed"},
		},
		{
			name: "one thread", coverage: report.Coverage{Objects: locks}, change: func(r *report.Run) { r.Threads = 1 },
			want: []string{"nothing could be predicted, since only one thread ran"},
		},
		{
			name: "processes of one thread", coverage: report.Coverage{Objects: locks},
			change: func(r *report.Run) { r.Threads, r.Processes = 2, []run.Process{{PID: 1}, {PID: 2}} },
			want:   []string{"nothing could be predicted, since each process ran one thread only, and variables are not followed"}, not: "only one thread ran",
		},
		{
			name: "processes of one thread that nest locks", coverage: report.Coverage{Objects: locks, Variables: 1},
			change: func(r *report.Run) {
				r.Threads, r.Processes, r.Locks = 2, []run.Process{{PID: 1}, {PID: 2}}, &run.Locks{Edges: 2}
			},
			want: []string{"not looked for: races between processes, since variables are not followed"}, not: "nothing could be predicted",
		},
		{
			name: "nothing", change: func(r *report.Run) { r.Events, r.Threads = 0, 0 },
			want: []string{"nothing could be predicted, since nothing that is observed was done"}, not: "only one thread",
		},
		{
			name: "unobserved synchronisation", coverage: report.Coverage{Objects: locks}, change: func(r *report.Run) { r.Executed = make([]run.Executed, 1) },
			want: []string{"not seen: what 1 place in the code synchronises (notes below)"},
		},
		{
			name: "properties", coverage: report.Coverage{Objects: locks}, change: func(r *report.Run) {
				r.Properties = &run.Properties{Names: []string{"landing", "radio"}, Complete: true}
			},
			want: []string{"violations of landing, radio", "races, since neither a specification (check races) nor --watch asked"}, not: "no variable was watched",
		},
		{
			name: "properties of variables alone", change: func(r *report.Run) {
				r.Properties = &run.Properties{Names: []string{"landing"}, Complete: true}
			},
			want: []string{"violations of landing"}, not: "nothing could be predicted",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reporttest.ShopRun()
			if c.change != nil {
				c.change(&r)
			}
			r.AddCoverage(c.coverage)
			got := text(t, report.Build(r, nil, reporttest.ShopTable()), report.Options{Width: 400})
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in\n%s", want, got)
				}
			}
			if c.not != "" && strings.Contains(got, c.not) {
				t.Errorf("%q is in\n%s", c.not, got)
			}
			if found := text(t, report.Build(r, reporttest.All(), reporttest.ShopTable()), report.Options{Width: 400}); strings.Contains(found, "looked for") {
				t.Errorf("a report with findings says\n%s", found)
			}
		})
	}
}

// TestCoverageGolden checks the form of the lines.
func TestCoverageGolden(t *testing.T) {
	for _, width := range []int{40, 100} {
		compare(t, fmt.Sprintf("coverage-%d.txt", width), text(t, reporttest.CoveredReport(), report.Options{Width: width}))
	}
}
