package main

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/loader"
	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/observer/live"
)

// documentedFlags returns the commands of each flag in the table of docs/cli.md.
func documentedFlags(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	flag := regexp.MustCompile("`(?:-[a-z] [A-Z]+`, `)?--([a-z-]+)")
	out := map[string][]string{}
	for row := range strings.Lines(string(page)) {
		if !strings.HasPrefix(row, "| `-") {
			continue
		}
		cells := strings.Split(strings.ReplaceAll(row, `\|`, ""), "|")
		commands := strings.Split(strings.TrimSpace(cells[2]), ", ")
		slices.Sort(commands)
		for _, m := range flag.FindAllStringSubmatch(cells[1], -1) {
			out[m[1]] = commands
		}
	}
	delete(out, "version") // a flag of no command
	return out
}

// TestFlagsAreDocumented: docs/cli.md has each flag that the --help of a command lists, and no
// other.
func TestFlagsAreDocumented(t *testing.T) {
	flag := regexp.MustCompile(`(?m)^ +(?:-[a-z], )?--([a-z-]+)`)
	a := &app{}
	got := map[string][]string{}
	for _, c := range a.rootCommand().Commands() {
		var help strings.Builder
		if status := execute([]string{c.Name(), "--help"}, &help, io.Discard); status != 0 {
			t.Fatalf("%s --help: status %d", c.Name(), status)
		}
		_, list, _ := strings.Cut(help.String(), "\nFlags:\n")
		ordinary, group, grouped := strings.Cut(list, "\nAdvanced:\n")
		if bounded := c.Flags().Lookup("history") != nil; grouped != bounded {
			t.Errorf("%s --help has a group of advanced flags: %v, want %v", c.Name(), grouped, bounded)
		}
		for _, m := range flag.FindAllStringSubmatch(ordinary, -1) {
			if slices.Contains(advanced, m[1]) {
				t.Errorf("%s --help lists --%s among the ordinary flags", c.Name(), m[1])
			}
		}
		for _, m := range flag.FindAllStringSubmatch(group, -1) {
			if !slices.Contains(advanced, m[1]) {
				t.Errorf("%s --help lists --%s among the advanced flags", c.Name(), m[1])
			}
		}
		for _, m := range flag.FindAllStringSubmatch(list, -1) {
			if m[1] != "help" {
				got[m[1]] = append(got[m[1]], c.Name())
			}
		}
	}
	for _, commands := range got {
		slices.Sort(commands)
	}
	if d := cmp.Diff(got, documentedFlags(t)); d != "" {
		t.Errorf("flags (-the commands' +docs/cli.md's):\n%s", d)
	}
}

// TestDefaultsAreQuoted: the defaults in help and docs are those of the constants.
func TestDefaultsAreQuoted(t *testing.T) {
	of := loader.DefaultRemovalLimits()
	for _, c := range []struct {
		flag    string
		value   uint64
		command string
		pages   []string
	}{
		{"cycle-budget", goodlock.DefaultBudget, "analyze", []string{"lock-order"}},
		{"max-patterns", goodlock.DefaultMaxEdges, "analyze", []string{"lock-order"}},
		{"history", predict.DefaultSections, "analyze", []string{"cli"}},
		{"reversals", predict.DefaultReversals, "analyze", []string{"cli"}},
		{"window", defaultWindow, "analyze", []string{"cli"}},
		{"queue", defaultQueue, "analyze", []string{"cli"}},
		{"ring", attach.DefaultRingBytes >> 20, "exec", []string{"cli", "how-it-works", "performance"}},
		{"ring", attach.MinRingBytes >> 20, "exec", []string{"cli"}},
		{"unshared-after", of.Unshared, "exec", []string{"cli", "watch-shared"}},
		{"alone-after", of.SingleThread, "exec", []string{"cli", "watch-shared"}},
		{"elements-after", of.ArrayAccesses, "exec", []string{"cli", "watch-shared"}},
		{"guarded-after", live.DefaultGuarded, "exec", []string{"cli", "watch-shared"}},
	} {
		var help strings.Builder
		execute([]string{c.command, "--help"}, &help, io.Discard)
		digits := strconv.FormatUint(c.value, 10)
		if !quotes(help.String(), c.flag, digits) {
			t.Errorf("%s --help does not say that the default of --%s is %s", c.command, c.flag, digits)
		}
		for _, page := range c.pages {
			text, err := os.ReadFile("../../docs/" + page + ".md")
			if err != nil {
				t.Fatal(err)
			}
			if !quotes(strings.ReplaceAll(string(text), ",", ""), c.flag, digits) {
				t.Errorf("docs/%s.md does not say that the default of --%s is %s", page, c.flag, digits)
			}
		}
	}
}

// quotes reports whether some line of a text contains both a flag and a number, neither as part
// of another.
func quotes(text, flag, digits string) bool {
	name, number := regexp.MustCompile(`--`+flag+`\b`), regexp.MustCompile(`\b`+digits+`\b`)
	for line := range strings.Lines(text) {
		if name.MatchString(line) && number.MatchString(line) {
			return true
		}
	}
	return false
}
