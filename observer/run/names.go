package run

import (
	"sync"

	"github.com/tracepredict/tracepredict/observer/event"
)

// Namer returns the names of a run. For an unknown identifier it returns the zero value.
type Namer interface {
	Frames(event.StackID) []event.Frame // innermost first
	Object(event.ObjectID) Object
	Thread(event.ThreadID) Thread
	Func(event.FuncID) event.Func
}

// Names is a table of the names of a run; a Namer. Identifiers count from 1. It may be
// read while it grows. The zero value is empty.
type Names struct {
	mu      sync.RWMutex // guards the fields below
	stacks  map[event.StackID][]event.Frame
	objects []Object
	threads []Thread
	funcs   []event.Func
}

// Frames returns the frames of a stack, innermost first; nil if it is unknown.
func (n *Names) Frames(id event.StackID) []event.Frame {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.stacks[id]
}

// Object returns the description of an object.
func (n *Names) Object(id event.ObjectID) Object { return at(n, &n.objects, uint64(id)) }

// Thread returns the description of a thread.
func (n *Names) Thread(id event.ThreadID) Thread { return at(n, &n.threads, uint64(id)) }

// Func returns the description of a function.
func (n *Names) Func(id event.FuncID) event.Func { return at(n, &n.funcs, uint64(id)) }

// Objects returns the number of objects known.
func (n *Names) Objects() int { return count(n, &n.objects) }

// Threads returns the number of threads known.
func (n *Names) Threads() int { return count(n, &n.threads) }

// Funcs returns the number of functions known.
func (n *Names) Funcs() int { return count(n, &n.funcs) }

// AddObject adds the next object and returns its identifier.
func (n *Names) AddObject(o Object) event.ObjectID { return event.ObjectID(add(n, &n.objects, o)) }

// AddThread adds the next thread and returns its identifier.
func (n *Names) AddThread(t Thread) event.ThreadID { return event.ThreadID(add(n, &n.threads, t)) }

// AddFunc adds the next function and returns its identifier.
func (n *Names) AddFunc(f event.Func) event.FuncID { return event.FuncID(add(n, &n.funcs, f)) }

// SetFrames sets the frames of a stack, or replaces those that it has.
func (n *Names) SetFrames(id event.StackID, frames []event.Frame) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stacks == nil {
		n.stacks = map[event.StackID][]event.Frame{}
	}
	n.stacks[id] = frames
}

// UpdateObject calls change with the description of an object, if that is known.
func (n *Names) UpdateObject(id event.ObjectID, change func(*Object)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if id > 0 && uint64(id) <= uint64(len(n.objects)) {
		change(&n.objects[id-1])
	}
}

// SetThread replaces the description of a thread, if that is known.
func (n *Names) SetThread(id event.ThreadID, t Thread) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if id > 0 && uint64(id) <= uint64(len(n.threads)) {
		n.threads[id-1] = t
	}
}

// at returns the element with identifier id of a table of n, the zero value if there
// is none.
func at[T any](n *Names, all *[]T, id uint64) (t T) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if id > 0 && id <= uint64(len(*all)) {
		t = (*all)[id-1]
	}
	return t
}

// count returns the number of elements of a table of n.
func count[T any](n *Names, all *[]T) int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return len(*all)
}

// add appends to a table of n and returns the identifier of the new element.
func add[T any](n *Names, all *[]T, t T) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	*all = append(*all, t)
	return len(*all)
}
