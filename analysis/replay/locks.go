package replay

import (
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/suite"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// locks returns how far the lock graph was searched, and notes on what bounds left out.
func locks(s *suite.Suite) (*report.Locks, []string) {
	n := s.Locks()
	var notes []string
	say := func(format string, args ...any) { notes = append(notes, plural.Sprintf(format, args...)) }
	if n.BudgetHit {
		say("the search for deadlocks ended at its budget, before all cycles of locks were looked at: deadlocks may be missed, and a larger --cycle-budget looks at more")
	}
	if n.LongerCycles {
		say("cycles of locks of more threads than --max-cycle were not looked for")
	}
	if n.DroppedEdges > 0 {
		say("%d {acquisition|acquisitions} had lock orders for which there was no room: deadlocks may be missed, and a larger --max-patterns keeps more", n.DroppedEdges)
	}
	if n.DroppedFindings > 0 {
		say("%d {cycle of locks was|cycles of locks were} found beyond those that are kept", n.DroppedFindings)
	}
	return &report.Locks{Edges: n.Edges, Acquisitions: n.Instances, Complete: len(notes) == 0 && n.EvictedEdges == 0}, notes
}
