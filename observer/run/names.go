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
	objects numbered[Object]
	threads numbered[Thread]
	funcs   numbered[event.Func]
	again   Again // that of Evict; nil: nothing was evicted
}

// Again finds names that were evicted.
type Again interface {
	// WithObject, WithThread and WithFrames return some names, among which that of an identifier is; nil if it is unknown.
	WithObject(event.ObjectID) *Names
	WithThread(event.ThreadID) *Names
	WithFrames(event.StackID) *Names
}

// numbered is a list of names by identifier.
type numbered[T any] struct {
	before  int          // number of identifiers before those of list, which were evicted or are of other tables
	list    []T          // of the identifiers from before+1 on
	changed map[uint64]T // of evicted ones, those that were changed after that
}

func (l *numbered[T]) at(id uint64) (t T, ok bool) {
	if id > uint64(l.before) && id <= uint64(l.before+len(l.list)) {
		return l.list[id-uint64(l.before)-1], true
	}
	t, ok = l.changed[id]
	return t, ok
}

func (l *numbered[T]) count() int { return l.before + len(l.list) }

func (l *numbered[T]) evict() { l.before, l.list = l.count(), nil }

// set replaces the element with an identifier, if there is or was one.
func (l *numbered[T]) set(id uint64, t T) {
	switch {
	case id == 0 || id > uint64(l.count()):
	case id > uint64(l.before):
		l.list[id-uint64(l.before)-1] = t
	default:
		if l.changed == nil {
			l.changed = map[uint64]T{}
		}
		l.changed[id] = t
	}
}

// BeginAfter makes an empty table one of the names after so many objects, threads and functions.
func (n *Names) BeginAfter(objects, threads, funcs int) {
	n.objects.before, n.threads.before, n.funcs.before = objects, threads, funcs
}

// Evict removes the names of objects, threads and stacks. From now on, again is asked for them when they are needed, by
// one goroutine at a time.
func (n *Names) Evict(again Again) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.again, n.stacks = again, nil
	n.objects.evict()
	n.threads.evict()
}

// Evicted reports whether names were evicted.
func (n *Names) Evicted() bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.again != nil
}

// Recall takes back, of the names that needed has and that were evicted, those that some has.
func (n *Names) Recall(some *Names, needed *event.Names) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id := uint64(some.objects.before) + 1; id <= uint64(some.objects.count()); id++ {
		if _, is := needed.Objects()[event.ObjectID(id)]; is {
			recall(&n.objects, &some.objects, id)
		}
	}
	for id := uint64(some.threads.before) + 1; id <= uint64(some.threads.count()); id++ {
		if _, is := needed.Threads()[event.ThreadID(id)]; is {
			recall(&n.threads, &some.threads, id)
		}
	}
	for id, frames := range some.stacks {
		if _, is := needed.Stacks()[id]; is && n.stacks[id] == nil {
			if n.stacks == nil {
				n.stacks = map[event.StackID][]event.Frame{}
			}
			n.stacks[id] = frames
		}
	}
}

// recall sets the element with an identifier to that of another table, unless there is one.
func recall[T any](to, from *numbered[T], id uint64) {
	if _, known := to.at(id); known {
		return
	}
	if t, ok := from.at(id); ok {
		to.set(id, t)
	}
}

// Frames returns the frames of a stack, innermost first; nil if it is unknown.
func (n *Names) Frames(id event.StackID) []event.Frame {
	n.mu.RLock()
	frames, ok := n.stacks[id]
	again := n.again
	n.mu.RUnlock()
	if ok || again == nil {
		return frames
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if some := again.WithFrames(id); some != nil {
		return some.stacks[id]
	}
	return nil
}

// Object returns the description of an object.
func (n *Names) Object(id event.ObjectID) Object {
	return at(n, &n.objects, uint64(id), func() *numbered[Object] {
		if some := n.again.WithObject(id); some != nil {
			return &some.objects
		}
		return nil
	})
}

// Thread returns the description of a thread.
func (n *Names) Thread(id event.ThreadID) Thread {
	return at(n, &n.threads, uint64(id), func() *numbered[Thread] {
		if some := n.again.WithThread(id); some != nil {
			return &some.threads
		}
		return nil
	})
}

// Func returns the description of a function.
func (n *Names) Func(id event.FuncID) event.Func { return at(n, &n.funcs, uint64(id), nil) }

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
	o := n.Object(id)
	n.mu.Lock()
	defer n.mu.Unlock()
	change(&o)
	n.objects.set(uint64(id), o)
}

// SetThread replaces the description of a thread, if that is known.
func (n *Names) SetThread(id event.ThreadID, t Thread) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.threads.set(uint64(id), t)
}

// at returns the element with identifier id of a table of n, the zero value if there is none. If it was evicted, again
// returns a table that may have it, nil if there is none.
func at[T any](n *Names, all *numbered[T], id uint64, again func() *numbered[T]) (t T) {
	n.mu.RLock()
	t, ok := all.at(id)
	evicted := !ok && n.again != nil && again != nil && id > 0 && id <= uint64(all.before)
	n.mu.RUnlock()
	if !evicted {
		return t
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if some := again(); some != nil {
		t, _ = some.at(id)
	}
	return t
}

// count returns the number of identifiers of a table of n.
func count[T any](n *Names, all *numbered[T]) int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return all.count()
}

// add appends to a table of n and returns the identifier of the new element.
func add[T any](n *Names, all *numbered[T], t T) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	all.list = append(all.list, t)
	return all.count()
}
