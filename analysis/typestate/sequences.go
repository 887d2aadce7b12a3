package typestate

import (
	"github.com/tracepredict/tracepredict/analysis/objects"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Sequences collects the calls of each object of a run, in the order of the run. Objects are those of an Analysis. Make it
// with NewSequences.
type Sequences struct {
	o       SequenceOptions
	objects objects.Lifetimes[*sequence]
}

// SequenceOptions configure Sequences.
type SequenceOptions struct {
	// Protocols say how objects are created; their states do not matter.
	Protocols []Protocol
	// Uses, Process and Ended are those of Options.
	Uses    func(e *event.Event, yield func(protocol, call int, object uint64))
	Process func(event.ThreadID) uint32
	Ended   func(*event.Event) (object uint64, ok bool)
	// Yield is called with the calls of each object, at its end. Created reports whether all of them are known: the object
	// was seen to be created, or its protocol takes it to be.
	Yield func(protocol int, calls []int, created bool)
}

// sequence is the calls of an object that exists.
type sequence struct {
	protocol int
	created  bool
	calls    []int
}

// NewSequences returns the sequences of a run that has not begun.
func NewSequences(o SequenceOptions) *Sequences {
	return &Sequences{o: o, objects: objects.NewLifetimes(o.Process, o.Ended, func(s *sequence) { o.Yield(s.protocol, s.calls, s.created) })}
}

// Event processes the next event of the run.
func (s *Sequences) Event(e *event.Event) {
	if e.Op.IsCall() {
		s.o.Uses(e, func(protocol, call int, value uint64) { s.used(s.objects.Identity(protocol, e.Thread, value), call) })
	}
	s.objects.Event(e, len(s.o.Protocols))
}

func (s *Sequences) used(id objects.Identity, call int) {
	p := &s.o.Protocols[id.Kind]
	if p.Calls[call].Creates {
		s.objects.Finish(id)
	}
	x := s.objects.Of(id)
	if x == nil {
		x = s.objects.Begin(id, &sequence{protocol: id.Kind, created: p.beginsWith(call)})
	}
	x.Object.calls = append(x.Object.calls, call)
}

// Finish ends the objects that are left, in the order in which they began.
func (s *Sequences) Finish() { s.objects.FinishAll() }
