// Package stats counts the events of a run and measures how long its verdicts took. The input
// is events and times, in order; the output is numbers. The package finds no errors, keeps no
// event, and allocates nothing for an event: its memory does not depend on the length of the run.
package stats

import "github.com/tracepredict/tracepredict/observer/event"

// Counter counts the events of a run by operation, and the objects that they were on.
// The zero value is ready.
type Counter struct {
	events  [event.NumOps]uint64
	objects [event.NumKinds]uint64
	seen    slidingSet
	plain   slidingSet // of the variables with accesses that are not atomic
	raced   []event.ObjectID
	more    [event.NumKinds]uint64 // number of such variables beyond those in raced, by kind
	mutexes []event.ObjectID       // the first maxMutexes
}

// maxRaced bounds the variables that Counter keeps.
const maxRaced = 1 << 12

// maxMutexes bounds the mutexes that Counter keeps.
const maxMutexes = 1 << 10

// Event counts the next event of the run.
func (c *Counter) Event(e *event.Event) {
	if e.Op < event.NumOps {
		c.events[e.Op]++
	}
	c.object(e.Object, e.Kind)
	if e.Op == event.Wait || e.Op == event.Wake {
		c.object(e.Object2, event.KindMutex)
	}
	if e.Op.IsAccess() && e.Flags&event.Atomic == 0 && c.plain.add(uint64(e.Object)) {
		c.addRaced(e.Object, e.Kind)
	}
}

// object counts an object that an event is on, if it is new.
func (c *Counter) object(id event.ObjectID, k event.Kind) {
	if id != 0 && k < event.NumKinds && c.seen.add(uint64(id)) {
		c.objects[k]++
		if k == event.KindMutex && len(c.mutexes) < maxMutexes {
			c.mutexes = append(c.mutexes, id)
		}
	}
}

func (c *Counter) addRaced(id event.ObjectID, k event.Kind) {
	switch {
	case len(c.raced) < maxRaced:
		c.raced = append(c.raced, id)
	case k < event.NumKinds:
		c.more[k]++
	}
}

// Remember implements observer.Rememberer: it adds the objects that Raced and Mutexes return.
func (c *Counter) Remember(n *event.Names) {
	for _, id := range c.raced {
		n.AddObject(id)
	}
	for _, id := range c.mutexes {
		n.AddObject(id)
	}
}

// Mutexes returns the first mutexes that appear in events.
func (c *Counter) Mutexes() []event.ObjectID { return c.mutexes }

// Count is the number of events with an operation.
type Count struct {
	Op     event.Op
	Events uint64
}

// Events returns the counts of the operations with events, in the order of event.Op.
func (c *Counter) Events() []Count {
	var out []Count
	for op, n := range c.events {
		if n > 0 {
			out = append(out, Count{event.Op(op), n})
		}
	}
	return out
}

// Objects returns the number of objects of a kind that appear in events.
func (c *Counter) Objects(k event.Kind) uint64 { return c.objects[k] }

// Variables returns the number of variables and fields of objects that appear in events.
func (c *Counter) Variables() uint64 {
	return c.objects[event.KindVariable] + c.objects[event.KindField]
}

// Locks returns the number of mutexes, read-write locks and spin locks that appear in events.
func (c *Counter) Locks() uint64 {
	return c.objects[event.KindMutex] + c.objects[event.KindRWLock] + c.objects[event.KindSpin]
}

// Raced returns the first variables and fields with accesses that can race, those that are not
// atomic.
func (c *Counter) Raced() []event.ObjectID { return c.raced }

// MoreRaced returns the number of such variables of a kind beyond those of Raced.
func (c *Counter) MoreRaced(k event.Kind) uint64 { return c.more[k] }

// window bounds the difference of identifiers between an object that is used for the first
// time and the largest identifier used so far: objects further behind count as seen.
const window = 1 << 16

// slidingSet is the set of identifiers seen. Identifiers are assigned in the order of the run,
// so those far behind the largest have all been seen: the set keeps a bit for each of the last
// window identifiers.
type slidingSet struct {
	bits [window / 64]uint64 // one bit for each identifier modulo window
	last uint64              // the largest identifier seen
}

// add adds an identifier, and reports whether it is new.
func (s *slidingSet) add(id uint64) bool {
	if id+window <= s.last {
		return false
	}
	if id > s.last {
		s.advance(id)
	}
	word, bit := &s.bits[id%window/64], uint64(1)<<(id%64)
	fresh := *word&bit == 0
	*word |= bit
	return fresh
}

// advance makes room for identifiers up to id.
func (s *slidingSet) advance(id uint64) {
	if id-s.last >= window {
		clear(s.bits[:])
	} else {
		for i := s.last + 1; i <= id; i++ {
			s.bits[i%window/64] &^= 1 << (i % 64)
		}
	}
	s.last = id
}
