package main

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/tracepredict/tracepredict/analysis/deadlock/goodlock"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/cmd/tracepredict/manual"
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
	for _, name := range about {
		delete(out, name)
	}
	return out
}

// about are the flags that each command has.
var about = []string{"help", "help-all", "version"}

// pageOf returns all that is said about a command.
func pageOf(t *testing.T, command string) manual.Page {
	t.Helper()
	cmd, _, err := (&app{}).rootCommand().Find([]string{command})
	if err != nil {
		t.Fatal(err)
	}
	return manual.Of(cmd, flagGroups(), true)
}

// TestFlagsAreDocumented: docs/cli.md has each flag that a command has, and no other.
func TestFlagsAreDocumented(t *testing.T) {
	got := map[string][]string{}
	for _, c := range (&app{}).rootCommand().Commands() {
		for _, g := range pageOf(t, c.Name()).Flags {
			for _, f := range g.Rows {
				if !slices.Contains(about, f.Name) {
					got[f.Name] = append(got[f.Name], c.Name())
				}
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

// TestFlagsHaveGroups: each flag belongs to one group, and each flag of a group to some command.
func TestFlagsHaveGroups(t *testing.T) {
	groups := map[string]string{}
	for _, g := range flagGroups() {
		for _, name := range g.Names {
			if other := groups[name]; other != "" {
				t.Errorf("--%s is in two groups, %s and %s", name, other, g.Title)
			}
			groups[name] = g.Title
		}
	}
	used := map[string]bool{}
	for _, c := range (&app{}).rootCommand().Commands() {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			used[f.Name] = true
			if groups[f.Name] == "" && !slices.Contains(about, f.Name) {
				t.Errorf("--%s of %s is in no group of flaggroups.go", f.Name, c.Name())
			}
		})
	}
	for name := range groups {
		if !used[name] {
			t.Errorf("no command has --%s, which is in a group", name)
		}
	}
}

// TestCommonFlags: the help of a command with many flags has at most twelve of them, and says how many it leaves out.
func TestCommonFlags(t *testing.T) {
	for command, common := range map[string]int{"exec": 12, "attach": 12, "analyze": 6} {
		cmd, _, err := (&app{}).rootCommand().Find([]string{command})
		if err != nil {
			t.Fatal(err)
		}
		short, all := manual.Of(cmd, flagGroups(), false), manual.Of(cmd, flagGroups(), true)
		n := 0
		for _, g := range all.Flags {
			n += len(g.Rows)
		}
		rows := short.Flags[0].Rows
		if got := len(rows) - 2; len(short.Flags) != 1 || got != common || short.Hidden != n-len(rows) {
			t.Errorf("%s --help: %d common flags, %d hidden of %d, in %d groups", command, got, short.Hidden, n, len(short.Flags))
		}
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
		digits := strconv.FormatUint(c.value, 10)
		if !quotes(flagText(t, c.command, c.flag), c.flag, digits) {
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

// flagText returns what the help of a command says of a flag.
func flagText(t *testing.T, command, name string) string {
	t.Helper()
	for _, g := range pageOf(t, command).Flags {
		for _, f := range g.Rows {
			if f.Name == name {
				return f.Spelling() + " " + f.Text
			}
		}
	}
	t.Fatalf("%s has no --%s", command, name)
	return ""
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
