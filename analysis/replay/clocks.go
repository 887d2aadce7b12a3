package replay

import (
	"fmt"
	"runtime/metrics"

	"github.com/tracepredict/tracepredict/observer/clock"
)

// clocks are the clocks of a run, whose memory is bounded.
type clocks struct {
	must   *clock.Must
	others func() uint64 // the memory of clocks that share none, in bytes; nil: there are none
	limit  uint64        // of each of the two, in bytes
	heap   uint64        // live heap when the memory of must was last measured, in bytes
}

// clocksError means that the clocks of a run need too much memory.
type clocksError struct {
	event uint64
	slots int    // the most threads at once
	limit uint64 // bytes
}

// Error implements error.
func (e *clocksError) Error() string { return fmt.Sprintf("event %d: %s", e.event, e.reason()) }

func (e *clocksError) reason() string {
	return fmt.Sprintf("too many threads (%d at once) and objects that know too much of each other (their clocks need more than %d MiB)", e.slots, e.limit>>20)
}

// tooLarge reports whether clocks need more memory than limit. Those of the must-order share memory, so
// that they must be visited to tell: this is done only if they may need so much, the heap has so much,
// and has grown by a sixteenth of it since the last time.
func (c *clocks) tooLarge() bool {
	if c.others != nil && c.others() > c.limit {
		return true
	}
	if c.must.MayNeed() <= c.limit {
		return false
	}
	live := liveHeap()
	if live <= c.limit || live < c.heap+c.limit/16 && c.heap <= live {
		return false
	}
	c.heap = live
	return c.must.Memory() > c.limit
}

// liveHeap returns the memory that the last garbage collection has left, in bytes.
func liveHeap() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return live[0].Value.Uint64()
}
