package main

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
)

// debugNotes returns sentences on debug information that is missing for the findings shown.
func (r *observation) debugNotes(rep report.Report) []plural.Note {
	shown := rep.AtLeast(finding.Confidence(r.flags.confidence))
	return r.live.DebugNotes(func(visit func([]event.Frame)) {
		shown.Stacks(func(s report.Stack) { visit(s.Frames) })
	})
}
