package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// knownMisses are programs of scripts/compare whose defect is not found, each with the
// reason.
var knownMisses = map[string]string{
	"fork_held":     "nothing says that a fork may come while the lock is held",
	"pool":          "its sections call functions by pointer, and what these write may decide, so that the race is potential",
	"publication":   "on x86-64 the code of a relaxed store is that of one that releases",
	"shared_memory": "accesses of two processes are not compared",
	"signal_lock":   "nothing says that the signal may come while the lock is held",
}

// TestCompared checks the findings for the programs with which tracepredict is compared
// with other tools. The opening comment of each program lists what to report.
func TestCompared(t *testing.T) {
	needBPF(t)
	t.Parallel()
	files, err := filepath.Glob("../../../scripts/compare/programs/*.c*")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d programs: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareOne(t, file, name)
		})
	}
}

func compareOne(t *testing.T, file, name string) {
	expect, flags, build := expectationsOf(t, file)
	args := append([]string{"exec", "--watch-shared=all", "--confidence", "likely"}, flags...)
	_, r := reported(t, append(args, "--", compared(t, file, build))...)
	found := false
	for _, f := range r.Findings {
		if slices.ContainsFunc(expect, func(e []string) bool { return isExpected(f, e) }) {
			found = true
		} else if f.Confidence != "likely" {
			t.Errorf("a false alarm: %s", f)
		}
	}
	switch why := knownMisses[name]; {
	case len(expect) == 0:
	case !found && why == "":
		t.Errorf("missed: expected %q", expect)
	case !found:
		t.Logf("missed, as is known: %s", why)
	case why != "":
		t.Errorf("found, though it counts as missed: %s", why)
	}
}

// isExpected compares a finding with a kind and, if given, the innermost name of an
// object.
func isExpected(f jsonFinding, expect []string) bool {
	return f.Kind == expect[0] && (len(expect) == 1 || slices.ContainsFunc(f.Objects, func(o string) bool {
		return o == expect[1] || strings.HasSuffix(o, "."+expect[1])
	}))
}

// compared builds a program as scripts/compare does.
func compared(t *testing.T, file string, build []string) string {
	t.Helper()
	compiler, standard := "gcc", "-std=gnu11"
	if filepath.Ext(file) == ".cc" {
		compiler, standard = "g++", "-std=c++20"
	}
	testtool.Need(t, compiler)
	out := filepath.Join(t.TempDir(), "program")
	if err := compile(compiler, file, out, append([]string{standard, "-O1", "-pthread"}, build...)); err != nil {
		t.Fatal(err)
	}
	return out
}

// expectationsOf reads the lines expect:, run: and build: of a program's opening
// comment.
func expectationsOf(t *testing.T, file string) (expect [][]string, flags, build []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] != "//":
			return expect, flags, build
		case len(words) > 2 && words[1] == "expect:" && words[2] != "nothing":
			expect = append(expect, words[2:])
		case len(words) > 2 && words[1] == "run:":
			flags = words[2:]
		case len(words) > 2 && words[1] == "build:":
			build = words[2:]
		}
	}
	return expect, flags, build
}
