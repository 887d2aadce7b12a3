// Package github writes reports as workflow commands of GitHub Actions, which show findings as annotations at their lines
// (https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands).
package github

import (
	"fmt"
	"io"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// most is how many annotations of each kind GitHub shows of a step; of a job it shows 50.
const most = 10

// Write writes an annotation for each cause of findings, at most ten of each kind, and one that counts those left out. Of
// the options it uses Fails and SourceRoot.
func Write(w io.Writer, r report.Report, o report.Options) error {
	r = r.Cleaned()
	var b strings.Builder
	if r.Run.Failed != "" {
		fmt.Fprintf(&b, "::error title=tracepredict::%s\n", data(r.Run.Failed))
	}
	count, omitted := map[report.Severity]int{}, 0
	if r.Run.Failed != "" {
		count[report.Failure] = 1
	}
	for _, c := range r.Causes() {
		s := o.Severity(c.Lead)
		limit := most
		if s == report.Notice {
			limit-- // the last one counts those that are left out
		}
		if count[s]++; count[s] > limit {
			omitted++
			continue
		}
		b.WriteString(annotation(c.Lead, s, &o))
	}
	if omitted > 0 {
		fmt.Fprintf(&b, "::notice title=tracepredict::%s\n", data(plural.Sprintf("%d more {finding is|findings are} in the report: GitHub shows %d annotations of a kind", omitted, most)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func annotation(f *report.Finding, s report.Severity, o *report.Options) string {
	at := f.Place()
	var where string
	if file, ok := o.InSource(at.File); ok && at.File != "" && at.Line > 0 {
		where = fmt.Sprintf("file=%s,line=%d,", value(file), at.Line)
	}
	text := f.Message
	if in := report.ProgramsText(f); in != "" {
		text += " (" + in + ")"
	}
	return fmt.Sprintf("::%s %stitle=%s::%s\n", commands[s], where, value(string(f.Kind)+" "+string(f.Confidence)), data(text+"."))
}

var commands = map[report.Severity]string{report.Failure: "error", report.Warning: "warning", report.Notice: "notice"}

// data escapes the text of a command.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// value escapes the value of a property of a command.
func value(s string) string { return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s)) }
