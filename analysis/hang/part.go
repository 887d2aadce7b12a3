package hang

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Part finds the hangs of a run, as a part.Part.
type Part struct {
	part.Base
	hangs *analysis
}

// NewPart returns the part of a run that has not begun. It calls onGoesOn, if that is not nil, for each hang that goes on
// after it was found: it is no finding any more.
func NewPart(onGoesOn func(*finding.Finding)) *Part { return &Part{hangs: newAnalysis(onGoesOn)} }

// Needs implements part.Part.
func (p *Part) Needs() part.Needs { return part.Misuses | part.Again }

// Event implements part.Part.
func (p *Part) Event(e *event.Event) {
	if p.hangs.wants(e) {
		p.hangs.Event(e)
	}
}

// Remember implements part.Part.
func (p *Part) Remember(n *event.Names) { p.hangs.Remember(n) }

// Hangs returns the hangs of the run so far, in the order in which they were found, with those that went on.
func (p *Part) Hangs() []finding.Finding { return p.hangs.findings() }

// Settle implements part.Part. Hangs are known before other deadlocks are searched for, of which they may be the cause.
func (p *Part) Settle(out *part.Outcome) {
	out.Add(p.hangs.Finish()...)
	if n := p.hangs.wentOn(); n > 0 {
		out.Notes = append(out.Notes, plural.Sprintf("%d {hang was seen whose threads went on later, and it is|hangs were seen whose threads went on later, and they are} not reported: something that was not observed ended {it|them}", n))
	}
}

// Finish implements part.Part.
func (p *Part) Finish(*part.Outcome) {}
