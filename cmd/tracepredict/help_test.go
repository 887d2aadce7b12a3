package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tracepredict/tracepredict/analysis/golden"
)

// helpOf returns what a command line prints on standard output.
func helpOf(t *testing.T, width int, args ...string) string {
	t.Helper()
	t.Setenv("COLUMNS", fmt.Sprint(width))
	var out strings.Builder
	if status := execute(args, &out, io.Discard); status != 0 {
		t.Fatalf("%q: status %d", args, status)
	}
	return out.String()
}

// TestHelp compares help with golden files, of a narrow terminal and of a wide one.
func TestHelp(t *testing.T) {
	for name, args := range map[string][]string{
		"root": {"--help"}, "exec": {"exec", "--help"}, "exec-all": {"exec", "--help-all"}, "attach": {"help", "attach"}, "hang": {"hang", "-h"},
		"convert": {"convert", "--help"}, "sites": {"sites", "--help"},
	} {
		for _, width := range []int{80, 120} {
			golden.Compare(t, fmt.Sprintf("testdata/help/%s-%d.txt", name, width), helpOf(t, width, args...))
		}
	}
}

// TestHelpFits: no line of any help is longer than its terminal is wide, but examples, which are to be copied. The
// narrowest terminal that is reckoned with has 40 columns, and the widest 120.
func TestHelpFits(t *testing.T) {
	for _, c := range append((&app{}).rootCommand().Commands(), (&app{}).rootCommand()) {
		for asked, width := range map[int]int{20: 40, 60: 60, 80: 80, 120: 120, 500: 120} {
			args := []string{c.Name(), "--help-all"}
			if !c.HasParent() {
				args = args[1:]
			}
			help := helpOf(t, asked, args...)
			before, after, _ := strings.Cut(help, "\nExamples:\n")
			_, after, _ = strings.Cut(after, "\n\n")
			for line := range strings.Lines(before + after) {
				line = strings.TrimRight(line, "\n")
				if n := utf8.RuneCountInString(line); n > width && len(strings.Fields(line)) > 2 {
					t.Errorf("%q, %d columns: a line has %d: %s", args, width, n, line)
				}
			}
		}
	}
}

// TestHelpBeforeArguments: help is printed even where the arguments of a command are missing.
func TestHelpBeforeArguments(t *testing.T) {
	short, all := helpOf(t, 80, "exec", "--help"), helpOf(t, 80, "exec", "--help-all")
	if !strings.HasPrefix(all, short[:strings.Index(short, "\n  -h, --help")]) || len(all) < 2*len(short) {
		t.Errorf("--help-all does not begin as --help does:\n%s", all)
	}
	if strings.Contains(short, "--cycle-budget") || !strings.Contains(all, "\nBounds of what it may cost:\n") {
		t.Error("--cycle-budget is in --help, or in no group of --help-all")
	}
}
