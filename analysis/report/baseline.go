package report

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
)

// Baseline compares a report with an earlier one. The findings that both have are in Known, and not in the report's.
type Baseline struct {
	Name  string // of the earlier report
	Known []Finding
	Gone  []Earlier // findings that only the earlier report has
}

// Earlier is a finding as an earlier report has it.
type Earlier struct {
	Kind        finding.Kind       `json:"kind"`
	Confidence  finding.Confidence `json:"confidence"`
	Fingerprint string             `json:"fingerprint"`
	Message     string             `json:"message"`
}

// EarlierOf returns what is kept of a finding.
func EarlierOf(f *Finding) Earlier { return Earlier{f.Kind, f.Confidence, f.Fingerprint, f.Message} }
