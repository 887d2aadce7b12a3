package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBusyAtomics checks that the probes of an atomic variable that was not named are
// removed when it costs too much, which the report says, and that a named one is
// observed to the end.
func TestBusyAtomics(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct {
		name     string
		hits     int
		flags    []string
		let      bool
		min, max int // events
	}{
		{"few", 1000, []string{"--watch-shared=off"}, false, 2000, 2100},
		{"many", 400_000, []string{"--watch-shared=off"}, true, 16_000, 200_000},
		{"many, watched", 100_000, []string{"--watch", "allocations"}, false, 200_000, 200_100},
		{"many, left out", 400_000, []string{"--watch-shared=off", "--no-atomics"}, false, 1, 100},
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

// TestPolledFlags checks that a thread which reads several flags in turn, until they are set, is recorded as often as
// one of them changes, and not as often as it reads them.
func TestPolledFlags(t *testing.T) {
	needBPF(t)
	t.Parallel()
	_, r := reported(t, "exec", "--watch-shared=all", "--", processFixture(t, "flags.c", "-g"))
	if r.Run.Events < 30 || r.Run.Events > 500 {
		t.Errorf("%d events, want 30 to 500", r.Run.Events)
	}
	wantSummary(t, r, "")
}

// TestPolledAtomic checks that a variable that is polled too often loses the probe that is hit so
// often, not those of its writer, and that the finding which rests on that is likely and names where.
// Its twin polls less, and is silent.
func TestPolledAtomic(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct {
		name   string
		polls  int
		doubts bool
	}{{"seldom", 100, false}, {"often", 100_000, true}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			trace, text := filepath.Join(dir, "trace"), filepath.Join(dir, "text.std")
			_, r := reported(t, "exec", "--record", trace, "--watch", "data", "--", processFixture(t, "polled.c"), fmt.Sprint(c.polls))
			notes := strings.Join(r.Run.Notes, "\n")
			if said := strings.Contains(notes, "the atomic variable flag was accessed too often in look"); said != c.doubts {
				t.Errorf("notes: %q", notes)
			}
			startTool(t, childOptions{}, "convert", "--to", "std", trace, text).want(0)
			events, err := os.ReadFile(text)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(events), "|w(flag)|"); n != 1 {
				t.Errorf("%d writes of the flag were observed, want 1", n)
			}
			if !c.doubts {
				wantSummary(t, r, "")
				return
			}
			wantSummary(t, r, "likely race of data")
			if why := r.Findings[0].Reason; !strings.Contains(why, "flag is accessed too often in look") {
				t.Errorf("reason %q", why)
			}
		})
	}
}
