package textreport

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// maxNotes is the number of lines of notes, unless all were requested or there are more on what the run means for findings.
const maxNotes = 10

// notes prints the notes of a run: with Verbose all, each once, and otherwise joined by kind.
func (p *printer) notes(r *report.Run) {
	lines, all := r.DistinctNotes(), len(r.DistinctNotes())
	if !p.all {
		first, others := r.JoinedNotes()
		lines = append(first, others...)
		if len(lines) > maxNotes && !p.complete {
			lines = lines[:max(len(first), maxNotes-1)]
		}
	}
	for _, text := range lines {
		p.para(p.style.warn, 2, 4, "note: "+text)
	}
	if len(lines) < all {
		p.para(p.style.dim, 2, 4, fmt.Sprintf("--verbose lists all %s notes", plural.Thousands(uint64(all))))
	}
}
