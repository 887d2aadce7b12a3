package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestGLib checks that the mutexes of GLib are locks: held in opposite orders they may deadlock, not in the same order
// or if one is only tried. What a condition hands over is no race.
func TestGLib(t *testing.T) {
	needBPF(t)
	t.Parallel()
	const library = "libglib-2.0.so.0"
	if out, err := command(t, "gcc", "-print-file-name="+library).Output(); err != nil || !strings.Contains(string(out), "/") {
		t.Skipf("%s is not installed: install the package libglib2.0-0", library)
	}
	program := corpus(t, "gcc", "glib.c", []string{"-l:" + library})
	wantOfModes(t, program, map[string]string{"opposite": "predicted deadlock of a, b", "same": "", "tried": "", "waited": ""})
}

// TestQt checks the same of the mutexes of Qt 5, and that its read-write locks may deadlock if one thread reads what
// another one writes. What else Qt's library synchronises by itself is not observed, so that these are likely, or potential where
// their sections are not understood.
func TestQt(t *testing.T) {
	needBPF(t)
	t.Parallel()
	const library = "libQt5Core.so.5"
	if out, err := command(t, "gcc", "-print-file-name="+library).Output(); err != nil || !strings.Contains(string(out), "/") {
		t.Skipf("no %s: install the package libqt5core5a", library)
	}
	wantOfModes(t, corpus(t, "gcc", "process/qt.c", []string{"-l:" + library}), map[string]string{
		"opposite": "likely deadlock of a, b", "same": "", "tried": "", "waited": "",
		"tables": "potential deadlock of x, y", "same tables": "", "read": "",
	})
}

// wantOfModes runs a program in several modes, each of which must have the finding that is given, or none.
func wantOfModes(t *testing.T, program string, modes map[string]string) {
	t.Helper()
	for mode, want := range modes {
		t.Run(mode, func(t *testing.T) {
			file, status := filepath.Join(t.TempDir(), "report.json"), 66
			if want == "" {
				status = 0
			}
			level := "likely"
			if strings.HasPrefix(want, "potential") {
				level = "potential"
			}
			startTool(t, childOptions{}, "exec", "--confidence", level, "--fail-on", level, "--format", "json", "--output", file, "--", program, mode).want(status)
			if got := readReport(t, file).summary(); got != want {
				t.Errorf("findings: %q, want %q", got, want)
			}
		})
	}
}
