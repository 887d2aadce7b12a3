package gitlab

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/golden"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

// options say that potential findings do not make the run fail.
var options = report.Options{SourceRoot: "/home/u/shop", Fails: func(f *report.Finding) bool { return f.Confidence.AtLeast(finding.Predicted) }}

func write(t interface{ Fatalf(string, ...any) }, r report.Report) string {
	var b bytes.Buffer
	if err := Write(&b, r, options); err != nil {
		t.Fatalf("%v", err)
	}
	return b.String()
}

func build(all ...finding.Finding) report.Report {
	return report.Build(reporttest.ShopRun(), all, reporttest.ShopTable())
}

func TestGolden(t *testing.T) {
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(write(t, build(reporttest.All()...))), "", " "); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join("testdata", "all.json"), indented.String())
	if got := write(t, build()); got != "[]\n" {
		t.Errorf("no finding is %q", got)
	}
}

// TestFields: what GitLab requires is there, and paths below the source root are relative without ./, as it wants them.
func TestFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := build(rapid.SliceOfN(rapid.Custom(reporttest.DrawFinding), 0, 4).Draw(t, "findings")...)
		var got []issue
		if err := json.Unmarshal([]byte(write(t, r)), &got); err != nil {
			t.Fatalf("%v", err)
		}
		if len(got) != len(r.Findings) {
			t.Fatalf("%d of %d findings", len(got), len(r.Findings))
		}
		for _, i := range got {
			if i.Description == "" || i.Fingerprint == "" || i.Severity == "" || i.Location.Path == "" || i.Location.Lines.Begin < 1 ||
				strings.HasPrefix(i.Location.Path, "./") || strings.HasPrefix(i.Location.Path, "/home/u/shop/") {
				t.Fatalf("%+v", i)
			}
		}
	})
}
