package report_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/run"
)

func TestNotesAreJoined(t *testing.T) {
	const whole, pid = "12 calls could not be followed to their return", "what process 100 became by execve is not observed"
	for _, c := range []struct {
		name  string
		run   report.Run
		lines []string
	}{
		{"one library", reporttest.NotesRun(1, whole), []string{
			whole,
			"0 instructions of lib0.so that may access memory through pointers are not seen",
			"/usr/lib/lib0.so was loaded while the program ran: what it did in the first 0.0 ms was not observed", pid,
		}},
		{"five libraries", reporttest.NotesRun(5, whole), []string{
			whole,
			"10,000 instructions of 5 files that may access memory through pointers are not seen (lib4.so 4,000, lib3.so 3,000, lib2.so 2,000, ...)",
			"/usr/lib/lib0.so was loaded while the program ran: what it did in the first 0.0 ms was not observed; and 4 more notes of this kind (lib1.so, lib2.so, lib3.so, ...)",
			pid + "; and 4 more notes of this kind",
		}},
		{"a consequence", func() report.Run {
			r := reporttest.NotesRun(1, whole)
			r.AddBounds(&run.Bounds{}, []string{"errors may be missed"})
			return r
		}(), []string{
			"errors may be missed", whole,
			"0 instructions of lib0.so that may access memory through pointers are not seen",
			"/usr/lib/lib0.so was loaded while the program ran: what it did in the first 0.0 ms was not observed", pid,
		}},
		{"the same twice", reporttest.NotesRun(0, whole, whole), []string{whole}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := report.Build(c.run, nil, nil)
			first, lines := r.Run.JoinedNotes()
			if diff := cmp.Diff(c.lines, slices.Concat(first, lines)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
