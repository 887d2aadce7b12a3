package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestUpdates checks that a change of an atomic variable whose result nobody uses does not hide a race
// on the variable beside it, nor one that is not atomic a race on the variable itself, and that their
// innocent twins are silent.
func TestUpdates(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, flag := range []string{"-O0", "-O2"} {
		program := build(t, "gcc", "updates.c", flag, "-g", "-pthread")
		for _, c := range []struct{ name, found string }{
			{"count", "predicted race of total"}, {"store", "predicted race of total"}, {"ticket", ""}, {"exchange", ""},
			{"half", "predicted race of hits"}, {"whole", ""},
		} {
			if flag == "-O0" && c.name == "half" {
				continue // compiled to a load and a store, like atomic ones
			}
			t.Run(c.name+flag, func(t *testing.T) {
				trace := filepath.Join(t.TempDir(), "trace")
				_, r := reported(t, "exec", "--record", trace, "--watch", "total", "--watch", "hits", "--watch", "spares", "--", program, c.name)
				wantSummary(t, r, c.found)
				_, again := reported(t, "analyze", trace)
				wantSummary(t, again, c.found)
			})
		}
	}
}

// TestSameValue checks that an atomic flag which two threads may both find clear hides neither a deadlock
// nor a race behind it, and that its innocent twin, in which one operation takes the flag, is silent.
func TestSameValue(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "gate.c", "-O1", "-g", "-pthread")
	for _, c := range []struct{ name, found string }{{"look", "likely deadlock of one, two; likely race of total"}, {"exchange", ""}} {
		t.Run(c.name, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "trace")
			_, r := reported(t, "exec", "--record", trace, "--watch", "total", "--", program, c.name)
			wantSummary(t, r, c.found)
			_, again := reported(t, "analyze", trace)
			wantSummary(t, again, c.found)
		})
	}
}

// TestPrintedValue checks that a read of an atomic counter whose value is only printed does not hide a
// deadlock, which is likely since the thread reads another value, and that a look at the counter that
// decides does.
func TestPrintedValue(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "printed.c", "-O1", "-g", "-pthread")
	trace := filepath.Join(t.TempDir(), "trace")
	_, r := reported(t, "exec", "--record", trace, "--", program)
	wantSummary(t, r, "likely deadlock of in, out")
	if why := "in this schedule T3 reads another value of sent at printed.c:28 than in this run, and it was not checked that it then does the same"; r.Findings[0].Reason != why {
		t.Errorf("reason %q, want %q", r.Findings[0].Reason, why)
	}
	_, again := reported(t, "analyze", trace)
	wantSummary(t, again, "likely deadlock of in, out")
	_, r = reported(t, "exec", "--", program, "decides")
	wantSummary(t, r, "")
}

// TestUnexplainedRead checks that a race behind the read of a value whose write was not seen is likely,
// and names the read. Its twin, in which the sides are ordered, is silent.
func TestUnexplainedRead(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "behind.c", "-O1", "-g", "-pthread")
	trace := filepath.Join(t.TempDir(), "trace")
	_, r := reported(t, "exec", "--record", trace, "--no-watch-hw", "--watch", "data", "--watch", "head", "--", program)
	wantSummary(t, r, "likely race of data")
	if why := "T3 read a value of head at behind.c:24 that no recorded write left"; !strings.Contains(r.Findings[0].Reason, why) {
		t.Errorf("reason %q, want %q", r.Findings[0].Reason, why)
	}
	_, again := reported(t, "analyze", trace)
	wantSummary(t, again, "likely race of data")
	_, r = reported(t, "exec", "--no-watch-hw", "--watch", "data", "--watch", "head", "--", program, "ordered")
	wantSummary(t, r, "")
}

// TestElsewhere checks that a deadlock is silent whose thread certainly goes elsewhere with the value that it would have
// read: it compares it with a number that is not known but the same, keeps it in memory of its own, locks by it, or
// ends. In the twins, the thread may do the same, and the deadlock is likely.
func TestElsewhere(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, flag := range []string{"-O1", "-O2"} {
		program := build(t, "gcc", "elsewhere.c", flag, "-g", "-pthread")
		for _, name := range []string{"equal", "same_not_above", "heap", "same_heap", "local", "which", "same_sum", "exits", "same_exits"} {
			t.Run(name+flag, func(t *testing.T) {
				found := ""
				if strings.HasPrefix(name, "same") {
					found = "likely deadlock of one, two"
				}
				trace := filepath.Join(t.TempDir(), "trace")
				_, r := reported(t, "exec", "--record", trace, "--watch-shared", "--", program, name)
				wantSummary(t, r, found)
				_, again := reported(t, "analyze", trace)
				wantSummary(t, again, found)
			})
		}
	}
}
