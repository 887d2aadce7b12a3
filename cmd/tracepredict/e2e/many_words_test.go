package e2e

import (
	"strings"
	"testing"
)

// TestManyWords checks that a race is found, and none if a lock guards the counter, if one access came before and one
// after the program used more memory than one table of words has room for.
func TestManyWords(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "many_words.c", "-O1", "-g", "-pthread")
	for _, c := range []struct {
		args []string
		want bool
	}{{[]string{"220000"}, true}, {[]string{"220000", "locked"}, false}} {
		_, r := reported(t, append([]string{"exec", "--budget", "none", "--", program}, c.args...)...)
		if got := strings.Contains(r.summary(), "predicted race") || strings.Contains(r.summary(), "observed race"); got != c.want || !c.want && len(r.Findings) > 0 {
			t.Errorf("%v: found %s", c.args, r.summary())
		}
		for _, note := range r.Run.Notes {
			if strings.Contains(note, "forgotten, to make room") {
				t.Errorf("%v: %s", c.args, note)
			}
		}
	}
}
