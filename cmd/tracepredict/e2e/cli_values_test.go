package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// These are the values that the two threads of values.c write, as the source spells
// them.
var valuesWritten = map[string][2]string{
	"all.ready":   {"true", "false"},
	"all.letter":  {"'a' (97)", "10"},
	"all.small":   {"-3", "6"},
	"all.octet":   {"253", "6"},
	"all.mode":    {"OPEN (5)", "SHUT (-1)"},
	"all.balance": {"-3", "6"},
	"all.ratio":   {"0.5", "-2.25"},
	"all.mean":    {"0.5", "-2.25"},
	"all.head":    {"0x1000", "0x0"},
	"all.low":     {"5", "6"},
	"all.middle":  {"-3", "6"},
	"all.field":   {"OPEN (5)", "SHUT (-1)"},
	"all.wide":    {"1099511627773", "6"},
}

// TestValuesAsInTheSource checks that reports, live and of a trace, write values as the
// source does, those of members and bit fields too.
func TestValuesAsInTheSource(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, flags := range []string{"-O0", "-O2"} {
		t.Run(flags, func(t *testing.T) {
			program := build(t, "gcc", "values.c", flags, "-pthread")
			var whole []string
			for name := range valuesWritten {
				switch {
				case !isBits(name):
					whole = append(whole, name)
				case flags == "-O0": // otherwise one access may write several of them
					checkValues(t, program, name)
				}
			}
			checkValues(t, program, whole...)
		})
	}
}

// checkValues checks the values of variables in the reports of one run that watches
// them.
func checkValues(t *testing.T, program string, names ...string) {
	t.Helper()
	dir := t.TempDir()
	file, live := filepath.Join(dir, "run.trace"), filepath.Join(dir, "live.txt")
	args := []string{"exec", "--output", live, "--record", file}
	for _, name := range names {
		args = append(args, "--watch", name)
	}
	startTool(t, childOptions{}, append(args, "--", program)...).want(66)
	again, asJSON := filepath.Join(dir, "again.txt"), filepath.Join(dir, "again.json")
	startTool(t, childOptions{}, "analyze", "--output", again, file).want(66)
	wantSameFile(t, live, again)
	startTool(t, childOptions{}, "analyze", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", asJSON, file).want(66)
	text, err := os.ReadFile(live)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		want := valuesWritten[name]
		words := []string{name + " = " + want[0] + " "}
		if !isBits(name) { // the second thread reads the storage unit of these before it writes
			words = append(words, name+" = "+want[1]+" ")
			checkJSONValues(t, asJSON, name, want)
		}
		for _, w := range words {
			if !strings.Contains(string(text), w) {
				t.Errorf("the report lacks %q:\n%s", w, text)
			}
		}
	}
}

func isBits(name string) bool {
	return name == "all.low" || name == "all.middle" || name == "all.field" || name == "all.wide"
}

func checkJSONValues(t *testing.T, file, name string, want [2]string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Findings []struct {
			Objects  []string `json:"objects"`
			Evidence []struct {
				Value *uint64 `json:"value"`
				Text  string  `json:"value_text"`
			} `json:"evidence"`
		} `json:"findings"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if e := f.Evidence; slices.Equal(f.Objects, []string{name}) && len(e) == 2 && e[0].Value != nil && e[0].Text == want[0] && e[1].Text == want[1] {
			return
		}
	}
	t.Errorf("%s: no race has the values %q: %+v", name, want, r.Findings)
}
