package textreport

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/event"
)

func TestDepends(t *testing.T) {
	influence := func(how finding.Influence, by, on event.ThreadID, object event.ObjectID) finding.Dependency {
		return finding.Dependency{Thread: by, How: how, On: on, Step: finding.Step{Seq: 3, Thread: by, Op: event.Write, Object: object, Stack: 5}}
	}
	f := reporttest.Race()
	for _, tc := range []struct {
		depends []finding.Dependency
		partial bool
		want    string // "" is nothing
	}{
		{nil, false, ""},
		{[]finding.Dependency{}, false, "other threads: 43 have nothing to do with it"},
		{[]finding.Dependency{influence(finding.Creates, 1, 2, 0), influence(finding.Contends, 4, 2, reporttest.Till)}, false,
			"other threads: T1 main thread created T2; 1 only takes the same locks; 41 have nothing to do with it"},
		{[]finding.Dependency{influence(finding.Writes, 1, 2, reporttest.Tickets), influence(finding.Signals, 4, 1, reporttest.Queue)}, true,
			"other threads: T1 main thread wrote 'tickets', which T2 reads; T4 größe-线程 signalled 'jobs::Queue<int, std::allocator<int>>::depth', for which T1 waits"},
		{[]finding.Dependency{influence(finding.Creates, 1, 2, 0), influence(finding.Creates, 5, 1, 0), influence(finding.Creates, 6, 5, 0),
			influence(finding.Creates, 7, 6, 0), influence(finding.Creates, 8, 7, 0), influence(finding.Creates, 9, 8, 0)}, false, "T7 created T6; and 2 more; 37 have nothing to do with it"},
	} {
		f.Depends, f.Partial = tc.depends, tc.partial
		run := reporttest.ShopRun()
		run.Threads = 45
		r := report.Build(run, []finding.Finding{f}, reporttest.ShopTable())
		whole := strings.Join(strings.Fields(text(t, r, report.Options{Width: 120})), " ")
		if !strings.Contains(whole, tc.want) || tc.want == "" && strings.Contains(whole, "other threads") {
			t.Errorf("%+v: no %q in\n%s", tc.depends, tc.want, whole)
		}
		if got := len(r.Findings[0].Depends); got != len(tc.depends) {
			t.Errorf("%d dependencies, want %d", got, len(tc.depends))
		}
	}
}
