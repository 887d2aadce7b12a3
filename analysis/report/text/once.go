package textreport

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// maxInstances is the number of other instances of a finding, or of objects of one, that the text names.
const maxInstances = 4

// alsoSeen prints which threads do the same as the sides shown, and which instances were merged.
func (p *printer) alsoSeen(f *report.Finding) {
	if more := f.HiddenThreads(); len(more) > 0 {
		p.out.WriteByte('\n')
		p.para(unchanged, 3, 5, fmt.Sprintf("and %s in the same way: %s",
			plural.Counted(uint64(len(more)), "more thread", "more threads"), report.ThreadNumbers(more, len(more))))
	}
	if !p.brief {
		p.others(f)
	}
}

// others prints the instances of the finding with other threads or objects.
func (p *printer) others(f *report.Finding) {
	if len(f.Others) == 0 {
		return
	}
	var parts []string
	for i := range f.Others {
		if i == maxInstances {
			parts = append(parts, "...")
			break
		}
		o := &f.Others[i]
		part := report.ThreadNumbers(o.Threads, len(o.Threads))
		if names := namesOf(o.Objects); names != namesOf(f.Objects) && names != "" {
			part += " on " + names
		}
		parts = append(parts, part)
	}
	p.out.WriteByte('\n')
	p.para(unchanged, 3, 5, "also seen: "+strings.Join(parts, "; "))
}

// namesOf returns the names of the first few objects.
func namesOf(objects []report.Object) string {
	var names []string
	for i := range objects {
		if i == maxInstances {
			names = append(names, "...")
			break
		}
		names = append(names, report.Quoted(&objects[i]))
	}
	return strings.Join(names, ", ")
}
