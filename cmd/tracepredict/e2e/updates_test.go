package e2e

import (
	"path/filepath"
	"testing"
)

// TestUpdates checks that a change of an atomic variable whose result nobody uses does not hide a race
// on the variable beside it, nor one that is not atomic a race on the variable itself, and that their
// innocent twins are silent.
func TestUpdates(t *testing.T) {
	needBPF(t)
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
