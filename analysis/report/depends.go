package report

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/finding"
)

// Dependency is a finding.Dependency with names for identifiers.
type Dependency struct {
	finding.Dependency
	Thread Thread
	Step   Step
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

// Text returns, as examples, "T1 main thread created T2" or "T4 feeder wrote 'count', which T2
// reads".
func (d *Dependency) Text() string {
	switch d.How {
	case finding.Creates:
		return fmt.Sprintf("%s created T%d", d.Thread.ShortLabel(), d.On)
	case finding.Writes:
		return fmt.Sprintf("%s wrote %s, which T%d reads", d.Thread.ShortLabel(), Quoted(d.Step.Object), d.On)
	}
	return fmt.Sprintf("%s signalled %s, for which T%d waits", d.Thread.ShortLabel(), Quoted(d.Step.Object), d.On)
}
