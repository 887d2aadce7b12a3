package textreport

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// suppressions prints, among the first lines of the report, how many findings were left out.
func (p *printer) suppressions(r report.Report) {
	if n, by := r.Suppressed(); n > 0 {
		p.para(p.style.warn, 2, 4, fmt.Sprintf("suppressed: %s, by %s",
			plural.Counted(uint64(n), "finding", "findings"), plural.Counted(uint64(by), "suppression", "suppressions")))
	}
	if r.Run.Suppressions != nil {
		for i := range r.Run.Suppressions.Each {
			if s := &r.Run.Suppressions.Each[i]; s.Expired && !p.all {
				p.para(p.style.warn, 2, 4, fmt.Sprintf("%s:%d: %s: the suppression has expired", report.Clean(s.File), s.Line, report.Clean(s.Name)))
			}
		}
	}
	if !p.all || r.Run.Suppressions == nil {
		return
	}
	for i := range r.Run.Suppressions.Each {
		p.para(p.style.dim, 4, 6, suppressionText(&r.Run.Suppressions.Each[i]))
	}
	if n := r.Run.Suppressions.ForOtherTools; n > 0 {
		p.para(p.style.dim, 4, 6, plural.Counted(uint64(n), "suppression is", "suppressions are")+" for other tools")
	}
}

// suppressionText returns "known.supp:3: counter in poll: 2 predicted" or "... unused".
func suppressionText(s *report.Suppression) string {
	var parts []string
	for _, c := range finding.Confidences() {
		if n := s.Findings[c]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", plural.Thousands(uint64(n)), c))
		}
	}
	what := "unused"
	switch {
	case s.Expired:
		what = "expired"
	case len(parts) > 0:
		what = strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%s:%d: %s: %s", report.Clean(s.File), s.Line, report.Clean(s.Name), what)
}

// generated prints blocks that would suppress the findings, unwrapped, so that they can be
// pasted.
func (p *printer) generated(r report.Report) {
	if !r.Generated || len(r.Findings) == 0 {
		return
	}
	p.out.WriteByte('\n')
	p.para(p.style.title, 0, 2, "Suppressions of what is shown, for a file for --suppressions:")
	for i := range r.Findings {
		p.out.WriteString(r.Findings[i].Suppression)
	}
}
