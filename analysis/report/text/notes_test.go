package textreport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestNotesAreFew checks the number of notes that a text shows: at most ten lines, all that it joined
// in a file, and each by itself with Verbose.
func TestNotesAreFew(t *testing.T) {
	var plain []string
	for i := range 12 {
		plain = append(plain, fmt.Sprintf("sentence %d", i))
	}
	r := report.Build(reporttest.NotesRun(40, plain...), nil, nil)
	for _, c := range []struct {
		options report.Options
		notes   int
		says    bool
	}{
		{report.Options{}, maxNotes - 1, true}, {report.Options{Complete: true}, 15, true}, {report.Options{Verbose: true}, 132, false},
	} {
		c.options.Width = 400
		got := text(t, r, c.options)
		if n := strings.Count(got, "  note: "); n != c.notes || strings.Contains(got, "--verbose lists all 132 notes") != c.says {
			t.Errorf("%+v: %d notes, want %d:\n%s", c.options, n, c.notes, got)
		}
	}
}

// TestConsequencesAreAllShown: notes on what the run means for findings are not among those that are left out.
func TestConsequencesAreAllShown(t *testing.T) {
	var first []string
	for i := range 2 * maxNotes {
		first = append(first, fmt.Sprintf("scope s%d: 3 regions were judged", i))
	}
	r := reporttest.NotesRun(40)
	r.AddBounds(&run.Bounds{}, first)
	if got := text(t, report.Build(r, nil, nil), report.Options{Width: 400}); strings.Count(got, "regions were judged") != 2*maxNotes || strings.Count(got, "  note: ") != 2*maxNotes {
		t.Errorf("not all notes on what was judged are shown, or others are:\n%s", got)
	}
}

// TestHostileKinds checks that a trace with any kinds has a report of printable characters.
func TestHostileKinds(t *testing.T) {
	r := reporttest.NotesRun(2)
	for i := range r.NoteKinds {
		r.NoteKinds[i].Kind, r.NoteKinds[i].File = "%s%d\x1b of {files}", "a\rb"+fmt.Sprint(i)
	}
	if got := text(t, report.Build(r, nil, nil), report.Options{Width: 100}); strings.ContainsAny(got, "\x1b\r") {
		t.Errorf("%q", got)
	}
}
