package progress

import (
	"fmt"
	"io"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/run"
)

// maxDeadlocks bounds the deadlocks that are reported before the end.
const maxDeadlocks = 100

// Deadlocks reports deadlocks as soon as they are predicted. Those whose sentences are equal
// count as one, such as deadlocks of the same threads over locks that were initialised at the
// same source location.
type Deadlocks struct {
	// Names returns the names of identifiers; it must not be nil.
	Names run.Namer
	// Out receives a line for each deadlock.
	Out io.Writer

	// Confidence returns the confidence of a deadlock as far as is known so far; it must not be
	// nil. A deadlock of less than Least is not reported.
	Confidence func(*finding.Finding) finding.Confidence
	Least      finding.Confidence

	// Suppressed reports whether to leave out a deadlock; nil: none is left out.
	Suppressed func(*report.Finding) bool

	seen map[string]bool
}

// Report reports a predicted deadlock, unless it is suppressed, weaker than Least or was reported
// already, or maxDeadlocks were reported.
func (d *Deadlocks) Report(f *finding.Finding) {
	resolved := report.Resolve(*f, d.Names)
	if d.Suppressed != nil && d.Suppressed(&resolved) {
		return
	}
	text := resolved.Message
	if d.seen[text] || len(d.seen) >= maxDeadlocks {
		return
	}
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	d.seen[text] = true
	confidence := d.Confidence(f)
	if !confidence.AtLeast(d.Least) {
		return
	}
	// An error of the output is ignored: the report at the end has all of this.
	_, _ = fmt.Fprintf(d.Out, "tracepredict: deadlock %s: %s (the report at the end says what it rests on)\n", confidence, text)
}
