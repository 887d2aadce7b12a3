package e2e

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestCopiedCode checks that a program which executes copies of its code, with the breakpoints of probes in them, does
// what it does plain, and that the report says so; and that a breakpoint of its own is its own.
func TestCopiedCode(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("copied breakpoints are replaced on x86-64")
	}
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "process/copies.c", "-O1", "-g", "-pthread")
	for _, tt := range []struct {
		mode, says string
		copies     bool
	}{{"whole", "6 hits, 0 traps", true}, {"function", "1006 hits, 0 traps", true}, {"own", "6 hits, 3 traps", false}} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			report := filepath.Join(t.TempDir(), "report.json")
			c := startTool(t, childOptions{}, "exec", "--format", "json", "--output", report, "--", program, tt.mode)
			c.want(0)
			if got := strings.TrimSpace(c.out.String()); got != tt.says {
				t.Errorf("the program says %q, want %q", got, tt.says)
			}
			notes := readReport(t, report).Run.Notes
			if slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "copies of its own code") }) != tt.copies {
				t.Errorf("notes: %q", notes)
			}
		})
	}
}

// TestAttachToCopiedCode checks that attach says of a program that executes a copy of its code that it is not observed,
// and that the program does what it does plain.
func TestAttachToCopiedCode(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := startChild(t, childOptions{}, build(t, "gcc", "process/copies.c", "-O1", "-g", "-pthread"), "later")
	program.waitLine("ready")
	tool, report := attachTo(t, program.pid())
	program.send("go on")
	program.want(0)
	tool.want(0)
	if got := program.out.String(); !strings.Contains(got, "6 hits, 0 traps") {
		t.Errorf("the program says %q", got)
	}
	notes := readReport(t, report).Run.Notes
	if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "executes a copy of its code") }) {
		t.Errorf("notes: %q", notes)
	}
}
