package report

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Place returns the frame by which formats show a finding: that of its first side with a source line, or else of its
// first side; the zero Frame if nothing is known.
func (f *Finding) Place() event.Frame {
	var first event.Frame
	for i := range f.Evidence {
		switch at := f.Evidence[i].From().Top(); {
		case at.File != "" && at.Line > 0:
			return at
		case i == 0:
			first = at
		}
	}
	return first
}

// Severity is how grave a finding is for a CI system, from the gravest.
type Severity int

// The severities.
const (
	Failure Severity = iota // the run fails by it
	Warning                 // likely, or stronger
	Notice
)

// Severity returns how grave a finding is.
func (o *Options) Severity(f *Finding) Severity {
	switch {
	case o.Failing(f):
		return Failure
	case f.Confidence.AtLeast(finding.Likely):
		return Warning
	}
	return Notice
}
