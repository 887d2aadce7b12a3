package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

func watchedIn(t *testing.T, r jsonReport) map[string]jsonWatched {
	t.Helper()
	by := map[string]jsonWatched{}
	for _, w := range r.Run.Watched {
		if _, twice := by[w.Variable]; twice {
			t.Errorf("%s is there twice", w.Variable)
		}
		by[w.Variable] = w
	}
	return by
}

// TestWatchSharedFindsTheRace checks that the report lists the shared variables of the
// example with their locks, that the probes of a variable that one thread accesses
// often are removed early, and that the report of the trace is the same.
func TestWatchSharedFindsTheRace(t *testing.T) {
	needBPF(t)
	t.Parallel()
	trace := filepath.Join(t.TempDir(), "run.trace")
	status, r := reported(t, "exec", "--watch-shared", "--record", trace, "--", example(t, "discover"))
	if status != 66 {
		t.Errorf("exit status %d, want 66", status)
	}
	wantSummary(t, r, "predicted race of visitors")
	by := watchedIn(t, r)
	if len(by) != 35 || r.Run.Untouched != 0 {
		t.Errorf("%d variables accessed, %d not; want 35 and none", len(by), r.Run.Untouched)
	}
	for name, want := range map[string]jsonWatched{
		"visitors": {Use: "unguarded", Threads: 3, Fate: "kept", Guards: []string{}},
		"orders":   {Use: "guarded", Threads: 4, Fate: "kept", Guards: []string{"counter"}},
		"stock":    {Use: "guarded", Threads: 4, Fate: "kept", Guards: []string{"shelf"}},
		"planks":   {Use: "unshared", Threads: 1, Fate: "kept", Guards: []string{}},
		"stirs":    {Use: "ordered", Threads: 2, Fate: "unshared", Guards: []string{}}, // the main thread reads it once at the end
	} {
		got := by[name]
		if name == "stirs" {
			if len(got.Unwatched) == 0 {
				t.Error("stirs: no place where it was not watched to the end")
			}
			got.Unwatched = nil
			if got.Accesses >= 4_000_000/2 || got.UntilNS <= 0 {
				t.Errorf("stirs: %d accesses were seen, until %d ns: its probes stayed", got.Accesses, got.UntilNS)
			}
		}
		got.Variable, got.Accesses, got.Recorded, got.UntilNS = "", 0, 0, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if status, again := reported(t, "analyze", trace); status != 66 || cmp.Diff(r, again) != "" {
		t.Errorf("the trace gives another report (-run +trace), status %d:\n%s", status, cmp.Diff(r, again))
	}
}

// TestWatchSharedStopsWatchingTheGuarded checks that the probes of a variable that is always
// guarded are removed after some thousand accesses, and that a named variable is
// watched to the end.
func TestWatchSharedStopsWatchingTheGuarded(t *testing.T) {
	needBPF(t)
	t.Parallel()
	status, r := reported(t, "exec", "--watch-shared", "--", build(t, "gcc", "guarded.c", "-O2", "-pthread"))
	if status != 0 || len(r.Findings) > 0 {
		t.Errorf("exit status %d, %d findings", status, len(r.Findings))
	}
	by := watchedIn(t, r)
	total := by["total"]
	if total.Use != "guarded" || total.Fate != "guarded" || cmp.Diff(total.Guards, []string{"lock"}) != "" || total.Threads < 2 || total.Accesses >= 150_000 {
		t.Errorf("total: %+v", total)
	}
	if s := by["settings"]; s.Use != "read-only" || s.Fate != "kept" || s.Accesses != 3000 {
		t.Errorf("settings: %+v", s)
	}
	if h := by["handed"]; h.Use != "unshared" || h.Threads != 1 || h.Fate != "kept" {
		t.Errorf("handed: %+v", h)
	}
	_, named := reported(t, "exec", "--watch-shared", "--watch", "total", "--", build(t, "gcc", "guarded.c", "-O2", "-pthread"))
	if by := watchedIn(t, named); by["total"].Variable != "" || by["settings"].Variable == "" || named.Run.Events <= 300_000 {
		t.Errorf("with --watch total: %+v, %d events", by, named.Run.Events)
	}
}

// TestSeldomAccessed checks that accesses where a variable is accessed seldom are seen after its other probes were
// removed, that the report names the places of these, and that the twin has no finding.
func TestSeldomAccessed(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "seldom.c", "-O1", "-pthread")
	run := []string{"exec", "--guarded-after", "500", "--unshared-after", "500", "--", program}
	_, r := reported(t, append(run, "bare")...)
	if s := r.summary(); len(r.Findings) != 2 || !strings.Contains(s, "predicted race of steps") || !strings.Contains(s, "predicted race of total") {
		t.Errorf("findings: %q, want races of steps and total", s)
	}
	by := watchedIn(t, r)
	for name, want := range map[string]jsonWatched{
		"total": {Fate: "guarded", Unwatched: []string{"in add at seldom.c:18"}},
		"steps": {Fate: "unshared", Unwatched: []string{"in add at seldom.c:21"}},
	} {
		if got := by[name]; got.Fate != want.Fate || cmp.Diff(got.Unwatched, want.Unwatched) != "" {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if _, r := reported(t, run...); r.summary() != "" {
		t.Errorf("the innocent twin has findings: %q", r.summary())
	}
}

// TestWatchSharedLeavesResultsAlone checks that the program prints what it prints
// without the tool.
func TestWatchSharedLeavesResultsAlone(t *testing.T) {
	needBPF(t)
	t.Parallel()
	c := startTool(t, childOptions{}, "exec", "--watch-shared", "--output", os.DevNull, "--", example(t, "discover"))
	if status := c.wait(); status != 66 || c.out.String() != "11 orders, 82 left, 10 visitors, 2000000 stirs\n" {
		t.Errorf("status %d, the program printed %q", status, c.out.String())
	}
}

// TestWatchSharedElements checks that each access of an array element selected at run
// time is one of that element, in arrays and in arrays of structures.
func TestWatchSharedElements(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, flags := range []string{"-O0", "-O2", "-O2 -no-pie", "-O3 -static"} {
		t.Run(flags, func(t *testing.T) {
			program := build(t, "gcc", "picked.c", append(strings.Fields(flags), "-pthread")...)
			trace := filepath.Join(t.TempDir(), "run.trace")
			_, r := reported(t, "exec", "--watch-shared", "--record", trace, "--", program)
			by := watchedIn(t, r)
			tickets := "unguarded"
			if strings.Contains(flags, "-static") && by["tickets"].Use == "ordered" {
				tickets = "ordered" // by chance: the atomic variables of libc then count as the program's, and may order the threads
			}
			for name, want := range map[string]jsonWatched{
				"shop.slots": {Use: "guarded", Elements: 32, Threads: 4},
				"own":        {Use: "ordered", Elements: 4, Threads: 2},
				"table":      {Use: "read-only", Elements: 61, Threads: 4},
				"tickets":    {Use: tickets, Elements: 2, Threads: by["tickets"].Threads},
				"grid":       {Use: "unshared", Elements: 15, Threads: 1},
			} {
				got := by[name]
				want.Variable, want.Fate, want.Accesses, want.Recorded, want.Guards = name, "kept", got.Accesses, got.Recorded, got.Guards
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			wantElements(t, trace, map[string]string{
				"shop.slots[3].state": "12 12", "shop.slots[3].hits": "12 12", "own[0]": "49 48", "tickets[1]": "2 2", "grid[2][4]": "0 1",
			})
			for _, f := range r.Findings {
				if f.Kind != "race" || !strings.HasPrefix(f.Objects[0], "tickets[") {
					t.Errorf("a %s %s of %s", f.Confidence, f.Kind, f.Objects)
				}
			}
		})
	}
}

// wantElements checks the numbers of reads and writes of variables in a trace.
func wantElements(t *testing.T, path string, want map[string]string) {
	t.Helper()
	out := startTool(t, childOptions{}, "convert", "--to", "std", path, "-")
	out.want(0)
	text := out.out.String()
	for name, n := range want {
		if got := fmt.Sprint(strings.Count(text, "|r("+name+")"), strings.Count(text, "|w("+name+")")); got != n {
			t.Errorf("%s: %s reads and writes, want %s", name, got, n)
		}
	}
}

// TestWatchSharedEnoughOfAnArray checks that the probes of an array are removed after
// the requested number of accesses, but for those that were hit seldom.
func TestWatchSharedEnoughOfAnArray(t *testing.T) {
	needBPF(t)
	t.Parallel()
	_, r := reported(t, "exec", "--watch-shared", "--elements-after", "60", "--", build(t, "gcc", "picked.c", "-O2", "-pthread"))
	by := watchedIn(t, r)
	for _, name := range []string{"shop.slots", "own", "table"} {
		if w := by[name]; w.Recorded < 60 || w.Recorded >= w.Accesses || w.Elements == 0 || (w.Fate == "enough") != (len(w.Unwatched) > 0) {
			t.Errorf("%s: %+v", name, w)
		}
	}
	if w := by["shop.slots"]; w.Fate != "enough" {
		t.Errorf("shop.slots: %+v", w)
	}
	if w := by["tickets"]; w.Fate != "kept" || w.Elements != 2 {
		t.Errorf("tickets: %+v", w)
	}
}

// TestOwnLibrary checks that what a library of the program's own shares is watched without being asked for, though the
// program itself creates no threads; that one without debug information is watched by --module alone; and that the twin
// whose library uses a lock has no finding.
func TestOwnLibrary(t *testing.T) {
	needBPF(t)
	t.Parallel()
	testtool.Need(t, "gcc")
	for _, c := range []struct {
		name, debug string
		flags       []string
		races       int
	}{
		{"with debug information", "-g", nil, 2},
		{"without", "-g0", nil, 0},
		{"named", "-g0", []string{"--watch-shared", "--module", "libjobs*"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, args := range [][]string{
				{"-shared", "-fPIC", "-DLIBRARY", c.debug, "-o", filepath.Join(dir, "libjobs.so")},
				{"-g", "-o", filepath.Join(dir, "program"), "-L" + dir, "-Wl,-rpath," + dir, "-ljobs"},
			} {
				if out, err := command(t, "gcc", append([]string{"-O1", "-pthread", "testdata/module.c"}, args...)...).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			run := append(append([]string{"exec"}, c.flags...), "--", filepath.Join(dir, "program"))
			if _, r := reported(t, run...); len(r.Findings) != c.races || strings.Count(r.summary(), "race of") != c.races {
				t.Errorf("findings: %q, want %d races (notes: %q)", r.summary(), c.races, r.Run.Notes)
			}
			if _, r := reported(t, append(run, "locked")...); r.summary() != "" {
				t.Errorf("the twin with a lock has findings: %q", r.summary())
			}
		})
	}
}
