package textreport

import (
	"fmt"
	"io"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
)

// WriteHangs writes the hangs of a program that still hangs: the sentence of each, and the
// source locations at which its threads wait.
func WriteHangs(w io.Writer, r report.Report, o report.Options) error {
	p := newPrinter(r, o)
	for i := range r.Findings {
		f := &r.Findings[i]
		what := "the program hangs"
		if f.HasTimeout {
			what = "threads of the program wait for each other"
		}
		if f.Confidence != finding.Observed {
			what = "the program may hang"
		}
		p.para(p.style.bad, 0, 2, fmt.Sprintf("tracepredict: %s: %s.", what, f.Message))
		p.out.WriteByte('\n')
		p.sides(f)
		p.anonymous(f)
		p.out.WriteByte('\n')
	}
	if _, err := io.WriteString(w, p.out.String()); err != nil {
		return fmt.Errorf("write of a hang: %w", err)
	}
	return nil
}
