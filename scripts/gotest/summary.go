package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mostReasons bounds how many reasons a summary names, mostLines how much of a flaky
// test's output is shown; all of it is in its file.
const (
	mostReasons = 20
	mostLines   = 60
)

// summarize writes what was skipped and why, and a box for each flaky test.
func summarize(out io.Writer, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "skipped"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fmt.Fprint(out, skips(string(text)))
	files, err := filepath.Glob(filepath.Join(dir, "flaky", "*"))
	if err != nil {
		return err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fmt.Fprint(out, "\n", box(string(text), name))
	}
	return nil
}

// skips returns a line for each reason in the text of a file of skipped tests, those
// of the most tests first.
func skips(text string) string {
	type why struct {
		reason string
		tests  int
		in     []string
	}
	var all []*why
	total := 0
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(f) != 3 {
			continue
		}
		total++
		i := slices.IndexFunc(all, func(w *why) bool { return w.reason == f[2] })
		if i < 0 {
			i, all = len(all), append(all, &why{reason: f[2]})
		}
		all[i].tests++
		if name := local(f[0]); !slices.Contains(all[i].in, name) {
			all[i].in = append(all[i].in, name)
		}
	}
	if total == 0 {
		return "No test was skipped.\n"
	}
	slices.SortStableFunc(all, func(a, b *why) int { return b.tests - a.tests })
	var b strings.Builder
	fmt.Fprintf(&b, "Skipped, counting subtests: %d\n", total)
	for i, w := range all {
		if i == mostReasons {
			fmt.Fprintf(&b, "      and for %d other reasons\n", len(all)-i)
			break
		}
		fmt.Fprintf(&b, "%4d  %s (%s)\n", w.tests, w.reason, strings.Join(w.in, ", "))
	}
	return b.String()
}

// box returns what is to be seen of a flaky test: its name, and the output of its
// first failure.
func box(text, file string) string {
	name, output, _ := strings.Cut(text, "\n")
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	var b strings.Builder
	fmt.Fprintf(&b, "+-- FLAKY: %s: it failed, and passed when it was run again. Its first failure:\n", name)
	for i, line := range lines {
		if i == mostLines {
			fmt.Fprintf(&b, "|   … %d more lines in %s\n", len(lines)-i, file)
			break
		}
		fmt.Fprintf(&b, "|   %s\n", line)
	}
	fmt.Fprintf(&b, "+-- Its cause is to be mended before the next change.\n")
	return b.String()
}

// listSlowest writes the slowest tests of all runs in a folder, without subtests.
func listSlowest(out io.Writer, n int, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	type row struct {
		test    test
		seconds float64
	}
	var rows []row
	for _, name := range files {
		a, err := readAccount(name)
		if err != nil {
			return err
		}
		for t, seconds := range a.took {
			if !strings.Contains(t.name, "/") {
				rows = append(rows, row{t, seconds})
			}
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), compareTests(a.test, b.test))
	})
	for _, r := range rows[:min(n, len(rows))] {
		fmt.Fprintf(out, "%8.1f s  %s\n", r.seconds, r.test)
	}
	return nil
}
