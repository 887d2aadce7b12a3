package bind

import (
	"github.com/tracepredict/tracepredict/analysis/completion"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/analysis/typestate"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
	"github.com/tracepredict/tracepredict/observer/run"
)

// objectHistory is the number of events of the run that are kept for schedules that break protocols, properties of
// objects, or scopes.
const objectHistory = 1 << 16

// checkProtocols begins to check the typestates of the specification.
func (r *Run) checkProtocols(o *Options) {
	all := make([]typestate.Protocol, len(o.Spec.Typestates))
	for i, t := range o.Spec.Typestates {
		all[i] = ProtocolOf(t)
	}
	uses := r.match.Uses
	if o.RacingTypes || o.Races {
		uses = once(uses)
		r.races = typestate.NewRaces(typestate.RaceOptions{Protocols: all, Uses: uses, Process: r.threads.Process, Ended: MemoryEnds(r.names)})
	}
	opts := typestate.Options{
		Protocols: all, Uses: uses, Process: r.threads.Process, Ended: MemoryEnds(r.names), Window: o.Window, Queue: o.Queue, Order: o.Order,
		History: history{r.history}, Found: o.Found,
	}
	if o.RacingTypes {
		opts.Races = r.races
	}
	r.protocols = typestate.New(opts)
}

// once returns what yields the calls of protocols that an event is, which it asks for once for each event.
func once(uses func(*event.Event, func(protocol, call int, object uint64))) func(*event.Event, func(protocol, call int, object uint64)) {
	type use struct {
		protocol, call int
		object         uint64
	}
	of := ^uint64(0) // the Seq of the event
	var all []use
	keep := func(protocol, call int, object uint64) { all = append(all, use{protocol, call, object}) }
	return func(e *event.Event, yield func(protocol, call int, object uint64)) {
		if e.Seq != of {
			of, all = e.Seq, all[:0]
			uses(e, keep)
		}
		for _, u := range all {
			yield(u.protocol, u.call, u.object)
		}
	}
}

// objectRaces returns what was counted of races on objects; nil if they were not looked for.
func (r *Run) objectRaces() *run.ObjectRaces {
	if r.races == nil {
		return nil
	}
	s := r.races.Stats()
	return &run.ObjectRaces{Calls: s.Calls, Tuples: s.Tuples, Evicted: s.Evicted, Objects: s.Objects, Racing: s.Racing, Types: s.Types, RacingTypes: s.RacingTypes}
}

// ProtocolOf returns a typestate as a protocol.
func ProtocolOf(t *spec.Typestate) typestate.Protocol {
	p := typestate.Protocol{
		Name: t.Name, Type: t.Type, Mined: t.Mined, BornAtFirstUse: t.BornAtFirstUse, RebornAtNextUse: t.RebornAtNextUse, Unnamed: t.ByExpression,
	}
	for _, c := range t.Calls {
		p.Calls = append(p.Calls, typestate.Call{Name: c.Name, Creates: c.Creates})
	}
	for _, s := range t.States {
		p.States = append(p.States, typestate.State{Name: s.Name, Next: s.Next})
	}
	return p
}

// MemoryEnds returns a function that returns the address of an instance whose memory ends with an event.
func MemoryEnds(names run.Namer) func(*event.Event) (object uint64, ok bool) {
	return func(e *event.Event) (uint64, bool) {
		if e.Op != event.Destroy || e.Kind != event.KindInstance {
			return 0, false
		}
		at := names.Object(e.Object).Addr
		return at, at != 0
	}
}

// history is the kept part of the run, as a typestate.History.
type history struct{ *completion.Completer }

// Step implements typestate.History.
func (h history) Step(seq uint64) (finding.Step, bool) {
	if e := h.Log.Find(seq); e != nil {
		return e.Step(), true
	}
	return finding.Step{}, false
}

// Execution implements typestate.History.
func (h history) Execution(w *lattice.Witness, relevant func(seq uint64) bool) ([]finding.Step, error) {
	return h.Complete(w, func(i int) bool { return relevant(h.Log[i].Seq) })
}
