package textreport

import (
	"strings"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// coverage prints what was looked for, and what not, in a run without findings.
func (p *printer) coverage(r report.Report) {
	c := r.Run.Coverage
	if c == nil || len(r.Findings) > 0 {
		return
	}
	if len(c.LookedFor) > 0 {
		p.para(unchanged, 2, 4, "looked for: "+strings.Join(c.LookedFor, "; "))
	}
	if len(c.NotLookedFor) > 0 {
		p.para(unchanged, 2, 4, "not looked for: "+strings.Join(c.NotLookedFor, "; "))
	}
	if n := len(r.Run.Executed); n > 0 {
		p.para(unchanged, 2, 4, plural.Sprintf("not seen: what %d {place|places} in the code {synchronises|synchronise} (notes below)", n))
	}
	if c.NotPredicted != "" {
		p.para(unchanged, 2, 4, "nothing could be predicted, since "+c.NotPredicted)
	}
}
