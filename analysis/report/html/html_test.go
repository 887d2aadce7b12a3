package html

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/golden"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

func write(t *testing.T, r report.Report) string {
	t.Helper()
	return reporttest.Written(t, Write, r, report.Options{})
}

func TestGolden(t *testing.T) {
	for name, r := range map[string]report.Report{"all.html": reporttest.Shop(reporttest.All()...), "none.html": reporttest.Shop()} {
		_, body, _ := strings.Cut(write(t, r), "<body>\n")
		golden.Compare(t, filepath.Join("testdata", name), body)
	}
}

// TestAlone: the page asks for nothing else, whatever names a program has, and it runs no script.
func TestAlone(t *testing.T) {
	table := reporttest.ShopTable()
	o := table.Objects[reporttest.Ledger]
	o.Name = `<script src="https://example.org/x.js">"'` + "`"
	table.Objects[reporttest.Ledger] = o
	text := write(t, report.Build(reporttest.ShopRun(), reporttest.All(), table))
	for _, part := range []string{"<script", "https://", "http://", "src=", "@import", "url(h", "javascript:"} {
		if strings.Contains(strings.ReplaceAll(text, "&lt;script src=&#34;https://", ""), part) {
			t.Errorf("the page has %q", part)
		}
	}
}

// TestCycles: a cycle of a few threads is drawn, one with names of nothing, or of many threads, is not.
func TestCycles(t *testing.T) {
	philosophers := reporttest.Philosophers(4)
	r := report.Build(reporttest.ShopRun(), []finding.Finding{philosophers}, reporttest.PhilosopherTable(4))
	if text := write(t, r); strings.Count(text, "<line ") != 8 || strings.Count(text, `<g class="thread"`) != 4 {
		t.Errorf("%d arrows and %d threads for 4 philosophers", strings.Count(text, "<line "), strings.Count(text, `<g class="thread"`))
	}
	many := report.Build(reporttest.ShopRun(), []finding.Finding{reporttest.Philosophers(40)}, reporttest.PhilosopherTable(40))
	if strings.Contains(write(t, many), "<svg") {
		t.Error("40 philosophers are drawn")
	}
	if strings.Contains(write(t, reporttest.Shop(reporttest.Race())), "<svg") {
		t.Error("a race is drawn as a cycle")
	}
}

// TestFailed: a report of a tool that failed says so.
func TestFailed(t *testing.T) {
	r := reporttest.Shop()
	r.Run.Failed, r.Run.Summary.Lost = "it broke", 3
	r.Run.Notes = []string{"a note"}
	text := write(t, r)
	for _, part := range []string{"tracepredict failed, and this report is incomplete: it broke", "events lost: 3", "Notes on the run (1)"} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}
