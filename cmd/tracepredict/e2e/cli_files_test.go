package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOldReportsStay checks that a command which fails before there is a report leaves the file of an older one as it
// is, and the program and the trace, too.
func TestOldReportsStay(t *testing.T) {
	needBPF(t)
	t.Parallel()
	dir := t.TempDir()
	program, trace, old := filepath.Join(dir, "program"), filepath.Join(dir, "run.trace"), filepath.Join(dir, "old")
	copyFile(t, processFixture(t, "rounds.c"), program)
	startTool(t, childOptions{Stdin: strings.NewReader("")}, "exec", "--record", trace, "--output", os.DevNull, "--", program).want(0)
	for name, c := range map[string]struct {
		status int
		args   []string
	}{
		"a wrong process ID":         {125, []string{"attach", "--output", old, "-p", "999999999"}},
		"no such program":            {127, []string{"exec", "--output", old, "--record", old + ".trace", "--", filepath.Join(dir, "missing")}},
		"an unknown variable":        {2, []string{"exec", "--output", old, "--watch", "nosuch", "--", program}},
		"a trace, unknown variable":  {2, []string{"exec", "--record", old, "--watch", "nosuch", "--", program}},
		"an unknown user":            {125, []string{"exec", "--output", old, "--user", "nosuchuser", "--", program}},
		"no specification":           {2, []string{"exec", "--output", old, "--spec", filepath.Join(dir, "missing.tps"), "--", program}},
		"no trace":                   {125, []string{"analyze", "--output", old, filepath.Join(dir, "missing")}},
		"no trace to convert":        {125, []string{"convert", "--to", "std", filepath.Join(dir, "missing"), old}},
		"report and trace":           {2, []string{"exec", "--output", old, "--record", old, "--", program}},
		"a report over suppressions": {2, []string{"exec", "--output", old, "--suppressions", old, "--", program}},
		"a report over the program":  {2, []string{"exec", "--output", program, "--", program}},
		"a trace over the program":   {2, []string{"exec", "--record", program, "--", program}},
		"a report over the trace":    {2, []string{"analyze", "--output", trace, trace}},
		"a trace over itself":        {2, []string{"convert", "--to", "trace", trace, trace}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(old, []byte("older report\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			before := contents(t, old, program, trace)
			tool := startTool(t, childOptions{Stdin: strings.NewReader("")}, c.args...)
			if got := tool.wait(); got != c.status {
				t.Errorf("exit status %d, want %d", got, c.status)
			}
			if !bytes.Equal(contents(t, old, program, trace), before) {
				t.Error("a file was changed")
			}
			if _, err := os.Stat(old + ".trace"); !os.IsNotExist(err) {
				t.Errorf("an empty file is left: %v", err)
			}
		})
	}
}

func contents(t testing.TB, names ...string) []byte {
	t.Helper()
	var all []byte
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}
