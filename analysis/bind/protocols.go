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

// historyEvents is the number of events of the run that are kept for schedules that break protocols, or violate scopes.
const historyEvents = 1 << 16

// checkProtocols begins to check the typestates of the specification.
func (r *Run) checkProtocols(o *Options) {
	all := make([]typestate.Protocol, len(o.Spec.Typestates))
	for i, t := range o.Spec.Typestates {
		all[i] = ProtocolOf(t)
	}
	r.protocols = typestate.New(typestate.Options{
		Protocols: all, Uses: r.match.Uses, Process: r.threads.Process, Ended: MemoryEnds(r.names), Window: o.Window, Queue: o.Queue, Order: o.Order,
		History: history{r.history}, Found: o.Found,
	})
}

// ProtocolOf returns a typestate as a protocol.
func ProtocolOf(t *spec.Typestate) typestate.Protocol {
	p := typestate.Protocol{Name: t.Name, Type: t.Type, Mined: t.Mined, BornAtFirstUse: t.BornAtFirstUse}
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
