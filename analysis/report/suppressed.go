package report

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
)

// Suppressions are the suppressions that were applied to the report, with counts of the
// findings that they left out.
type Suppressions struct {
	Each          []Suppression
	ForOtherTools int // blocks of the files that are for other tools
}

// Suppression counts what one suppression left out.
type Suppression struct {
	Name string
	File string // file in which it was defined
	Line int
	// Findings counts the findings that it left out, by confidence; Count counts their
	// instances.
	Findings map[finding.Confidence]int
	Count    int
	Expired  bool // its last day is over, so that it left out nothing
}

// ObjectNames returns the names of the objects of the finding, each once, without objects that
// have no name.
func (f *Finding) ObjectNames() []string {
	var all []string
	add := func(o *Object) {
		if o != nil && !o.Anonymous && !o.Numbered && !slices.Contains(all, o.Name) {
			all = append(all, o.Name)
		}
	}
	for i := range f.Objects {
		add(&f.Objects[i])
	}
	for i := range f.Evidence {
		add(f.Evidence[i].Object)
	}
	return all
}

// Stacks returns the stack of the step, and those at which its thread acquired the locks that
// it holds.
func (s *Step) Stacks() []Stack {
	all := []Stack{s.Stack}
	for _, h := range s.Held {
		all = append(all, h.Stack)
	}
	return all
}

// Suppressed returns the number of findings that would be shown if suppressions had not left
// them out, and the number of these suppressions.
func (r Report) Suppressed() (findings, by int) {
	if r.Run.Suppressions == nil {
		return 0, 0
	}
	for _, s := range r.Run.Suppressions.Each {
		n := 0
		for c, k := range s.Findings {
			if r.Least == "" || c.AtLeast(r.Least) {
				n += k
			}
		}
		if n > 0 {
			findings, by = findings+n, by+1
		}
	}
	return findings, by
}
