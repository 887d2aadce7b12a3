package verdict

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// withholdRefutations changes the reasons that say that no schedule leads to an error, where the record may lack
// events that matter: then one that was not found may lead there all the same.
func withholdRefutations(found []finding.Finding, pruned []finding.Pruned, refutes func(reason string) bool, incomplete func([]finding.Step) string) {
	if incomplete == nil {
		return
	}
	for i := range found {
		f := &found[i]
		if why := incomplete(f.Evidence); why != "" && refutes(f.Reason) {
			f.Reason = notFound + why
		}
	}
	for i := range pruned {
		p := &pruned[i]
		if why := incomplete(p.Evidence); why != "" && refutes(p.Reason) {
			p.Why, p.Reason = finding.Unknown, notFound+why
		}
	}
}

const notFound = "no schedule that leads there was found, but the record is not whole: "

// incomplete returns the reason why the record of a run may lack events that matter to these; "" if
// there is none.
func incomplete(sum run.Summary, evidence []finding.Step, names run.Namer) string {
	if sum.Doubt != "" {
		return sum.Doubt
	}
	for _, e := range evidence {
		if e.Flags&event.AfterHole != 0 {
			return fmt.Sprintf("events of T%d were lost", e.Thread)
		}
		for _, u := range sum.UncertainHolders {
			if u.Thread == e.Thread && e.Seq <= u.Until {
				return mayHaveHeld(e.Thread)
			}
		}
	}
	own := processesOf(evidence, names)
	for _, d := range sum.Doubts {
		if concerns(d.Processes, own) {
			return d.Reason
		}
	}
	return ""
}

func mayHaveHeld(t event.ThreadID) string {
	return fmt.Sprintf("T%d may have held a lock then that it took before the observation began", t)
}
