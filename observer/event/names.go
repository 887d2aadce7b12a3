package event

// Names is a set of threads and objects: those whose names findings may need.
type Names struct {
	threads map[ThreadID]struct{}
	objects map[ObjectID]struct{}
}

// NewNames returns an empty set.
func NewNames() *Names {
	return &Names{threads: map[ThreadID]struct{}{}, objects: map[ObjectID]struct{}{}}
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

// Threads returns the threads of the set, which the caller does not change.
func (n *Names) Threads() map[ThreadID]struct{} { return n.threads }

// Objects returns the objects of the set, which the caller does not change.
func (n *Names) Objects() map[ObjectID]struct{} { return n.objects }
