package textreport

import (
	"github.com/tracepredict/tracepredict/analysis/report"
)

// ended prints the signal that ended the program as the first lines of the report and, where probes
// may be the cause, how to find out.
func (p *printer) ended(r report.Run) {
	if r.Signal == nil {
		return
	}
	p.para(p.style.bad, 0, 2, report.EndedBySignal(r))
	for _, a := range report.SignalAdvice(r) {
		p.para(p.style.warn, 2, 4, a)
	}
}
