package eventtest

import "github.com/tracepredict/tracepredict/observer/event"

// ThreadClocks converts clocks and cuts by slot to those by thread, as the papers write them.
// Several threads may use a slot in turn. The zero value has no events.
type ThreadClocks struct {
	ranges map[event.ThreadID]slotRange
}

// slotRange is the range of a slot's relevant events that are those of one thread.
type slotRange struct{ slot, first, count uint32 }

// Add records a relevant event: the slot of its thread, and its number in the slot, from 1.
func (c *ThreadClocks) Add(thread event.ThreadID, slot, number uint32) {
	if c.ranges == nil {
		c.ranges = map[event.ThreadID]slotRange{}
	}
	r, ok := c.ranges[thread]
	if !ok {
		r.slot, r.first = slot, number
	}
	r.count++
	c.ranges[thread] = r
}

// ByThread returns a clock or a cut with an entry for each thread: the number of its relevant
// events.
func (c *ThreadClocks) ByThread(bySlot []uint32, threads []event.ThreadID) []uint32 {
	out := make([]uint32, len(threads))
	for i, t := range threads {
		r := c.ranges[t]
		if r.count > 0 && int(r.slot) < len(bySlot) && bySlot[r.slot] >= r.first {
			out[i] = min(bySlot[r.slot]-r.first+1, r.count)
		}
	}
	return out
}
