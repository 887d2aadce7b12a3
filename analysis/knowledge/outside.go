package knowledge

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// outside handles an event of a run in whose threads the formula is evaluated. What makes it false, and nothing else of what
// only the formula needs, is an event, and a Violated follows that.
func (m *Monitor) outside(e *event.Event) {
	switch e.Op {
	case event.Violated:
		m.violated(m.causes[e.Thread], e.Peer)
	case event.End:
		delete(m.causes, e.Thread)
	default:
		m.causes[e.Thread] = finding.StepOf(e)
	}
}

// violated makes a finding of a verdict that the last event of a thread has caused.
func (m *Monitor) violated(cause finding.Step, other event.ThreadID) {
	k := key{stack: cause.Stack}
	if f := m.found.by[k]; f != nil {
		f.Count++
		return
	}
	if len(m.found.all) == maxFindings {
		m.found.omitted++
		return
	}
	f := &finding.Finding{
		Kind: finding.Knowledge, Confidence: finding.Observed, Property: m.o.Formula.Name, Message: m.message(), Count: 1,
		Evidence: []finding.Step{cause}, Witness: []finding.Step{cause},
	}
	if other != 0 {
		f.Message += fmt.Sprintf(" (the other thread is T%d)", other)
	}
	f.AddSides()
	m.found.add(k, f)
	if m.o.Found != nil {
		m.o.Found(f)
	}
}
