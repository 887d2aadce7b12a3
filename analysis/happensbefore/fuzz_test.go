package happensbefore

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

// FuzzEvents passes any events to an analysis, also those that no run can have made.
func FuzzEvents(f *testing.F) {
	f.Add([]byte{1, 2, 1, 0, 0, 0, 2, 2, 1, 0, 0, 0, 1, 4, 1, 0, 0, 0})
	f.Add([]byte{1, 9, 0, 2, 0, 0, 2, 9, 0, 2, 0, 0, 1, 12, 0, 1, 0, 0, 2, 11, 0, 1, 0, 0})
	f.Add([]byte{1, 15, 3, 0, 0, 0, 2, 17, 3, 0, 0, 0, 1, 16, 3, 0, 0, 0, 2, 26, 3, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		must, a := clock.New(), New(Options{MaxPairs: 4})
		for seq := uint64(1); len(data) >= 6; seq++ {
			e := event.Event{
				Seq: seq, Thread: event.ThreadID(data[0]%8 + 1), Op: event.Op(data[1]) % event.NumOps, Object: event.ObjectID(data[2] % 8),
				Peer: event.ThreadID(data[3]%8 + 1), Flags: event.Flags(data[4])<<4 | event.Flags(data[4])>>4, Kind: event.Kind(data[5]) % (event.KindChannel + 1), Value: uint64(data[5] >> 4),
			}
			data = data[6:]
			must.Stamp(&e)
			a.Event(&e)
			must.Done(&e)
		}
		a.Finish()
		a.Remember(event.NewNames())
		for _, tt := range a.slots {
			if tt != nil && tt.clock.refs < 1 {
				t.Fatalf("the clock of thread %d is nobody's", tt.id)
			}
		}
	})
}
