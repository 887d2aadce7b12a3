package misuse

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Part is an Analysis as a part.Part, which also finds the locks and conditions that are destroyed too early in another schedule.
type Part struct {
	part.Base
	shared *part.Shared
	misuse *Analysis
}

// NewPart returns the part of a run that has not begun. It uses the table of locks that the parts share.
func NewPart(shared *part.Shared, o Options) *Part {
	o.Locks = shared.Locks
	return &Part{shared: shared, misuse: New(o)}
}

// Needs implements part.Part.
func (p *Part) Needs() part.Needs { return part.Misuses | part.Again }

// Event implements part.Part.
func (p *Part) Event(e *event.Event) { p.misuse.Event(e) }

// Remember implements part.Part.
func (p *Part) Remember(n *event.Names) { p.misuse.Remember(n) }

// Finish implements part.Part.
func (p *Part) Finish(out *part.Outcome) {
	out.Add(p.misuse.Finish()...)
	out.Add(p.destroys()...)
}

// destroys returns the locks and conditions that were destroyed although nothing in this run orders that after
// the last release or notification by another thread: in another schedule, the thread uses an object that is no
// more. If the threads may have synchronised without a record, the use may have come before in every schedule, and
// there is no finding.
func (p *Part) destroys() (out []finding.Finding) {
	unordered := p.shared.Order.Destroys()
	if p.misuse.opts.Off || slices.Contains(p.misuse.opts.Except, finding.DestroyUnordered) || len(unordered) == 0 || p.shared.Known.Unseen == nil {
		return nil
	}
	// The last acquire of each lock, whose call stack is known, and the last notification of each condition.
	last := map[event.ObjectID]finding.Step{}
	p.shared.History.Kept(func(e *event.Event) bool {
		switch {
		case e.Op == event.Acquire, e.Op == event.Signal, e.Op == event.Broadcast:
			last[e.Object] = finding.StepOf(e)
		case e.Op == event.Destroy && slices.Contains(unordered, e.Seq):
			if r, ok := last[e.Object]; ok && r.Thread != e.Thread {
				out = p.addDestroy(out, finding.StepOf(e), r)
			}
		}
		return true
	})
	return out
}

// addDestroy adds the finding of a destroy and a use, or counts it if there is one of the same call
// stacks.
func (p *Part) addDestroy(all []finding.Finding, destroy, use finding.Step) []finding.Finding {
	f := finding.Finding{Kind: finding.Misuse, Rule: finding.DestroyUnordered, Confidence: finding.Likely, Reason: reason.Reason{What: reason.PerhapsToldUnused}, Count: 1,
		Objects: []event.ObjectID{destroy.Object}, Threads: []event.ThreadID{destroy.Thread, use.Thread}, Evidence: []finding.Step{destroy, use}}
	if p.shared.Known.Unseen(&f) {
		return all
	}
	for i := range all {
		if g := &all[i]; g.Evidence[0].Stack == destroy.Stack && g.Evidence[1].Stack == use.Stack {
			g.Count++
			return all
		}
	}
	return append(all, f)
}
