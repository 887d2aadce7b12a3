package eraser

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// FuzzEvents checks that a run that no program can produce causes no panic, no endless loop and no
// false pair.
func FuzzEvents(f *testing.F) {
	f.Add([]byte{1, 5, 1, 1, 1, 5, 2, 1, 2, 5, 2, 1, 2, 5, 1, 1})
	f.Add([]byte{1, 9, 1, 1, 1, 12, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		x := analyse(Options{History: 3, MaxPairs: 3, EveryPair: true}, eventtest.InvalidEvents(data))
		for _, r := range x.Finish() {
			if len(r.Threads) != 2 || r.Threads[0] == r.Threads[1] || len(r.Threads) != len(r.Evidence) {
				t.Errorf("%+v", r)
			}
		}
	})
}
