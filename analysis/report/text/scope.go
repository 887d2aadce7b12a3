package textreport

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// region prints the region of a run after which a check of a scope is false, with the scope state.
func (p *printer) region(f *report.Finding) {
	s := f.Scope
	if s == nil {
		return
	}
	p.out.WriteByte('\n')
	p.para(p.style.title, 3, 3, regionText(s)+":")
	p.para(unchanged, 5, 7, s.Check+" is false")
	var atoms []string
	for _, a := range s.Atoms {
		atoms = append(atoms, literal(a))
	}
	if len(atoms) > 0 {
		p.para(unchanged, 5, 7, "with "+strings.Join(atoms, ", "))
	}
	for i := range s.Locals {
		p.para(p.style.dim, 5, 7, verdictsText(&s.Locals[i]))
	}
	if s.Concurrent > 0 {
		p.para(unchanged, 5, 7, plural.Sprintf("%d {event|events} counted here {is|are} concurrent with %s: another run may have {it|them} in another region", s.Concurrent, s.Sync))
	}
}

// regionText says between which synchronising actions a region is.
func regionText(s *finding.Scope) string {
	if s.Outer != "" {
		return fmt.Sprintf("Region %d of those in region %d of %s", s.Region, s.OuterRegion, s.Outer)
	}
	switch {
	case s.Moved > 0:
		return fmt.Sprintf("Region %d, before this %s, with %s on its other side", s.Region, s.Sync, plural.Counted(s.Moved, "event", "events"))
	case s.Region == 0:
		return fmt.Sprintf("Region 0, before the first %s", s.Sync)
	case s.Last:
		return fmt.Sprintf("Region %d, after the last %s and up to the end of the run", s.Region, s.Sync)
	}
	return fmt.Sprintf("Region %d, between these two events %s", s.Region, s.Sync)
}

func literal(t finding.Truth) string {
	if t.Holds {
		return t.Name
	}
	return "!" + t.Name
}

// verdictsText returns "s0r of reader: T2 true, T3 undecided".
func verdictsText(l *finding.LocalVerdicts) string {
	var parts []string
	for _, t := range l.Threads {
		parts = append(parts, fmt.Sprintf("T%d %s", t.Thread, verdictWords[t.Verdict]))
	}
	if l.More > 0 {
		parts = append(parts, plural.Counted(uint64(l.More), "more thread", "more threads"))
	}
	if len(parts) == 0 {
		parts = []string{"no thread"}
	}
	return fmt.Sprintf("%s of %s: %s", l.Name, l.Type, strings.Join(parts, ", "))
}

var verdictWords = map[string]string{"T": "true", "F": "false", "?": "undecided", "na": "not evaluated"}
