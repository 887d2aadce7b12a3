package textreport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

// TestManyFindingsInBrief checks that a report of many findings is short, names all of them, and
// has all details if they are asked for.
func TestManyFindingsInBrief(t *testing.T) {
	const title = "RACE predicted"
	for _, c := range []struct {
		findings  int
		options   report.Options
		detailed  int
		most      int // lines; 0: any number
		overview  bool
		schedules bool // of all
	}{
		{10, report.Options{}, 10, 0, false, true},
		{11, report.Options{}, 10, maxLines, true, false},
		{86, report.Options{}, 10, maxLines, true, false},
		{86, report.Options{Verbose: true}, 86, 0, true, true},
		{86, report.Options{Complete: true}, 86, 0, true, true},
	} {
		fs, tab := reporttest.RacesOf(c.findings)
		for i := range fs {
			fs[i].Confidence = finding.Predicted
		}
		c.options.Width = 120
		got := text(t, report.Build(reporttest.ShopRun(), fs, tab), c.options)
		if n := strings.Count(got, title+"\n"); n != c.detailed {
			t.Errorf("%d findings, %+v: %d have details, want %d", c.findings, c.options, n, c.detailed)
		}
		if n := strings.Count(got, "\n"); c.most > 0 && n > c.most {
			t.Errorf("%d findings, %+v: %d lines, want at most %d", c.findings, c.options, n, c.most)
		}
		if overview := strings.Contains(got, "by file and function:"); overview != c.overview {
			t.Errorf("%d findings, %+v: an overview: %v", c.findings, c.options, overview)
		}
		if n := strings.Count(got, "How it could happen"); n == 0 || (n == c.findings) != c.schedules {
			t.Errorf("%d findings, %+v: %d schedules", c.findings, c.options, n)
		}
		if head, _, _ := strings.Cut(got, "\n"); !strings.Contains(head, fmt.Sprintf("%d races predicted", c.findings)) {
			t.Errorf("the first line is %q", head)
		}
		checkWidth(t, got, 120)
	}
}

// TestManyFindingsOfLongNames checks the length for long names and deep stacks.
func TestManyFindingsOfLongNames(t *testing.T) {
	for _, width := range []int{120, 160} {
		got := text(t, report.Build(reporttest.ShopRun(), reporttest.Many(86), reporttest.ManyTable()), report.Options{Width: width})
		if n := strings.Count(got, "\n"); n > maxLines*5/4 {
			t.Errorf("width %d: %d lines", width, n)
		}
		checkWidth(t, got, width)
	}
}

// TestOverviewCounts checks that the rows of the table count all findings once.
func TestOverviewCounts(t *testing.T) {
	fs, tab := reporttest.RacesOf(86)
	r := report.Build(reporttest.ShopRun(), fs, tab)
	p := newPrinter(r, report.Options{Width: 120})
	total := 0
	for _, row := range p.overviewRows(r.Causes()) {
		total += row.count
	}
	if total != 86 {
		t.Errorf("the rows count %d findings", total)
	}
	shown := text(t, r, report.Options{Width: 120})
	if !strings.Contains(shown, "  and 62 more findings in 62 more functions\n") {
		t.Errorf("the rest is not counted in\n%s", shown)
	}
}

func TestOverviewGolden(t *testing.T) {
	fs, tab := reporttest.RacesOf(14)
	for _, width := range []int{80, 120} {
		got := text(t, report.Build(reporttest.ShopRun(), append(fs, reporttest.Deadlock(reporttest.Ledger, reporttest.Till)), tab), report.Options{Width: width})
		compare(t, fmt.Sprintf("many-%d.txt", width), got)
		checkWidth(t, got, width)
	}
}
