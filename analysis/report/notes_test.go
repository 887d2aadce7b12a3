package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/run"
)

// notesRun returns a run with notes on a number of libraries, and on the run as a whole.
func notesRun(libraries int, plain ...string) Run {
	r := shopRun()
	add := func(n plural.Note) { r.Notes, r.NoteKinds = append(r.Notes, n.Text), append(r.NoteKinds, n) }
	for i := range libraries {
		path := fmt.Sprintf("/usr/lib/lib%d.so", i)
		add(plural.About(path, "%d {instruction|instructions} of %s that may access memory through pointers {is|are} not seen", 1000*i, fmt.Sprintf("lib%d.so", i)))
		add(plural.About(path, "%s was loaded while the program ran: what it did in the first %.1f ms was not observed", path, float64(i)))
		add(plural.Like("what process %d became by execve is not observed", 100+i))
	}
	r.Notes = append(r.Notes, plain...)
	return r
}

func TestNotesAreJoined(t *testing.T) {
	const whole, pid = "12 calls could not be followed to their return", "what process 100 became by execve is not observed"
	for _, c := range []struct {
		name  string
		run   Run
		lines []string
	}{
		{"one library", notesRun(1, whole), []string{
			whole,
			"0 instructions of lib0.so that may access memory through pointers are not seen",
			"/usr/lib/lib0.so was loaded while the program ran: what it did in the first 0.0 ms was not observed", pid,
		}},
		{"five libraries", notesRun(5, whole), []string{
			whole,
			"10,000 instructions of 5 files that may access memory through pointers are not seen (lib4.so 4,000, lib3.so 3,000, lib2.so 2,000, ...)",
			"/usr/lib/lib0.so was loaded while the program ran: what it did in the first 0.0 ms was not observed; and 4 more notes of this kind (lib1.so, lib2.so, lib3.so, ...)",
			pid + "; and 4 more notes of this kind",
		}},
		{"a consequence", func() Run {
			r := notesRun(1, whole)
			r.AddBounds(&run.Bounds{}, []string{"errors may be missed"})
			return r
		}(), []string{
			"errors may be missed", whole,
			"0 instructions of lib0.so that may access memory through pointers are not seen",
			"/usr/lib/lib0.so was loaded while the program ran: what it did in the first 0.0 ms was not observed", pid,
		}},
		{"the same twice", notesRun(0, whole, whole), []string{whole}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Build(c.run, nil, nil)
			if diff := cmp.Diff(c.lines, joinNotes(distinctTexts(r.Run.Notes), r.Run.NoteKinds)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestNotesAreFew checks the number of notes that a text shows: at most ten lines, all that it joined
// in a file, and each by itself with Verbose. JSON has them all.
func TestNotesAreFew(t *testing.T) {
	var plain []string
	for i := range 12 {
		plain = append(plain, fmt.Sprintf("sentence %d", i))
	}
	r := Build(notesRun(40, plain...), nil, nil)
	for _, c := range []struct {
		options TextOptions
		notes   int
		says    bool
	}{
		{TextOptions{}, maxNotes - 1, true}, {TextOptions{Complete: true}, 15, true}, {TextOptions{Verbose: true}, 132, false},
	} {
		c.options.Width = 400
		got := text(t, r, c.options)
		if n := strings.Count(got, "  note: "); n != c.notes || strings.Contains(got, "--verbose lists all 132 notes") != c.says {
			t.Errorf("%+v: %d notes, want %d:\n%s", c.options, n, c.notes, got)
		}
	}
	if json := string(writeJSON(t, r)); strings.Count(json, "instructions of lib") != 40 || strings.Contains(json, "note_kinds") {
		t.Errorf("JSON has other notes:\n%s", json)
	}
}

// TestHostileKinds checks that a trace with any kinds has a report of printable characters.
func TestHostileKinds(t *testing.T) {
	r := notesRun(2)
	for i := range r.NoteKinds {
		r.NoteKinds[i].Kind, r.NoteKinds[i].File = "%s%d\x1b of {files}", "a\rb"+fmt.Sprint(i)
	}
	if got := text(t, Build(r, nil, nil), TextOptions{Width: 100}); strings.ContainsAny(got, "\x1b\r") {
		t.Errorf("%q", got)
	}
}
