package textreport

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// pruned prints the candidates that are no findings.
func (p *printer) pruned(r report.Report) {
	if !r.Explained {
		return
	}
	p.out.WriteByte('\n')
	if len(r.Pruned) == 0 {
		p.para(p.style.title, 0, 2, "No candidate was pruned")
		return
	}
	p.para(p.style.title, 0, 2, "Candidates that are no findings, or have no checked schedule")
	for _, x := range r.Pruned {
		why := string(x.Why)
		if x.Count > 1 {
			why += fmt.Sprintf(", %s times", plural.Thousands(x.Count))
		}
		p.para(unchanged, 2, 4, fmt.Sprintf("%s (%s): %s.", x.Kind, why, report.Capital(x.Message)))
	}
}
