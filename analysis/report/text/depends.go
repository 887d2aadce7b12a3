package textreport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
)

// maxDepends bounds the threads that matter to a finding and that the text names.
const maxDepends = 4

// depends prints which other threads matter, and how many do not.
func (p *printer) depends(f *report.Finding) {
	if f.Depends == nil {
		return
	}
	var parts []string
	needed, contend := 0, 0
	for _, d := range f.Depends {
		if d.How == finding.Contends {
			contend++
			continue
		}
		if needed++; needed <= maxDepends {
			parts = append(parts, d.Text())
		}
	}
	if needed > maxDepends {
		parts = append(parts, fmt.Sprintf("and %d more", needed-maxDepends))
	}
	var rest []string
	if contend > 0 {
		rest = append(rest, fmt.Sprintf("%d only %s the same locks", contend, verb(contend, "takes", "take")))
	}
	if others := p.run.Threads - len(distinctThreadsOf(f)) - needed - contend; others > 0 && !f.Partial {
		rest = append(rest, fmt.Sprintf("%d %s nothing to do with it", others, verb(others, "has", "have")))
	}
	if text := strings.Join(append(parts, rest...), "; "); text != "" {
		p.para(unchanged, 3, 5, "other threads: "+text)
	}
}

func distinctThreadsOf(f *report.Finding) []event.ThreadID {
	ids := slices.Clone(f.Threads)
	slices.Sort(ids)
	return slices.Compact(ids)
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
