// Package markdown writes reports for comments of merge requests and for the summaries of CI steps: a table of the
// findings, and the text of each to unfold. It is GitHub's Markdown, which GitLab and Gitea read too.
package markdown

import (
	"fmt"
	"io"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/report"
	textreport "github.com/tracepredict/tracepredict/analysis/report/text"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// The limits of what is written. A comment on GitHub has at most 65,536 characters; one on GitLab a million, a step's
// summary 1 MiB.
const (
	maxBytes = 60_000
	maxRows  = 100
	maxName  = 60 // columns of a name
)

// Write writes the report. Of the options it uses Fails, SourceRoot and Width.
func Write(w io.Writer, r report.Report, o report.Options) error {
	r = r.Cleaned()
	o.Color = false
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", escape(report.Headline(r)))
	if r.Run.Failed != "" {
		fmt.Fprintf(&b, "**%s**\n\n", escape(r.Run.Failed))
	}
	if all := r.Run.ProcessesObserved(); all != "" {
		fmt.Fprintf(&b, "%s\n\n", escape(all))
	}
	causes := r.Causes()
	if len(causes) > 0 {
		b.WriteString("| | finding | where | |\n| --- | --- | --- | --- |\n")
	}
	for i := range causes {
		if i == maxRows {
			b.WriteString(plural.Sprintf("\n%d more {finding is|findings are} in the report.\n", len(causes)-maxRows))
			break
		}
		b.WriteString(row(r, causes[i].Lead, &o))
	}
	b.WriteString("\n")
	for i := range causes {
		text := unfold(r, &causes[i], o)
		if b.Len()+len(text) > maxBytes {
			b.WriteString(plural.Sprintf("The details of %d {finding|findings} are in the report.\n", len(causes)-i))
			break
		}
		b.WriteString(text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// row returns a line of the table.
func row(r report.Report, f *report.Finding, o *report.Options) string {
	mark := map[report.Severity]string{report.Failure: "❌", report.Warning: "⚠️", report.Notice: "ℹ️"}[o.Severity(f)]
	at := f.Place()
	where := r.Names().Line(at)
	if file, ok := o.InSource(at.File); ok && at.File != "" && at.Line > 0 {
		where = fmt.Sprintf("%s:%d", file, at.Line)
	}
	return fmt.Sprintf("| %s | **%s** %s | %s | %s |\n", mark, f.Kind, escape(names(f)), escape(where), f.Confidence)
}

// names returns the names of what a finding is about.
func names(f *report.Finding) string {
	var of []string
	for _, x := range f.Objects {
		of = append(of, report.ShortName(x.Name, maxName))
	}
	if f.Property != "" {
		of = append(of, f.Property)
	}
	return strings.Join(of, ", ")
}

// unfold returns the text of a cause, folded under its sentence.
func unfold(r report.Report, c *report.Cause, o report.Options) string {
	text := textreport.Details(r, c, o)
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fmt.Sprintf("<details><summary>%s: %s.</summary>\n\n%s\n%s\n%s\n\n</details>\n\n", c.Lead.Kind, escape(c.Lead.Message), fence, text, fence)
}

// escape returns text that Markdown shows as it is: no markup, no links to people or issues, no HTML.
func escape(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case strings.ContainsRune("\\`*_{}[]<>|#@&~", r), strings.HasPrefix(s[i:], "://"):
			fmt.Fprintf(&b, "&#%d;", r)
		case r == '\n':
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
