package main

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documentedFlags reads the table of docs/cli.md: the commands of each flag.
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
	delete(out, "version") // of no command
	return out
}

// docs/cli.md has each flag that --help of a command lists, and no other.
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
