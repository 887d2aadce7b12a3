package scope

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/finding"
)

// violation makes the finding of a check that became false at the end of the present region. The step is the synchronising
// action that ends it, nil at the end of the run.
func (m *Monitor) violation(check int, next *finding.Step) {
	f := m.finding(check, m.state.Atoms)
	f.Confidence, f.Scope.Last, f.Scope.Concurrent = finding.Observed, next == nil, m.state.Concurrent
	for i := range m.s.Locals {
		f.Scope.Locals = append(f.Scope.Locals, m.verdictsOf(i))
	}
	if m.stats.Actions > 0 {
		f.Evidence = append(f.Evidence, m.last)
	}
	if next != nil {
		f.Evidence = append(f.Evidence, *next)
	}
	f.AddSides()
	m.found = append(m.found, f)
	if m.o.Found != nil {
		m.o.Found(f)
	}
}

// finding returns a finding of a check in the present region, without evidence.
func (m *Monitor) finding(check int, atoms []bool) *finding.Finding {
	f := &finding.Finding{
		Kind: finding.Scoped, Property: m.s.Name, Message: m.s.Checks[check].Message, Count: 1,
		Scope: &finding.Scope{Check: m.s.Checks[check].Text, Sync: m.s.SyncName, Region: m.region - m.began},
	}
	if m.s.Outer != 0 {
		f.Scope.Outer, f.Scope.OuterRegion = m.s.OuterName, m.outer
	}
	if f.Message == "" {
		f.Message = fmt.Sprintf("this run violates %s in region %d", m.s.Name, f.Scope.Region)
	}
	for i := range m.s.Atoms {
		f.Scope.Atoms = append(f.Scope.Atoms, finding.Truth{Name: m.s.Atoms[i].Name, Holds: atoms[i]})
	}
	return f
}

// verdictsOf returns the verdicts of a local property in the present region.
func (m *Monitor) verdictsOf(i int) finding.LocalVerdicts {
	l := &m.s.Locals[i]
	out := finding.LocalVerdicts{Name: l.Name, Type: m.s.Types[l.Type].Name, Threads: []finding.ThreadVerdict{}}
	for _, t := range m.present() {
		switch {
		case !t.types[l.Type]:
		case len(out.Threads) == finding.MaxVerdicts:
			out.More++
		default:
			out.Threads = append(out.Threads, finding.ThreadVerdict{Thread: t.id, Verdict: t.locals[i].verdict.String()})
		}
	}
	return out
}
