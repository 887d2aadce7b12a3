package main

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/resolve"
)

// debugNotes says what debug information the findings that are shown lack.
func (r *observation) debugNotes(rep report.Report) []string {
	shown := rep.AtLeast(finding.Confidence(r.flags.confidence))
	return resolve.DebugNotes(r.session, &shown)
}
