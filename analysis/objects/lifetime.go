package objects

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/internal/oldest"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Identity identifies an object among those that exist.
type Identity struct {
	Kind    int // of the objects: a protocol, a property
	Process uint32
	Value   uint64
}

// Lifetimes are the objects that exist. O is what is known of one. Make it with NewLifetimes.
type Lifetimes[O any] struct {
	process func(event.ThreadID) uint32
	ended   func(*event.Event) (value uint64, ok bool)
	end     func(O)

	begun  uint64
	known  map[Identity]*Lifetime[O]
	ending map[event.ThreadID][]*Lifetime[O] // whose memory ended with the last events of a thread
}

// Lifetime is that of one object.
type Lifetime[O any] struct {
	Identity
	Object O

	number uint64 // among all, from 1
	ending bool   // its memory has ended; see memoryEnds
}

// Ending reports whether the memory of the object has ended, so that what comes next may be of another one.
func (x *Lifetime[O]) Ending() bool { return x.ending }

// NewLifetimes returns the objects of a run that has not begun. Process returns the number of a thread's process; nil:
// there is one. Ended returns the value of the objects whose memory ends with an event, in the process of its thread; nil: no
// memory ends. End is called for each object at its end.
func NewLifetimes[O any](process func(event.ThreadID) uint32, ended func(*event.Event) (uint64, bool), end func(O)) Lifetimes[O] {
	return Lifetimes[O]{process: process, ended: ended, end: end, known: map[Identity]*Lifetime[O]{}, ending: map[event.ThreadID][]*Lifetime[O]{}}
}

// Identity returns the object of a value in the process of a thread.
func (l *Lifetimes[O]) Identity(kind int, t event.ThreadID, value uint64) Identity {
	id := Identity{Kind: kind, Value: value}
	if l.process != nil {
		id.Process = l.process(t)
	}
	return id
}

// Of returns an object that exists; nil: there is none.
func (l *Lifetimes[O]) Of(id Identity) *Lifetime[O] { return l.known[id] }

// Begin begins the lifetime of an object, of which there is none yet.
func (l *Lifetimes[O]) Begin(id Identity, object O) *Lifetime[O] {
	l.begun++
	x := &Lifetime[O]{Identity: id, number: l.begun, Object: object}
	l.known[id] = x
	return x
}

// Finish ends the lifetime of an object, if there is one.
func (l *Lifetimes[O]) Finish(id Identity) {
	if x := l.known[id]; x != nil {
		var none O
		delete(l.known, id)
		l.end(x.Object)
		x.Object = none // which somebody may hold who goes through all
	}
}

// Event ends what ends with an event, after what the event does to objects has been handled. The objects whose memory ends
// do so after the next event of the thread: the call that frees the memory may be one of theirs, and its event comes
// behind. Kinds is the number of kinds of objects.
func (l *Lifetimes[O]) Event(e *event.Event, kinds int) {
	if l.memoryEnds(e, kinds) {
		return
	}
	waiting := l.ending[e.Thread]
	for _, x := range waiting {
		if l.known[x.Identity] == x {
			l.Finish(x.Identity)
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
func (l *Lifetimes[O]) memoryEnds(e *event.Event, kinds int) bool {
	if l.ended == nil || e.Op.IsCall() {
		return false
	}
	value, ok := l.ended(e)
	if !ok {
		return false
	}
	for kind := range kinds {
		if x := l.known[l.Identity(kind, e.Thread, value)]; x != nil && !x.ending {
			x.ending = true
			l.ending[e.Thread] = append(l.ending[e.Thread], x)
		}
	}
	return true
}

// All returns the objects that exist, in no order.
func (l *Lifetimes[O]) All() iter.Seq[*Lifetime[O]] { return maps.Values(l.known) }

// Sorted returns the objects that exist, in the order in which they began.
func (l *Lifetimes[O]) Sorted() []*Lifetime[O] {
	return slices.SortedFunc(l.All(), func(x, y *Lifetime[O]) int { return cmp.Compare(x.number, y.number) })
}

// FinishOldest ends the lifetimes of the half of the objects that were not used for the longest time, as used has it. Each
// is passed to evict before.
func (l *Lifetimes[O]) FinishOldest(used func(O) uint64, evict func(O)) {
	last := oldest.Half(l.known, func(x *Lifetime[O]) uint64 { return used(x.Object) })
	for id, x := range l.known {
		if used(x.Object) <= last {
			evict(x.Object)
			l.Finish(id)
		}
	}
}

// FinishAll ends all lifetimes, in the order in which they began.
func (l *Lifetimes[O]) FinishAll() {
	for _, x := range l.Sorted() {
		l.Finish(x.Identity)
	}
}
