package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A warm run follows the cold one whose plans it uses, whichever group comes first.
func TestWaysAreColdThenWarm(t *testing.T) {
	for _, c := range []struct {
		config
		groups, all int
	}{
		{config{tool: "a"}, 3, 9},
		{config{tool: "a", beside: "b"}, 4, 15},
	} {
		groups, seen, n := c.ways(), map[string]bool{}, 0
		for _, group := range groups {
			for i, w := range group {
				n++
				if seen[w.key()] {
					t.Errorf("two ways are %s", w.key())
				}
				seen[w.key()] = true
				if w.tool == "" || w.cold {
					continue
				}
				before := group[i-1]
				if w.name == everyLock && w.flags[0] == before.flags[0] {
					continue // its plans are those of the way before
				}
				if before.cold = false; before.key() != w.key() || before.tool != w.tool {
					t.Errorf("%s runs after %s", w.key(), group[i-1].key())
				}
			}
		}
		if len(groups) != c.groups || n != c.all || !seen[plainKey] || !seen[floorKey] {
			t.Errorf("%d ways in %d groups, want %d in %d: %v", n, len(groups), c.all, c.groups, seen)
		}
	}
}

func TestParseSteps(t *testing.T) {
	got, err := parseSteps("main runs\n60 steps, 1.250 ms each\n")
	if want := (steps{60, 1.25}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", "main runs\n", "60 steps, fast\n", "60 steps, 1.250 ms each, or so\n"} {
		if got, err := parseSteps(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestParseReport(t *testing.T) {
	const head = "tracepredict: no findings in train (pid 7): 2,423,835 events, 19 threads, 16.7 s, "
	for text, want := range map[string]struct {
		notes int
		lost  string
	}{
		head + "nothing lost\n":            {0, "nothing lost"},
		head + "1,204 LOST in 3 threads\n": {0, "1,204 LOST"},
		head + "CUT SHORT\n":               {0, "CUT SHORT"},
		strings.Replace(head, "2,423,835 events", "1 event", 1) + "nothing lost\n  note: one\n":                                                                   {1, "nothing lost"},
		head + "nothing lost\n  looked for: deadlocks\n    of these\n  note: one\n    that is long\n  note: two\n  --verbose lists all 62 notes\n\n    not one\n": {4, "nothing lost"},
	} {
		notes, lost, err := parseReport(text)
		if err != nil || notes != want.notes || lost != want.lost {
			t.Errorf("%s: %d, %q, %v; want %+v", text, notes, lost, err, want)
		}
	}
	if _, _, err := parseReport("tracepredict: something else\n"); err == nil {
		t.Error("what is no report is taken")
	}
}

func TestRenderLarge(t *testing.T) {
	l := &large{runner: &runner{config: config{tool: "a", beside: "b", rounds: 2, steps: 60}}, versions: []string{"v2", "v1"}, trained: map[string][]trained{}}
	ran := func(w way, steps ...float64) {
		for _, ms := range steps {
			l.trained[w.key()] = append(l.trained[w.key()], trained{begin: time.Second, whole: 3 * time.Second, end: 500 * time.Millisecond, step: ms, peak: 200 << 20, cpu: 2 * time.Second, notes: 5, lost: "nothing lost"})
		}
	}
	ran(way{name: string(plain)}, 1, 2)
	ran(way{name: nothing}, 50, 100)
	ran(way{name: "exec", cold: true}, 100, 300)
	ran(way{name: "attach", other: true}, 200, 400)
	l.trained[way{name: "exec", cold: true}.key()][0].lost = "9 LOST"
	took := func(seconds int) startTime {
		return startTime{whole: time.Duration(seconds) * time.Second, cpu: time.Duration(2*seconds) * time.Second}
	}
	l.started = map[string][]startTimes{"java": {{plain: took(1), cold: []startTime{took(4), took(6)}, warm: []startTime{took(2), took(3)}}}}
	got := renderLarge(l)
	for _, want := range []string{
		"(rounds: 2, size: 0, steps: 60)", "*This* build is v2, the *other* one v1.",
		"| plain | - | 1.00 | 3.00 | 0.50 | 1.50 | 1.00 | 0.02 | - | - | - | - |\n",
		"| " + nothing + " | - | 1.00 | - | 0.50 | 75.00 | 50.00 | 1.00 | - | - | - | - |\n",
		"| exec, this | no | 1.00 | 3.00 | 0.50 | 200.00 | 125.00 | 2.50 | 200 | 2.00 | 5 | 9 LOST |\n",
		"| attach, other | yes | 1.00 | - | 0.50 | 300.00 | 200.00 | 4.00 | 200 | 2.00 | 5 | nothing |\n",
		"no plans kept, this | CPU | plans kept, this | CPU | times plain | no plans kept, other |",
		"| `java -version` | 1.00 | 2.00 | 4.00 | 8.00 | 2.00 | 4.00 | 2.0 | 6.00 | 12.00 | 3.00 | 6.00 | 3.0 |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	l.beside, l.versions = "", l.versions[:1]
	if got := renderLarge(l); strings.Contains(got, "other") || !strings.Contains(got, "| exec | no |") {
		t.Errorf("of one build:\n%s", got)
	}
}

// The page is written from a full run alone, and -beside is only for -large.
func TestLargeFlags(t *testing.T) {
	full := config{large: true, rounds: 1, scale: 1, steps: 1, output: performance}
	full.only = full.names()
	for name, c := range map[string]struct {
		change func(*config)
		output string
		wrong  bool
	}{
		"full":     {func(*config) {}, performance, false},
		"small":    {func(c *config) { c.scale = 0.5 }, "", false},
		"one":      {func(c *config) { c.only = []string{standIn} }, "", false},
		"unknown":  {func(c *config) { c.only = []string{"memcached"} }, "", true},
		"no steps": {func(c *config) { c.steps = 0 }, "", true},
		"beside":   {func(c *config) { c.large, c.beside, c.only = false, "b", nil }, "", true},
	} {
		config := full
		c.change(&config)
		if err := config.check(); (err != nil) != c.wrong || err == nil && config.output != c.output {
			t.Errorf("%s: %v, page %q", name, err, config.output)
		}
	}
}

func TestPartsAreOneAtLeast(t *testing.T) {
	for scale, want := range map[float64]int{1: standInParts, 0.5: standInParts / 2, 1e-9: 1} {
		if got := len(partsOf(scale)); got != want {
			t.Errorf("size %g: %d parts, want %d", scale, got, want)
		}
	}
}

// TestStandIn builds the stand-in and runs it as it is measured, plain.
func TestStandIn(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	t.Chdir("../..")
	dir := filepath.Join(t.TempDir(), "standin")
	built, err := buildStandIn(t.Context(), dir, 2, 1e-9)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "liblarge2.so")); err != nil || built.size < 2*info.Size()-4096 || info.Size() < 64<<10 {
		t.Errorf("%d bytes: %v, %v", built.size, info, err)
	}
	for _, args := range [][]string{{"3"}, {"3", "wait"}} {
		cmd := exec.CommandContext(t.Context(), built.program, args...)
		var printed bytes.Buffer
		out := &waitFor{text: "main runs\n", seen: make(chan struct{}), to: io.Writer(&printed)}
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		if len(args) > 1 {
			<-out.seen
			if err := cmd.Process.Signal(unix.SIGUSR1); err != nil {
				t.Error(err)
			}
		}
		if err := <-done; err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		if got, err := parseSteps(printed.String()); err != nil || got.count != 3 {
			t.Errorf("%q: %+v, %v", args, got, err)
		}
	}
}
