package junit

import (
	"encoding/xml"
	"path/filepath"
	"strconv"
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
	golden.Compare(t, filepath.Join("testdata", "all.xml"), write(t, reporttest.Shop(reporttest.All()...)))
	golden.Compare(t, filepath.Join("testdata", "none.xml"), write(t, reporttest.Shop()))
}

// TestReadBack: any report is XML with the counts of what is in it; no name looks like a number, and what fails says why
// in both places.
func TestReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := reporttest.Shop(rapid.SliceOfN(rapid.Custom(reporttest.DrawFinding), 0, 4).Draw(t, "findings")...)
		if rapid.Bool().Draw(t, "failed") {
			r.Run.Failed = "it \x1b failed \xff\ufffe <&>"
		}
		text := write(t, r)
		var got suites
		if err := xml.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		s := got.Suites[0]
		failures, errors := 0, 0
		for _, c := range s.Cases {
			if _, err := strconv.ParseFloat(c.Name, 64); err == nil || c.Name == "" || c.Class == "" {
				t.Fatalf("a test case has the name %q", c.Name)
			}
			if c.Failure != nil {
				failures++
				if c.Failure.Message == "" || c.Failure.Text == "" || c.Output != nil {
					t.Fatalf("%+v", c)
				}
			}
			if c.Error != nil {
				errors++
			}
		}
		if len(s.Cases) != s.Tests || failures != s.Failures || errors != s.Errors || got.Tests != s.Tests || len(s.Cases) != 1+len(r.Cleaned().Causes()) {
			t.Fatalf("%d of %d cases, %d of %d failures, %d of %d errors", len(s.Cases), s.Tests, failures, s.Failures, errors, s.Errors)
		}
	})
}

// TestSeverity: a finding that does not make the run fail passes, and is still there to read.
func TestSeverity(t *testing.T) {
	f := reporttest.Race()
	f.Confidence = finding.Potential
	if text := write(t, reporttest.Shop(f)); !strings.Contains(text, `failures="0"`) || !strings.Contains(text, "RACE potential") {
		t.Errorf("%s", text)
	}
}
