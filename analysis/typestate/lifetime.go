package typestate

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// identity is an object that exists.
type identity struct {
	protocol int
	process  uint32
	value    uint64
}

// lifetimes are the objects that exist. O is what is known of one. Make it with newLifetimes.
type lifetimes[O any] struct {
	process func(event.ThreadID) uint32                 // nil: there is one process
	ended   func(*event.Event) (object uint64, ok bool) // Options.Ended; nil: no memory ends
	end     func(O)                                     // is called for each object at its end

	begun  uint64
	known  map[identity]*lifetime[O]
	ending map[event.ThreadID][]*lifetime[O] // whose memory ended with the last events of a thread
}

// lifetime is that of one object.
type lifetime[O any] struct {
	identity
	number uint64 // among all, from 1
	ending bool   // its memory has ended; see memoryEnds
	object O
}

func newLifetimes[O any](process func(event.ThreadID) uint32, ended func(*event.Event) (uint64, bool), end func(O)) lifetimes[O] {
	return lifetimes[O]{process: process, ended: ended, end: end, known: map[identity]*lifetime[O]{}, ending: map[event.ThreadID][]*lifetime[O]{}}
}

// identity returns the object of a value in the process of a thread.
func (l *lifetimes[O]) identity(protocol int, t event.ThreadID, value uint64) identity {
	id := identity{protocol: protocol, value: value}
	if l.process != nil {
		id.process = l.process(t)
	}
	return id
}

// begin begins the lifetime of an object, of which there is none yet.
func (l *lifetimes[O]) begin(id identity, object O) *lifetime[O] {
	l.begun++
	x := &lifetime[O]{identity: id, number: l.begun, object: object}
	l.known[id] = x
	return x
}

// finish ends the lifetime of an object, if there is one.
func (l *lifetimes[O]) finish(id identity) {
	if x := l.known[id]; x != nil {
		var none O
		delete(l.known, id)
		l.end(x.object)
		x.object = none // which somebody may hold who goes through all
	}
}

// event ends what ends with an event, whose calls of objects have been handled. The objects whose memory ends do so after
// the next event of the thread: the call that frees the memory may be one of theirs, and its event comes behind.
func (l *lifetimes[O]) event(e *event.Event, protocols int) {
	if l.memoryEnds(e, protocols) {
		return
	}
	waiting := l.ending[e.Thread]
	for _, x := range waiting {
		if l.known[x.identity] == x {
			l.finish(x.identity)
		}
	}
	if e.Op == event.End {
		delete(l.ending, e.Thread)
	} else if len(waiting) > 0 {
		clear(waiting)
		l.ending[e.Thread] = waiting[:0]
	}
}

// memoryEnds reports whether the memory of objects ends with an event, and notes them.
func (l *lifetimes[O]) memoryEnds(e *event.Event, protocols int) bool {
	if l.ended == nil || e.Op.IsCall() {
		return false
	}
	value, ok := l.ended(e)
	if !ok {
		return false
	}
	for p := range protocols {
		if x := l.known[l.identity(p, e.Thread, value)]; x != nil && !x.ending {
			x.ending = true
			l.ending[e.Thread] = append(l.ending[e.Thread], x)
		}
	}
	return true
}

// sorted returns the objects that exist, in the order in which they began.
func (l *lifetimes[O]) sorted() []*lifetime[O] {
	return slices.SortedFunc(maps.Values(l.known), func(x, y *lifetime[O]) int { return cmp.Compare(x.number, y.number) })
}

// finishAll ends all lifetimes, in the order in which they began.
func (l *lifetimes[O]) finishAll() {
	for _, x := range l.sorted() {
		l.finish(x.identity)
	}
}
