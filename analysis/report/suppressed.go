package report

import (
	"fmt"
	"slices"
	"strings"

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
}

// ObjectNames returns the names of the objects of the finding, each once, without objects that
// have no name.
func (f *Finding) ObjectNames() []string {
	var all []string
	add := func(o *Object) {
		if o != nil && !o.Anonymous && !o.numbered && !slices.Contains(all, o.Name) {
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

// suppressed returns the number of findings that would be shown if suppressions had not left
// them out, and the number of these suppressions.
func (r Report) suppressed() (findings, by int) {
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

// suppressions prints, among the first lines of the report, how many findings were left out.
func (p *printer) suppressions(r Report) {
	if n, by := r.suppressed(); n > 0 {
		p.para(p.style.warn, 2, 4, fmt.Sprintf("suppressed: %s, by %s",
			counted(uint64(n), "finding", "findings"), counted(uint64(by), "suppression", "suppressions")))
	}
	if !p.all || r.Run.Suppressions == nil {
		return
	}
	for _, s := range r.Run.Suppressions.Each {
		p.para(p.style.dim, 4, 6, s.describe())
	}
	if n := r.Run.Suppressions.ForOtherTools; n > 0 {
		p.para(p.style.dim, 4, 6, counted(uint64(n), "suppression is", "suppressions are")+" for other tools")
	}
}

// describe returns "known.supp:3: counter in poll: 2 predicted" or "... unused".
func (s *Suppression) describe() string {
	var parts []string
	for _, c := range confidences {
		if n := s.Findings[c]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", thousands(uint64(n)), c))
		}
	}
	what := "unused"
	if len(parts) > 0 {
		what = strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%s:%d: %s: %s", clean(s.File), s.Line, clean(s.Name), what)
}

// generated prints blocks that would suppress the findings, unwrapped, so that they can be
// pasted.
func (p *printer) generated(r Report) {
	if !r.Generated || len(r.Findings) == 0 {
		return
	}
	p.out.WriteByte('\n')
	p.para(p.style.title, 0, 2, "Suppressions of what is shown, for a file for --suppressions:")
	for i := range r.Findings {
		p.out.WriteString(r.Findings[i].Suppression)
	}
}

type jsonSuppressions struct {
	Findings      int               `json:"findings"`
	Count         int               `json:"count"`
	ForOtherTools int               `json:"other_tools"`
	By            []jsonSuppression `json:"by"`
}

type jsonSuppression struct {
	Name      string `json:"name"`
	File      string `json:"file"`
	Line      int    `json:"line"`
	Findings  int    `json:"findings"`
	Observed  int    `json:"observed"`
	Predicted int    `json:"predicted"`
	Likely    int    `json:"likely"`
	Potential int    `json:"potential"`
	Count     int    `json:"count"`
}

func toJSONSuppressions(s *Suppressions) *jsonSuppressions {
	if s == nil {
		return nil
	}
	out := &jsonSuppressions{ForOtherTools: s.ForOtherTools, By: []jsonSuppression{}}
	for _, e := range s.Each {
		j := jsonSuppression{Name: clean(e.Name), File: clean(e.File), Line: e.Line, Count: e.Count,
			Observed: e.Findings[finding.Observed], Predicted: e.Findings[finding.Predicted],
			Likely: e.Findings[finding.Likely], Potential: e.Findings[finding.Potential]}
		j.Findings = j.Observed + j.Predicted + j.Likely + j.Potential
		out.By, out.Findings, out.Count = append(out.By, j), out.Findings+j.Findings, out.Count+j.Count
	}
	return out
}
