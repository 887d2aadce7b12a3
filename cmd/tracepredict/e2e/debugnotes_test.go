package e2e

import (
	"strings"
	"testing"
)

// TestDebugNotes checks that frames of a program without symbols and debug information
// are a file and an offset, with one note on what would supply the names, and that
// there is no note for a program that has both.
func TestDebugNotes(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct {
		name  string
		flags []string
		note  string // "": none
	}{
		{"stripped", []string{"-s", "-Wl,--build-id=0x1234567890"}, ".build-id/12/34567890.debug"},
		{"without-identifier", []string{"-s", "-Wl,--build-id=none"}, " are not known: build it with -g"},
		{"lines", []string{"-g0"}, "files and lines of "},
		{"whole", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := build(t, "gcc", "crossed.c", append([]string{"-O1", "-pthread"}, c.flags...)...)
			_, r := reported(t, "exec", "--", program)
			if len(r.Findings) == 0 {
				t.Fatal("no findings")
			}
			var notes []string
			for _, n := range r.Run.Notes {
				if strings.Contains(n, " are not known: ") {
					notes = append(notes, n)
				}
			}
			if c.note == "" && len(notes) > 0 || c.note != "" && (len(notes) != 1 || !strings.Contains(notes[0], c.note)) {
				t.Errorf("notes %q, want one with %q", r.Run.Notes, c.note)
			}
		})
	}
}
