package clock

import (
	"maps"

	"github.com/tracepredict/tracepredict/internal/oldest"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// floor is what comes before every event of an object that may have been evicted. The edges agree with the run. They
// take the place of those that the evicted objects would have caused: without these, an analysis would reorder what no
// schedule reorders.
type floor struct {
	uses    event.Clock    // of the evicted objects
	horizon event.ObjectID // the largest identifier at the latest eviction; what comes later was not evicted
	times   uint64         // evictions
}

// mayHave reports whether an object of which nothing is known may have been evicted. Identifiers are given in the
// order in which objects are first used.
func (f *floor) mayHave(id event.ObjectID) bool { return id <= f.horizon }

// joinFloor draws the edges from what was evicted to the next event of t.
func (m *Must) joinFloor(t *thread) {
	if t.floor != m.floor.times {
		t.floor = m.floor.times
		t.joinClock(&m.floor.uses)
	}
}

// leastObjects is the number of objects below which Shrink evicts none.
const leastObjects = 1 << 10

// Shrink evicts the variables and locks that were not used for the longest time, half of all objects. What used them
// comes before all that uses them later, so that a prediction which needs the two reordered is missed. It returns the
// number of objects that it evicted. It may be called between Stamp and Done.
func (m *Must) Shrink() (evicted int) {
	if len(m.objects) <= leastObjects {
		return 0
	}
	before := oldest.Half(m.objects, func(o *object) uint64 { return o.used })
	for id, o := range m.objects {
		m.floor.horizon = max(m.floor.horizon, id)
		if o.used >= before || o.order != (order.Object{}) {
			continue
		}
		o.flushLastUse()
		m.floor.uses.Join(&o.uses)
		m.dropObject(id, o)
		evicted++
	}
	if evicted == 0 {
		return 0
	}
	m.objects = maps.Collect(maps.All(m.objects)) // a map keeps the memory of what is deleted
	m.floor.times++
	clear(m.objectCache[:])
	return evicted
}
