package baseline

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/format"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

// written returns the findings of a report as a file in a format has them.
func written(t *testing.T, name string, r report.Report) *Set {
	t.Helper()
	var b bytes.Buffer
	if err := format.Write(&b, name, r, report.Options{}); err != nil {
		t.Fatal(err)
	}
	s, err := Read(&b, "base")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestApply: what an earlier report has, in either format, is known; the rest is new; what only that one has is gone.
func TestApply(t *testing.T) {
	earlier, later := reporttest.Shop(reporttest.All()[1:]...), reporttest.Shop(reporttest.All()[:3]...)
	want := map[string]bool{}
	for _, f := range earlier.Findings {
		want[f.Fingerprint] = true
	}
	for _, name := range []string{"json", "sarif"} {
		s := written(t, name, earlier)
		if len(s.Findings) != len(earlier.Findings) {
			t.Fatalf("%s: %d of %d findings", name, len(s.Findings), len(earlier.Findings))
		}
		got := s.Apply(later)
		if n := len(got.Findings) + len(got.Baseline.Known); n != len(later.Findings) || len(got.Findings) != 1 {
			t.Errorf("%s: %d new, %d known", name, len(got.Findings), len(got.Baseline.Known))
		}
		for _, f := range got.Findings {
			if want[f.Fingerprint] {
				t.Errorf("%s: %s is not new", name, f.Message)
			}
		}
		for _, f := range got.Baseline.Known {
			if !want[f.Fingerprint] {
				t.Errorf("%s: %s is not known", name, f.Message)
			}
		}
		if len(got.Baseline.Gone) != len(earlier.Findings)-len(got.Baseline.Known) {
			t.Errorf("%s: %d are gone", name, len(got.Baseline.Gone))
		}
		d := Compare(s, written(t, name, later))
		if len(d.New) != 1 || len(d.Both) != len(got.Baseline.Known) || len(d.Gone) != len(got.Baseline.Gone) {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if d := cmp.Diff(written(t, "json", earlier).Findings[0], written(t, "sarif", earlier).Findings[0]); d != "" {
		t.Errorf("the formats differ: %s", d)
	}
}

// TestKeepsKnown: what is known stays known when the report with it is the next baseline.
func TestKeepsKnown(t *testing.T) {
	all := reporttest.Shop(reporttest.All()...)
	s := written(t, "json", all)
	for _, name := range []string{"json", "sarif"} {
		again := written(t, name, s.Apply(all))
		if len(again.Findings) != len(all.Findings) {
			t.Errorf("%s: %d of %d findings", name, len(again.Findings), len(all.Findings))
		}
	}
}

func TestWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "it is empty",
		"tracepredict: no finding": "it must be a report",
		"{}":                       "neither findings nor runs",
		"[]":                       "it must be a report",
		`{"findings":[]} {`:        "it must be a report",
		`{"findings":7}`:           "it must be a report",
	} {
		if _, err := Read(strings.NewReader(text), "x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if s, err := Read(strings.NewReader(`{"findings":[]}{"findings":[{"fingerprint":"a"},{"fingerprint":"a"}]}`), "x"); err != nil || len(s.Findings) != 1 {
		t.Errorf("%v, %v", s, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"findings":[{"fingerprint":"a","kind":"race"}]}`))
	f.Add([]byte(`{"runs":[{"tool":{"driver":{"name":"tracepredict"}},"results":[{"ruleId":"race","partialFingerprints":{"tracepredict/v1":"a"}}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := Read(bytes.NewReader(text), "x"); err == nil {
			s.Apply(reporttest.Shop(reporttest.All()...))
		}
	})
}
