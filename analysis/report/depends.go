package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Dependency is a finding.Dependency with names for identifiers.
type Dependency struct {
	finding.Dependency
	Thread Thread `json:"-"`
	Step   Step   `json:"step"`
}

func (b *builder) dependencies(in []finding.Dependency) []Dependency {
	if in == nil {
		return nil // dependencies were not requested
	}
	out := make([]Dependency, 0, len(in))
	for _, d := range in {
		out = append(out, Dependency{Dependency: d, Thread: b.thread(d.Thread), Step: b.step(&d.Step)})
	}
	return out
}

// maxDepends bounds the threads that matter to a finding and that the text names.
const maxDepends = 4

// depends prints which other threads matter, and how many do not.
func (p *printer) depends(f *Finding) {
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
			parts = append(parts, d.text())
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

func distinctThreadsOf(f *Finding) []event.ThreadID {
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

// text returns, as examples, "T1 main thread created T2" or "T4 feeder wrote 'count', which T2
// reads".
func (d *Dependency) text() string {
	switch d.How {
	case finding.Creates:
		return fmt.Sprintf("%s created T%d", d.Thread.name(), d.On)
	case finding.Writes:
		return fmt.Sprintf("%s wrote %s, which T%d reads", d.Thread.name(), quoted(d.Step.Object), d.On)
	}
	return fmt.Sprintf("%s signalled %s, for which T%d waits", d.Thread.name(), quoted(d.Step.Object), d.On)
}
