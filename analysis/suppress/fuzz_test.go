package suppress_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/suppress"
)

// FuzzParse checks that any text is parsed into suppressions, or into errors with their
// positions, and that the suppressions can be matched with findings.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"testdata/valgrind.supp", "testdata/generated.supp", "default.supp"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("{\nn\ntracepredict:misuse:*,race\nobject:a\n...\nfun:*\nand\nsrc:*:1\n}")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := suppress.Parse(strings.NewReader(text), "fuzz")
		if (err == nil) != (s != nil) {
			t.Fatalf("%v, %v", s, err)
		}
		rep := s.Apply(report.Report{Findings: []report.Finding{*race(), *deadlock(), *misuse(), *property()}})
		if err == nil && len(rep.Run.Suppressions.Each) != s.Len() {
			t.Errorf("%d suppressions of %d", len(rep.Run.Suppressions.Each), s.Len())
		}
		for i := range rep.Findings {
			if s.Suppresses(&rep.Findings[i]) {
				t.Errorf("a finding that is kept is suppressed")
			}
		}
	})
}
