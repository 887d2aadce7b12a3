package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestCodeBetweenAcquisitions asks of each acquisition of a second mutex whether the code since the
// first one depends on memory that other threads write: not in the ticket shop, but in a shop that
// looks at the stock before it locks the ledger.
func TestCodeBetweenAcquisitions(t *testing.T) {
	for _, c := range []struct {
		source string
		ok     bool
		why    string
	}{
		{"../../../../examples/shop/shop.c", true, ""},
		{"between.c", false, "the branch at between.c:"},
	} {
		for _, flags := range []string{"-O0", "-O2", "-O0 -static", "-O2 -static"} {
			t.Run(filepath.Base(c.source)+flags, func(t *testing.T) {
				r := observe(t, build(t, "gcc", c.source, append(strings.Fields(flags), "-g", "-pthread")...), options{})
				asked := 0
				last := map[event.ThreadID]event.Event{}
				for _, e := range r.Events {
					if from := last[e.Thread]; e.Op == event.Acquire && from.Op == event.Acquire {
						asked++
						if ok, why := r.Link.ReadsNothing(from.Stack, e.Stack); ok != c.ok || !strings.Contains(why, c.why) {
							t.Errorf("%v, %q", ok, why)
						}
					}
					if e.Op == event.Acquire || e.Op == event.Release {
						last[e.Thread] = e
					}
				}
				if asked == 0 {
					t.Error("no two acquisitions follow each other")
				}
			})
		}
	}
}
