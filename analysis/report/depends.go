package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Dependency is a thread that matters to a finding without being one of its sides.
type Dependency struct {
	Thread Thread
	How    finding.Influence
	On     event.ThreadID
	Step   Step
}

func (b *builder) depends(in []finding.Dependency) []Dependency {
	if in == nil {
		return nil // nobody asked
	}
	out := make([]Dependency, 0, len(in))
	for _, d := range in {
		out = append(out, Dependency{Thread: b.thread(d.Thread), How: d.How, On: d.On, Step: b.steps([]finding.Step{d.Step})[0]})
	}
	return out
}

// maxDepends is how many threads that matter the text names.
const maxDepends = 4

// depends says in short which other threads matter, and how many do not.
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
		p.para(itself, 3, 5, "other threads: "+text)
	}
}

func distinctThreadsOf(f *Finding) []event.ThreadID {
	ids := each(f.Threads, func(t Thread) event.ThreadID { return t.ID })
	slices.Sort(ids)
	return slices.Compact(ids)
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// text is "T1 main thread created T2", "T4 feeder wrote 'count', which T2 reads".
func (d *Dependency) text() string {
	switch d.How {
	case finding.Creates:
		return fmt.Sprintf("%s created T%d", d.Thread.name(), d.On)
	case finding.Writes:
		return fmt.Sprintf("%s wrote %s, which T%d reads", d.Thread.name(), quoted(d.Step.Object), d.On)
	}
	return fmt.Sprintf("%s signalled %s, for which T%d waits", d.Thread.name(), quoted(d.Step.Object), d.On)
}

type jsonDependency struct {
	Thread event.ThreadID    `json:"thread"`
	How    finding.Influence `json:"how"`
	On     event.ThreadID    `json:"on"`
	Step   jsonStep          `json:"step"`
}

func (e *encoder) dependency(d Dependency) jsonDependency {
	return jsonDependency{Thread: d.Thread.ID, How: d.How, On: d.On, Step: e.step(d.Step)}
}
