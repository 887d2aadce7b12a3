package bind

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Part is a Run as a part.Part.
type Part struct {
	part.Base
	run    *Run
	shared *part.Shared // nil: schedules are not searched
}

// NewPart returns a Run as a part. Without shared, no violation of atomicity is predicted.
func NewPart(r *Run, shared *part.Shared) *Part { return &Part{run: r, shared: shared} }

// Needs implements part.Part.
func (p *Part) Needs() part.Needs { return part.Calls | part.Misuses | part.Again }

// Event implements part.Part.
func (p *Part) Event(e *event.Event) { p.run.Event(e) }

// Remember implements part.Part.
func (p *Part) Remember(n *event.Names) {
	p.run.Remember(n)
	for _, f := range p.run.formulas {
		f.monitor.Remember(n)
	}
	for _, m := range p.run.scopes {
		m.Remember(n)
	}
	if p.run.history != nil {
		p.run.history.Log.Remember(n)
	}
	if p.run.protocols != nil {
		p.run.protocols.Remember(n)
	}
	if p.run.ofObjects != nil {
		p.run.ofObjects.Remember(n)
		for i := range p.run.tallies {
			p.run.tallies[i].remember(n)
		}
	}
}

// Shrink implements part.Part.
func (p *Part) Shrink() (variables int, some bool) {
	for _, f := range p.run.formulas {
		some = f.monitor.Shrink() || some
	}
	return 0, some
}

// Settle implements part.Part.
func (p *Part) Settle(*part.Outcome) {
	for _, f := range p.run.formulas {
		f.settle(p.shared)
	}
}

// Finish implements part.Part.
func (p *Part) Finish(out *part.Outcome) {
	violated := p.run.Finish()
	var ofObjects []finding.Finding
	if p.run.ofObjects != nil {
		ofObjects = p.run.ofObjects.Finish() // before it is known whether the types fit
	}
	if out.Err = p.run.unfit(); out.Err != nil {
		return
	}
	out.Add(violated...)
	out.Witnesses.Add(p.run.Witnesses())
	out.Properties = p.run.checked()
	for _, v := range p.run.verdicts {
		out.First = append(out.First, v.note(p.run.Recorded(v.index), p.run.Open(v.index)))
	}
	for i := range p.run.tallies {
		out.First = append(out.First, p.run.tallies[i].notes(p.run.names)...)
	}
	if p.run.protocols != nil {
		out.Add(p.run.protocols.Finish()...)
		out.Notes = append(out.Notes, p.run.protocols.Notes()...)
		s := p.run.protocols.Stats()
		out.Protocols = &run.Protocols{Objects: s.Objects, Calls: s.Calls, Shared: s.Shared, Unordered: s.Unordered}
		out.ObjectRaces = p.run.objectRaces()
	}
	if p.run.ofObjects != nil {
		out.Add(ofObjects...)
		out.Notes = append(out.Notes, p.run.ofObjects.Notes()...)
	}
	if p.run.history != nil {
		out.Witnesses.Add(p.run.history.Witnesses)
	}
	for _, f := range p.run.formulas {
		found, notes := f.finish()
		out.Add(found...)
		out.Notes = append(out.Notes, notes...)
	}
	p.run.finishScopes(out)
	if p.run.schedules != nil {
		out.Witnesses.Add(p.run.schedules.Witnesses)
	}
	l := p.run.Stats()
	out.Lattice = &run.Lattice{
		Levels: l.Levels, States: l.Cuts, Edges: l.Edges, Dropped: l.Dropped, CutLevels: l.Cut, Late: l.Late, Widest: l.Widest, Queue: l.Queue,
	}
}
