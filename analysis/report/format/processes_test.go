package format

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
)

// TestProcesses: each format has a deadlock that several processes show once, and says of which programs they are, also
// when the report was written in JSON and read.
func TestProcesses(t *testing.T) {
	r := reporttest.Suite(50)
	for _, f := range All() {
		text := strings.ReplaceAll(reporttest.Written(t, f.Write, r, reporttest.ForCI()), "&#95;", "_")
		for _, program := range []string{"desk_test", "till_test"} {
			if !strings.Contains(text, program) {
				t.Errorf("%s does not name %s:\n%s", f.Name, program, text)
			}
		}
		if n := strings.Count(text, r.Findings[0].Message); n > 3 { // in a table, as a heading and as a failure
			t.Errorf("%s has the deadlock %d times", f.Name, n)
		}
	}
	checkReread(t, r)
}
