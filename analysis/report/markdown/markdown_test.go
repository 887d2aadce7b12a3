package markdown

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/golden"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

func write(t interface{ Fatalf(string, ...any) }, r report.Report) string {
	return reporttest.Written(t, Write, r, reporttest.ForCI())
}

func TestGolden(t *testing.T) {
	golden.Compare(t, filepath.Join("testdata", "all.md"), write(t, reporttest.Shop(reporttest.All()...)))
	golden.Compare(t, filepath.Join("testdata", "none.md"), write(t, reporttest.Shop()))
}

// TestRows: nothing in a name ends a cell of the table, opens an element of HTML, or mentions a person.
func TestRows(t *testing.T) {
	row := regexp.MustCompile(`^\| [^|]* \| \*\*\w+\*\*[^|<@]* \| [^|<@]* \| \w+ \|$`)
	rapid.Check(t, func(t *rapid.T) {
		text := write(t, reporttest.Shop(rapid.SliceOfN(rapid.Custom(reporttest.DrawFinding), 1, 4).Draw(t, "findings")...))
		_, table, _ := strings.Cut(text, "| --- | --- | --- | --- |\n")
		table, _, _ = strings.Cut(table, "\n\n")
		for line := range strings.Lines(table + "\n") {
			if !row.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Fatalf("%q", line)
			}
		}
	})
	for _, s := range []string{"<b>", "@octocat", "#12", "a|b", "\x60x\x60", "*x*", "[x](y)", "http://x"} {
		if got := escape(s); strings.ContainsAny(got, "<>@|\x60*[]") || strings.Contains(got, "://") {
			t.Errorf("%q becomes %q", s, got)
		}
	}
}

// TestLimit: a comment is not longer than GitHub takes, and says what it leaves out.
func TestLimit(t *testing.T) {
	all, table := reporttest.RacesOf(2_000)
	text := write(t, report.Build(reporttest.ShopRun(), all, table))
	if len(text) > 65_536 || !strings.Contains(text, "in the report") {
		t.Errorf("%d bytes", len(text))
	}
}
