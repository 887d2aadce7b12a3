package race

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/analysis/race/eraser"
	"github.com/tracepredict/tracepredict/observer/event"
)

// look asks again about races that are not predicted, and about those whose sides the order of writes and reads keeps
// apart: for schedules in which a read sees another write than in the run, but the same value (predict.History.ByValue). A
// candidate that then is predicted replaces its finding, or is added. It implements part.Look.
type look struct {
	analysis *Analysis
	sets     *eraser.Analysis
}

// Revisit implements part.Revisiter.
func (a *Analysis) Revisit(held *locks.Table) part.Look {
	return &look{a, eraser.New(eraser.Options{EveryPair: true, Locks: held})}
}

// Event implements part.Look.
func (l *look) Event(e *event.Event) { l.sets.Event(e) }

// Settle implements part.Look.
func (l *look) Settle(history *predict.History) {
	all := l.analysis.found
	known := map[accessPair]int{}
	for i := range all {
		known[pairOf(&all[i])] = i
	}
	for i, c := range l.sets.Races() {
		at, seen := known[pairOf(&c.Finding)]
		if i >= maxOthers || seen && all[at].Confidence != finding.Potential {
			continue
		}
		if history.SettleRace(&c.Finding, c.Instances).Verdict != predict.Predicted {
			continue
		}
		if c.Reason = (reason.Reason{}); seen {
			all[at] = c.Finding
		} else {
			all = append(all, c.Finding)
		}
	}
	l.analysis.found = all
}
