package textreport

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// baseline prints, among the first lines of the report, which findings an earlier report has too.
func (p *printer) baseline(b *report.Baseline) {
	if b == nil {
		return
	}
	text := "all findings are new"
	if n := len(b.Known); n > 0 {
		text = plural.Counted(uint64(n), "finding is", "findings are") + " known: " + kindsOf(b.Known)
	}
	if n := len(b.Gone); n > 0 {
		text += plural.Sprintf("; %d of it {was|were} not found in this run", n)
	}
	p.para(p.style.warn, 2, 4, fmt.Sprintf("compared with %s: %s", report.Clean(b.Name), text))
}

// maxKnown is how many findings the line about known ones names; it counts more of them by kind.
const maxKnown = 3

// kindsOf names a few findings, or counts many by kind.
func kindsOf(known []report.Finding) string {
	var parts []string
	if len(known) <= maxKnown {
		for i := range known {
			f := &known[i]
			text := string(f.Kind)
			if names := f.ObjectNames(); len(names) > 0 {
				text += " of " + strings.Join(names, ", ")
			}
			parts = append(parts, report.ShortText(text, 60))
		}
		return strings.Join(parts, "; ")
	}
	count := map[string]int{}
	for i := range known {
		count[string(known[i].Kind)]++
	}
	for _, k := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d %s", count[k], k))
	}
	return strings.Join(parts, ", ")
}
