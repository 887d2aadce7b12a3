package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestBusyAtomics checks that the probes of an atomic variable that was not named are
// removed when it costs too much, which the report says, and that a named one is
// observed to the end.
func TestBusyAtomics(t *testing.T) {
	needBPF(t)
	for _, c := range []struct {
		name     string
		hits     int
		flags    []string
		let      bool
		min, max int // events
	}{
		{"few", 1000, nil, false, 2000, 2100},
		{"many", 400_000, nil, true, 16_000, 200_000},
		{"many, watched", 100_000, []string{"--watch", "allocations"}, false, 200_000, 200_100},
		{"many, left out", 400_000, []string{"--no-atomics"}, false, 1, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "report.json")
			args := append([]string{"exec", "--confidence", "potential", "--fail-on", "potential", "--format", "json", "--output", report}, c.flags...)
			tool := startTool(t, childOptions{}, append(args, "--", processFixture(t, "busy.c"), fmt.Sprint(c.hits))...)
			tool.want(0)
			if !tool.out.has(fmt.Sprintf("counted %d 2", 2*c.hits)) {
				t.Errorf("the program said %q", tool.out.String())
			}
			r := readReport(t, report)
			if r.Run.Events < c.min || r.Run.Events > c.max {
				t.Errorf("%d events, want %d to %d", r.Run.Events, c.min, c.max)
			}
			notes := strings.Join(r.Run.Notes, "\n")
			if said := strings.Contains(notes, "the atomic variable allocations was accessed too often"); said != c.let {
				t.Errorf("let go: %v, want %v: %q", said, c.let, notes)
			}
		})
	}
}
