package finding

import "github.com/tracepredict/tracepredict/observer/event"

// Outermost is the outermost lock that a thread holds, and the call stack of its acquire.
type Outermost struct {
	Lock event.ObjectID
	At   event.StackID
}

// Nest identifies the outermost critical sections of the sides of a deadlock of two threads, the lesser first. Two
// threads that nest n locks in opposite orders make n-1 deadlocks of one nest, one for each two neighbours.
type Nest [2]Outermost

// NewNest returns the nest of two sides in any order.
func NewNest(a, b Outermost) Nest {
	if b.Lock < a.Lock || b.Lock == a.Lock && b.At < a.At {
		a, b = b, a
	}
	return Nest{a, b}
}

// Nest returns the nest of a deadlock of two threads; false for other findings.
func (f *Finding) Nest() (Nest, bool) {
	if f.Kind != Deadlock || f.Confidence == Observed || len(f.Evidence) != 2 || len(f.Classes) > 0 {
		return Nest{}, false
	}
	var sides [2]Outermost
	for i := range f.Evidence {
		s := &f.Evidence[i]
		if len(s.Held) == 0 || len(s.HeldAt) == 0 {
			return Nest{}, false
		}
		sides[i] = Outermost{s.Held[0], s.HeldAt[0]}
	}
	return NewNest(sides[0], sides[1]), true
}
