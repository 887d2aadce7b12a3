package e2e

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// coverageLines are the lines of a report on what was looked for.
var coverageLines = regexp.MustCompile(`(?m)^ +(not )?looked for: .*\n|^ +nothing could be predicted, .*\n`)

// TestCoverage checks that a report without findings says what was looked for and what was not, and
// that the report of the recorded run says the same.
func TestCoverage(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "guarded.c", "-O1", "-pthread")
	for _, c := range []struct {
		name  string
		flags []string
		want  []string
		not   string
	}{
		{"nothing watched", []string{"--watch-shared=off"}, []string{"looked for: deadlocks of ", " and 1 barrier (no thread requested a lock while it held another); misuse of these\n", "not looked for: races, since no variable was watched"}, "nothing could be predicted"},
		{"watched", []string{"--watch", "total", "--misuse", "off"}, []string{"looked for: races in 1 variable; deadlocks of "}, "misuse"},
		{"shared", []string{"--watch-shared=static"}, []string{"looked for: races in 3 variables"}, "not looked for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "run.trace")
			flags := append([]string{"exec", "--record", trace}, c.flags...)
			live := startTool(t, childOptions{}, append(flags, "--", program)...)
			live.want(0)
			lines := strings.Join(coverageLines.FindAllString(live.err.String(), -1), "")
			for _, want := range c.want {
				if !strings.Contains(lines, want) {
					t.Errorf("%q is not in the report:\n%s", want, live.err.String())
				}
			}
			if c.not != "" && strings.Contains(lines, c.not) {
				t.Errorf("%q is in the report:\n%s", c.not, live.err.String())
			}
			args := []string{"analyze", trace}
			if c.name == "watched" {
				args = append(args, "--misuse", "off")
			}
			again := startTool(t, childOptions{}, args...)
			again.want(0)
			if got := strings.Join(coverageLines.FindAllString(again.err.String(), -1), ""); got != lines {
				t.Errorf("analyze says\n%sand the live run said\n%s", got, lines)
			}
		})
	}
}

// TestCoverageOfLittle checks what is said of a run in which nothing could have been predicted, and
// of a watched variable that nothing accessed.
func TestCoverageOfLittle(t *testing.T) {
	needBPF(t)
	t.Parallel()
	c := startTool(t, childOptions{}, "exec", "--", "/bin/true")
	c.want(0)
	if text := c.err.String(); !strings.Contains(text, "nothing could be predicted, since ") {
		t.Errorf("the report:\n%s", text)
	}
	program := build(t, "gcc", "unaccessed.c", "-O1", "-pthread")
	c = startTool(t, childOptions{}, "exec", "--watch", "spare", "--", program)
	c.want(0)
	if text := c.err.String(); !strings.Contains(text, "not looked for: races in spare, of which no access was seen") {
		t.Errorf("the report:\n%s", text)
	}
}
