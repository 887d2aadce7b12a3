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
	// Uses, Process and Ended are those of Options.
	Uses    func(e *event.Event, yield func(protocol, call int, object uint64))
	Process func(event.ThreadID) uint32
	Ended   func(*event.Event) (object uint64, ok bool)
	// Yield is called with the calls of each object, at its end. Created reports whether all of them are known: the object
	// was seen to be created, or its protocol takes it to be.
	Yield func(protocol int, calls []int, created bool)

	objects map[identity]*sequence
	ending  map[event.ThreadID][]identity // whose memory ended with the last events of a thread
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
		s.objects, s.ending = map[identity]*sequence{}, map[event.ThreadID][]identity{}
	}
	process := s.Process(e.Thread)
	if e.Op.IsCall() {
		s.Uses(e, func(protocol, call int, value uint64) { s.used(identity{protocol, process, value}, call) })
	} else if value, ok := s.Ended(e); ok {
		for p := range s.Protocols { // the call that frees the memory may come behind
			s.ending[e.Thread] = append(s.ending[e.Thread], identity{p, process, value})
		}
		return
	}
	for _, id := range s.ending[e.Thread] {
		s.end(id)
	}
	delete(s.ending, e.Thread)
}

func (s *Sequences) used(id identity, call int) {
	p := &s.Protocols[id.protocol]
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
