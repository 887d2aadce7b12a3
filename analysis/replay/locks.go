package replay

import (
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/suite"
	"github.com/tracepredict/tracepredict/internal/plural"
)

// locks returns how far the lock graph was searched, and notes on what bounds left out. forced is
// run.Summary.Forced.
func locks(s *suite.Suite, forced uint64) (*report.Locks, []string) {
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
	if forced > 0 {
		say("%d {thread|threads} had to be taken to begin after others had ended, since so many ended threads had not been joined: errors between these may be missed", forced)
	}
	return &report.Locks{Edges: n.Edges, Acquisitions: n.Instances, Complete: len(notes) == 0 && n.EvictedEdges == 0}, notes
}
