package goodlock

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// FuzzEvents checks that a run that no program can produce causes no panic, no endless loop and no
// false cycle.
func FuzzEvents(f *testing.F) {
	f.Add([]byte{1, 5, 1, 1, 1, 5, 2, 1, 2, 5, 2, 1, 2, 5, 1, 1})
	f.Add([]byte{1, 9, 1, 1, 1, 12, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		opts := Options{History: 4, MaxEdges: 20, Budget: 20000, MaxFindings: 20, Explain: func(finding.Pruned) {}}
		x := run(opts, eventtest.InvalidEvents(data))
		for _, r := range x.Finish() {
			if len(r.Threads) < 2 || len(r.Threads) != len(r.Evidence) || len(r.Objects) != len(r.Evidence) {
				t.Errorf("%+v", r)
			}
		}
	})
}
