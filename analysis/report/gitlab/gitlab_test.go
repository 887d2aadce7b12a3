package gitlab

import (
	"bytes"
	"encoding/json"
	"path/filepath"
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
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(write(t, reporttest.Shop(reporttest.All()...))), "", " "); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join("testdata", "all.json"), indented.String())
	if got := write(t, reporttest.Shop()); got != "[]\n" {
		t.Errorf("no finding is %q", got)
	}
}

// TestFields: what GitLab requires is there, and paths below the source root are relative without ./, as it wants them.
func TestFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := reporttest.Shop(rapid.SliceOfN(rapid.Custom(reporttest.DrawFinding), 0, 4).Draw(t, "findings")...)
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
