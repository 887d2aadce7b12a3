package github

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/golden"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

func write(t interface{ Fatalf(string, ...any) }, r report.Report) string {
	return reporttest.Written(t, Write, r, reporttest.ForCI())
}

func TestGolden(t *testing.T) {
	golden.Compare(t, filepath.Join("testdata", "all.txt"), write(t, reporttest.Shop(reporttest.All()...)))
	if got := write(t, reporttest.Shop()); got != "" {
		t.Errorf("no finding is %q", got)
	}
}

// TestCommands: each line is a command whose text and properties end where they should, whatever is in them.
func TestCommands(t *testing.T) {
	command := regexp.MustCompile(`^::(error|warning|notice) (file=[^,:]+,line=\d+,)?title=[^,:]+::[^\r]*$`)
	rapid.Check(t, func(t *rapid.T) {
		r := reporttest.Shop(rapid.SliceOfN(rapid.Custom(reporttest.DrawFinding), 0, 4).Draw(t, "findings")...)
		r.Run.Failed = rapid.SampledFrom([]string{"", "100 %\nof it\r::error::x"}).Draw(t, "failed")
		for line := range strings.Lines(write(t, r)) {
			if !command.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Fatalf("%q", line)
			}
		}
	})
	if got, want := value("a:b,c%\n"), "a%3Ab%2Cc%25%0A"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLimit: no more annotations of a kind than GitHub shows, the last of which counts the others.
func TestLimit(t *testing.T) {
	for _, c := range []finding.Confidence{finding.Predicted, finding.Potential} {
		all, table := reporttest.RacesOf(40)
		for i := range all {
			all[i].Confidence = c
		}
		r := report.Build(reporttest.ShopRun(), all, table)
		text := write(t, r)
		shown := strings.Count(text, "title=race")
		if want := map[finding.Confidence]int{finding.Predicted: most, finding.Potential: most - 1}[c]; shown != min(want, len(r.Causes())) {
			t.Errorf("%s: %d of %d are shown\n%s", c, shown, len(r.Causes()), text)
		}
		if more := len(r.Causes()) - shown; more > 0 && !strings.Contains(text, "more findings are in the report") {
			t.Errorf("%s: %d are not counted\n%s", c, more, text)
		}
	}
}
