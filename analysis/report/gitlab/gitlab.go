// Package gitlab writes reports in the Code Quality format of GitLab, which merge requests show
// (https://docs.gitlab.com/ci/testing/code_quality/): one JSON array with an object for each finding.
package gitlab

import (
	"cmp"
	"encoding/json"
	"io"

	"github.com/tracepredict/tracepredict/analysis/report"
)

type issue struct {
	Description string   `json:"description"`
	Check       string   `json:"check_name"`
	Fingerprint string   `json:"fingerprint"`
	Severity    string   `json:"severity"`
	Location    location `json:"location"`
}

type location struct {
	Path  string `json:"path"`
	Lines lines  `json:"lines"`
}

type lines struct {
	Begin int `json:"begin"`
}

// Write writes the findings. Of the options it uses Fails and SourceRoot. A finding whose place has no source line is at
// line 1 of its program or library, since GitLab wants a place.
func Write(w io.Writer, r report.Report, o report.Options) error {
	r = r.Cleaned()
	out := make([]issue, 0, len(r.Findings))
	for i := range r.Findings {
		f := &r.Findings[i]
		at := f.Place()
		file, _ := o.InSource(cmp.Or(at.File, at.Module, "unknown"))
		line := max(1, at.Line)
		if at.File == "" {
			line = 1
		}
		out = append(out, issue{
			Description: description(f), Check: "tracepredict/" + string(f.Kind),
			Fingerprint: f.Fingerprint, Severity: severities[o.Severity(f)], Location: location{file, lines{line}},
		})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// description returns "a deadlock of 'a' and 'b' (predicted), in first_test and second_test."
func description(f *report.Finding) string {
	text := f.Message + " (" + string(f.Confidence) + ")"
	if in := report.ProgramsText(f); in != "" {
		text += ", " + in
	}
	return text + "."
}

var severities = map[report.Severity]string{report.Failure: "critical", report.Warning: "major", report.Notice: "info"}
