package verdict

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// withholdRefutations changes the reasons that say that no schedule leads to an error, where the record may lack
// events that matter: then one that was not found may lead there all the same.
func withholdRefutations(found []finding.Finding, pruned []finding.Pruned, incomplete func([]finding.Step) reason.Reason) {
	if incomplete == nil {
		return
	}
	for i := range found {
		f := &found[i]
		if why := incomplete(f.Evidence); why.Given() && f.Reason.Refutes() {
			f.Reason = reason.Reason{What: reason.NotWhole, Of: &why}
		}
	}
	for i := range pruned {
		p := &pruned[i]
		if why := incomplete(p.Evidence); why.Given() && p.Reason.Refutes() {
			p.Why, p.Reason = finding.Unknown, reason.Reason{What: reason.NotWhole, Of: &why}
		}
	}
}

// incomplete returns the reason why the record of a run may lack events that matter to these.
func incomplete(sum run.Summary, evidence []finding.Step, names run.Namer) reason.Reason {
	if sum.Doubt != "" {
		return reason.Noted(sum.Doubt)
	}
	for _, e := range evidence {
		if e.Flags&event.AfterHole != 0 {
			return reason.Reason{What: reason.EventsLost, Thread: e.Thread}
		}
		for _, u := range sum.UncertainHolders {
			if u.Thread == e.Thread && e.Seq <= u.Until {
				return reason.Reason{What: reason.HeldBefore, Thread: e.Thread}
			}
		}
	}
	own := processesOf(evidence, names)
	for _, d := range sum.Doubts {
		if concerns(d.Processes, own) {
			return reason.Noted(d.Reason)
		}
	}
	return reason.Reason{}
}
