package event

// Names is a set of threads, objects and call stacks: those whose names findings may need.
type Names struct {
	threads map[ThreadID]struct{}
	objects map[ObjectID]struct{}
	stacks  map[StackID]struct{}
}

// NewNames returns an empty set.
func NewNames() *Names {
	return &Names{threads: map[ThreadID]struct{}{}, objects: map[ObjectID]struct{}{}, stacks: map[StackID]struct{}{}}
}

// AddThread adds a thread; 0 is none.
func (n *Names) AddThread(id ThreadID) {
	if id != 0 {
		n.threads[id] = struct{}{}
	}
}

// AddObject adds an object; 0 is none.
func (n *Names) AddObject(id ObjectID) {
	if id != 0 {
		n.objects[id] = struct{}{}
	}
}

// AddStack adds a call stack; 0 is none. A stack may be left out: names of stacks are never given up for good.
func (n *Names) AddStack(id StackID) {
	if id != 0 {
		n.stacks[id] = struct{}{}
	}
}

// Stacks returns the stacks of the set, which the caller does not change.
func (n *Names) Stacks() map[StackID]struct{} { return n.stacks }

// Threads returns the threads of the set, which the caller does not change.
func (n *Names) Threads() map[ThreadID]struct{} { return n.threads }

// Objects returns the objects of the set, which the caller does not change.
func (n *Names) Objects() map[ObjectID]struct{} { return n.objects }
