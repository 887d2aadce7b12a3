package textreport

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/run"
)

func TestStats(t *testing.T) {
	compare(t, "stats.txt", text(t, reporttest.StatsReport(), report.Options{Width: 100}))
}

// TestStatsOfARecordedRun checks that figures that only a live run has are absent, not 0.
func TestStatsOfARecordedRun(t *testing.T) {
	compare(t, "stats-recorded.txt", text(t, reporttest.RecordedStats(), report.Options{Width: 100}))
}

// TestPartlyCheckedIsReported checks that the report shows when only a part of the runs was
// checked, so that no violation found is not mistaken for no violation at all.
func TestPartlyCheckedIsReported(t *testing.T) {
	shop := reporttest.ShopRun()
	shop.AddProperties(&run.Properties{Names: []string{"safe"}, Window: 1, Queue: 32, Levels: 4, States: 5, Dropped: 3, CutLevels: 2, Widest: 1})
	partly := text(t, report.Build(shop, nil, nil), report.Options{Width: 200})
	if first, _, _ := strings.Cut(partly, "\n"); !strings.Contains(first, "no findings on the part of the runs that was checked") {
		t.Errorf("the verdict does not say that part was checked:\n%s", partly)
	}
	shop.Properties.Complete = true
	if whole := text(t, report.Build(shop, nil, nil), report.Options{Width: 200}); strings.Contains(whole, "part of the runs") {
		t.Errorf("all was checked:\n%s", whole)
	}
}
