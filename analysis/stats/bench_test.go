package stats

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// BenchmarkCounter counts the events of sections of 1,000 locks with an access in each; one
// operation is one event.
func BenchmarkCounter(b *testing.B) {
	var c Counter
	ops := [...]event.Event{{Op: event.Acquire, Kind: event.KindMutex}, {Op: event.Write, Kind: event.KindVariable}, {Op: event.Release, Kind: event.KindMutex}}
	for i := 0; b.Loop(); i++ {
		e := &ops[i%3]
		e.Object = event.ObjectID(1 + i/3%1000*2 + i%3&1)
		c.Event(e)
	}
}
