package engine_test

import (
	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/clock"
	"github.com/tracepredict/tracepredict/observer/event"
)

// finish ends the analyses of a run without a specification, which does not fail.
func finish(e *engine.Engine, of verdict.Run, program part.Known) []finding.Finding {
	found, _ := e.Finish(of, program)
	return found
}

// stampInto passes events to the analyses, numbered and with the clocks of the must-order.
func stampInto(e *engine.Engine, events []event.Event) {
	must := clock.New()
	for i := range events {
		ev := &events[i]
		ev.Seq = uint64(i + 1)
		must.Stamp(ev)
		e.Event(ev)
		must.Done(ev)
	}
}
