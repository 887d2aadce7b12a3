package property_test

import (
	"testing"
	"time"

	"github.com/tracepredict/tracepredict/analysis/property"
	"github.com/tracepredict/tracepredict/analysis/stats"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestLatency: with two events in the queue a level is closed when the second arrives, so that
// each event waits for the next one, and the last for the end of the run.
func TestLatency(t *testing.T) {
	var now uint64
	latency := stats.NewLatency(func() uint64 { return now })
	a, err := property.New(property.Options{
		Properties: []property.Property{{Name: "p", Monitor: word{8}, Labels: sums{}, Variables: []int{0, 1}}},
		Variables:  []string{"x", "y"}, Initial: []uint64{0, 0}, Queue: 2, Latency: latency,
		Variable: func(id event.ObjectID) int { return int(id) - 1 },
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range []uint64{100, 200, 500, 1000} {
		e := event.Event{
			Seq: uint64(i + 1), Time: at, Thread: 1, Slot: 0, Op: event.Write, Kind: event.KindVariable, Object: event.ObjectID(1 + i%2),
			Value: 7, Flags: event.HasValue,
		}
		now = at + 5 // time in the ring buffer
		a.Event(&e)
		read := event.Event{Seq: e.Seq, Time: at + 1, Thread: 1, Op: event.Read, Kind: event.KindVariable, Object: 1}
		a.Event(&read) // not relevant
	}
	now = 4000
	a.Finish()
	h := latency.Spread()
	if got, want := [4]uint64{h.N(), h.Quantile(0), h.Quantile(0.5), h.Max()}, [4]uint64{4, 105, 311, 3000}; got != want {
		t.Errorf("%d values, least %d, median %d, most %d; want %v", got[0], got[1], got[2], got[3], want)
	}
	if got := time.Duration(h.Quantile(0.99)); got != 3000 {
		t.Errorf("99 per cent within %v", got)
	}
}
