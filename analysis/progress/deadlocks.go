package progress

import (
	"fmt"
	"io"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/run"
)

// maxDeadlocks bounds the deadlocks that are told of before the report.
const maxDeadlocks = 100

// Deadlocks tells of deadlocks as soon as they are predicted. Those whose sentence is the
// same, such as of locks that were made in the same place by the same threads, are one.
type Deadlocks struct {
	// Names resolves; needed.
	Names run.Namer
	// Out gets a line for each.
	Out io.Writer

	// Suppressed says of which not to tell; nil: of all.
	Suppressed func(*report.Finding) bool

	told map[string]bool
}

// Take takes a deadlock that was predicted.
func (d *Deadlocks) Take(f *finding.Finding) {
	resolved := report.Resolve(*f, d.Names)
	if d.Suppressed != nil && d.Suppressed(&resolved) {
		return
	}
	text := resolved.Message
	if d.told[text] || len(d.told) >= maxDeadlocks {
		return
	}
	if d.told == nil {
		d.told = map[string]bool{}
	}
	d.told[text] = true
	// What cannot be written is missed by nobody: the report has all.
	_, _ = fmt.Fprintf(d.Out, "tracepredict: deadlock predicted: %s (the full report, with what is doubtful about it, follows at the end)\n", text)
}
