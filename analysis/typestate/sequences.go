package typestate

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// Sequences collects the calls of each object of a run, in the order of the run. Objects are those of an Analysis.
type Sequences struct {
	// Protocols say how objects are created; their states do not matter.
	Protocols []Protocol
	// Uses and Ended are those of Options.
	Uses  func(e *event.Event, yield func(protocol, call int, object uint64))
	Ended func(*event.Event) (object uint64, ok bool)
	// Yield is called with the calls of each object, at its end. Created reports whether all of them are known: the object
	// was seen to be created, or its protocol takes it to be.
	Yield func(protocol int, calls []int, created bool)

	objects map[identity]*sequence
	begun   int
}

// sequence is the calls of an object that exists.
type sequence struct {
	number  int
	created bool
	calls   []int
}

// Event processes the next event of the run.
func (s *Sequences) Event(e *event.Event) {
	if s.objects == nil {
		s.objects = map[identity]*sequence{}
	}
	if e.Op.IsCall() {
		s.Uses(e, s.used)
		return
	}
	if value, ok := s.Ended(e); ok {
		for p := range s.Protocols {
			s.end(identity{p, value})
		}
	}
}

func (s *Sequences) used(protocol, call int, value uint64) {
	id, p := identity{protocol, value}, &s.Protocols[protocol]
	if p.Calls[call].Creates {
		s.end(id)
	}
	o := s.objects[id]
	if o == nil {
		s.begun++
		o = &sequence{number: s.begun, created: p.Calls[call].Creates || p.BornAtFirstUse}
		s.objects[id] = o
	}
	o.calls = append(o.calls, call)
}

func (s *Sequences) end(id identity) {
	if o := s.objects[id]; o != nil {
		s.Yield(id.protocol, o.calls, o.created)
		delete(s.objects, id)
	}
}

// Finish ends the objects that are left, in the order in which they began.
func (s *Sequences) Finish() {
	left := slices.SortedFunc(maps.Keys(s.objects), func(a, b identity) int { return cmp.Compare(s.objects[a].number, s.objects[b].number) })
	for _, id := range left {
		s.end(id)
	}
}
