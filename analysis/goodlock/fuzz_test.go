package goodlock

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// FuzzEvents feeds runs that no program can have had, as a damaged trace may
// hold: nothing may panic, run away or report a ring that is none.
func FuzzEvents(f *testing.F) {
	f.Add([]byte{1, 5, 1, 1, 1, 5, 2, 1, 2, 5, 2, 1, 2, 5, 1, 1})
	f.Add([]byte{1, 9, 1, 1, 1, 12, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		x := New(Options{History: 4, MaxPatterns: 20, Budget: 20000, MaxFindings: 20, Explain: func(finding.Pruned) {}})
		seq := uint64(0)
		for ; len(data) >= 4; data = data[4:] {
			seq++
			x.Event(&event.Event{
				Seq: seq, Thread: event.ThreadID(data[0] % 6), Op: event.Op(data[1]), Object: event.ObjectID(data[2] % 8),
				Peer: event.ThreadID(data[2] % 6), Flags: event.Flags(data[3]), Slot: uint32(data[0] % 6), Epoch: event.Epoch(seq),
				Must: make([]event.Epoch, data[3]%8),
			})
		}
		for _, r := range x.Finish() {
			if len(r.Threads) < 2 || len(r.Threads) != len(r.Evidence) || len(r.Objects) != len(r.Evidence) {
				t.Errorf("%+v", r)
			}
		}
	})
}
