package clock

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/internal/oldest"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/order"
)

// floor is what comes before every event of an object that may have been evicted. The edges agree with the run. They
// take the place of those that the evicted objects would have caused: without these, an analysis would reorder what no
// schedule reorders.
type floor struct {
	uses    event.Clock    // of the evicted objects and threads
	horizon event.ObjectID // the largest identifier at the latest eviction; what comes later was not evicted
	threads event.ThreadID // the largest identifier of a thread that was evicted
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

// Numbers of objects, and of threads that have ended, below which Shrink evicts none.
const (
	leastObjects = 1 << 10
	leastEnded   = 1 << 10
)

// Shrink evicts the variables and locks that were not used for the longest time, half of all objects, and of the threads
// that have ended and were not joined the older half. Semaphores, conditions, barriers, onces and channels it evicts if
// they were last used before event number unused, unless a thread is within an operation. What used them, or was done by
// the threads, comes before all that uses them later, or joins these, so that a prediction which needs the two reordered
// is missed. It returns the number of objects and threads that it evicted. It may be called between Stamp and Done.
func (m *Must) Shrink(unused uint64) (evicted int) {
	evicted = m.evictObjects(unused) + m.evictEnded()
	if evicted == 0 {
		return 0
	}
	for _, r := range m.matcher.Unused() {
		if int(r) < len(m.sets) {
			m.sets[r] = mark{}
		}
	}
	m.floor.times++
	return evicted
}

func (m *Must) evictObjects(unused uint64) (evicted int) {
	if len(m.objects) <= leastObjects {
		return 0
	}
	before := oldest.Half(m.objects, func(o *object) uint64 { return o.used })
	for id, o := range m.objects {
		m.floor.horizon = max(m.floor.horizon, id)
		synchronises := o.order != (order.Object{})
		if synchronises && (o.used >= unused || !o.order.Quiet()) || !synchronises && o.used >= before {
			continue
		}
		o.flushLastUse()
		m.floor.uses.Join(&o.uses)
		m.dropObject(id, o)
		evicted++
	}
	if evicted > 0 {
		m.objects = maps.Collect(maps.All(m.objects)) // a map keeps the memory of what is deleted
		clear(m.objectCache[:])
	}
	return evicted
}

// evictEnded evicts the older half of the threads that have ended and were not joined.
func (m *Must) evictEnded() int {
	var ended []event.ThreadID
	for id, t := range m.threads {
		if t.ended {
			ended = append(ended, id)
		}
	}
	if len(ended) <= leastEnded {
		return 0
	}
	slices.Sort(ended)
	ended = ended[:len(ended)/2]
	for _, id := range ended {
		t := m.threads[id]
		m.floor.uses.Join(&t.clock)
		m.floor.uses.Raise(t.slot, t.epoch)
		m.dropThread(id)
	}
	m.floor.threads = max(m.floor.threads, ended[len(ended)-1])
	m.threads = maps.Collect(maps.All(m.threads))
	m.spare = nil
	clear(m.threadCache[:])
	return len(ended)
}
