package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestLoadedLibrary checks that a library has its probes before dlopen returns, so that what is called at once is seen: exec
// holds the thread meanwhile, by a signal that the program does not get. Where it blocks that, a note says what was missed.
func TestLoadedLibrary(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "loads.c", "-O1", "-g", "-pthread")
	library := build(t, "gcc", "loads_plugin.c", "-O1", "-g", "-fPIC", "-shared")
	const missed = "was loaded while the program ran: what it did in the first"
	for how, late := range map[string]bool{"": false, "handled": false, "blocked": true} {
		t.Run(how, func(t *testing.T) {
			var c *child
			start := func(args ...string) *child {
				c = startTool(t, childOptions{}, args...)
				return c
			}
			_, r := reportedBy(t, start, "exec", "--watch-shared=all", "--", program, library, how)
			out := c.out.String()
			notes := strings.Join(r.Run.Notes, "; ")
			if strings.Contains(notes, missed) != late {
				t.Errorf("notes: %q", notes)
			}
			if got := r.summary(); !late && !strings.HasSuffix(got, " race of calls") {
				t.Errorf("findings: %q (%s)", got, notes)
			}
			want := 0
			if how == "handled" {
				want = 1 // what it sends itself
			}
			if line := fmt.Sprintf("urgent %d\n", want); out != line {
				t.Errorf("it printed %q, want %q", out, line)
			}
		})
	}
}

// TestLoadersLock checks that a race between what a constructor of a library prepares and a thread that has loaded the library
// itself is likely at most: it waited for the constructor.
func TestLoadersLock(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "loads.c", "-O1", "-g", "-pthread")
	library := build(t, "gcc", "loads_table.c", "-O1", "-g", "-fPIC", "-shared")
	_, r := reported(t, "exec", "--watch-shared=all", "--", program, library, "each")
	for i := range r.Findings {
		f := &r.Findings[i]
		if !slices.Contains(f.Objects, "table") {
			continue // the threads write the address of the function
		}
		if f.Confidence != "likely" && f.Confidence != "potential" {
			t.Errorf("%s: %s (%s)", f.Confidence, f.Message, f.Reason)
		}
	}
}
