package property

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/stats"
	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// slice is the part of a run that one property reads: its events, their threads, and the lattice over them. A property is so
// checked as if it were alone: what it costs and what its findings show do not depend on the others.
type slice struct {
	analysis *Analysis
	property *Property
	part     causality.Slice
	lattice  *lattice.Lattice
	latency  *stats.Latency

	// uncertain reports that an event of the slice may have happened at another moment than its record.
	uncertain bool
	// base is what the events before the kept part of the run led to; baseBad: they violate the property.
	base    outcome
	baseBad bool

	values []uint64 // of all variables in the observed run; nil without Property.Observed
}

// begin makes the lattice of the slice of the property with an index. The initial state may violate it already.
func (s *slice) begin(property int) {
	a, p := s.analysis, s.property
	variables := p.Variables
	if variables == nil {
		variables = []int{}
	}
	s.lattice = lattice.New(lattice.Options{
		Width: a.o.Window, Queue: a.o.Queue, Initial: a.initial,
		Properties: []lattice.Property{{Monitor: p.Monitor, Labels: p.Labels, Variables: variables, Events: p.Events}},
		Violation:  func(v *lattice.Violation) { a.violation(property, v) },
	})
	base, ok := s.start(a.initial)
	s.base, s.baseBad = base, !ok
	if p.Observed != nil {
		s.values = slices.Clone(a.initial)
		p.Observed(p.Labels.Letter(s.values, 0))
	}
}

// observe passes on the letter of an event, if that makes one.
func (s *slice) observe(e *lattice.Event) {
	if s.values == nil {
		return
	}
	written := e.Variable >= 0 && slices.Contains(s.property.Variables, e.Variable)
	if written {
		s.values[e.Variable] = e.Value
	}
	if own := e.Events & s.property.Events; written || own != 0 {
		s.property.Observed(s.property.Labels.Letter(s.values, own))
	}
}

// reads reports whether an event is one of the slice.
func (s *slice) reads(variable int, events uint64, locks bool) bool {
	return locks || events&s.property.Events != 0 || variable >= 0 && slices.Contains(s.property.Variables, variable)
}

// event handles the next relevant event of the run, with its slot and clock among all of them.
func (s *slice) event(e *lattice.Event, slot uint32, v causality.Clock, time uint64, uncertain bool) {
	if !s.reads(e.Variable, e.Events, e.Locking != lattice.NoLock) {
		return
	}
	s.observe(e)
	s.uncertain = s.uncertain || uncertain
	own := *e
	own.Events &= s.property.Events
	own.Slot, own.Clock = s.part.Add(slot, v)
	s.lattice.Event(&own)
	s.latency.Event(time)
	s.latency.LevelsClosed(s.lattice.Stats().Levels)
}

// finish builds the rest of the lattice.
func (s *slice) finish() {
	s.lattice.Finish()
	s.latency.LevelsClosed(s.lattice.Stats().Levels)
}
