package textreport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/run"
)

func TestWatchedTable(t *testing.T) {
	r := report.Build(reporttest.WatchedRun(), nil, reporttest.ShopTable())
	compare(t, "watched.txt", text(t, r, report.Options{Width: 100}))
	compare(t, "watched-verbose.txt", text(t, r, report.Options{Width: 100, Verbose: true}))
}

func TestWatchedTableIsShort(t *testing.T) {
	many := reporttest.ShopRun()
	for i := range 3 * maxShown {
		many.Watched = append(many.Watched, run.Watched{Variable: fmt.Sprintf("v%02d", i), Use: "ordered", Threads: 2, Accesses: 1, Outcome: "kept"})
	}
	short, long := text(t, report.Build(many, nil, nil), report.Options{}), text(t, report.Build(many, nil, nil), report.Options{Verbose: true})
	if n := strings.Count(short, "one thread after the other"); n != maxShown || !strings.Contains(short, "and 40 more") {
		t.Errorf("%d variables listed:\n%s", n, short)
	}
	if n := strings.Count(long, "one thread after the other"); n != 3*maxShown {
		t.Errorf("of all, %d variables listed", n)
	}
}
