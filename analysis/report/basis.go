package report

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/finding"
)

// ConfidenceText returns a sentence for the evidence of a finding.
func ConfidenceText(f *Finding) string {
	switch {
	case f.Confidence == finding.Observed && f.Kind == finding.Race && len(f.Witness) > 0:
		return "nothing in this run ordered the two accesses; a checked schedule leads to both" + orderText(f.Order)
	case f.Confidence == finding.Observed && f.Kind == finding.Race:
		return "nothing in this run ordered the two accesses"
	case f.AtStart && f.Confidence == finding.Observed:
		return "every schedule begins with that state"
	case f.AtStart:
		return "every schedule begins with that state, but not all of it was recorded"
	case f.Confidence == finding.Observed:
		return "this run did it"
	case f.Confidence == finding.Confirmed:
		return "another run, which was led there, did it"
	case f.Confidence == finding.Predicted:
		return "a checked schedule leads to it" + orderText(f.Order)
	case f.Confidence == finding.Likely && f.Kind == finding.Misuse:
		return "this run did it, but what was not observed could make it correct"
	case f.Confidence == finding.Likely && f.NoCycle && len(f.Witness) == 0:
		return "nothing orders what let the thread go on in this run " + gap(f) + ", but what was not observed could let it go on"
	case f.Confidence == finding.Likely:
		return "a checked schedule of what was observed leads to it" + orderText(f.Order) + ", but what was not observed could forbid that schedule"
	case len(f.Witness) > 0 && !f.Unrecorded:
		return "a checked schedule of what was observed leads to it" + orderText(f.Order) + ", but whether its threads do what they do in it was not recorded"
	case len(f.Witness) > 0:
		return "a checked schedule of what was observed leads to it" + orderText(f.Order) + ", but what its threads do in it depends on memory that was not recorded"
	case f.Kind == finding.Deadlock:
		return "the lock order suggests it; no checked schedule leads to it"
	case f.Kind == finding.Race:
		return "the locks held at the accesses suggest it; no checked schedule leads to it"
	}
	return "a heuristic suggests it; no checked schedule leads to it"
}

// gap returns a phrase for the order that the wait of a thread lacks.
func gap(f *Finding) string {
	if f.Evidence[0].Op.IsAccess() {
		return "before its look at the variable"
	}
	return "after the beginning of its sleep"
}

// orderText returns a phrase for what a schedule keeps of the order of the run, with its name in
// JSON.
func orderText(o finding.Order) string {
	switch o {
	case finding.OrderNone:
		return ""
	case finding.OrderSync:
		return ", which keeps the run's order of all synchronisation (sync)"
	case finding.OrderExclusion:
		return ", in which whole critical sections are reordered (exclusion)"
	case finding.OrderMessages:
		return ", in which critical sections are reordered without regard to locks, which it keeps all the same (messages)"
	case finding.OrderSyncPreserving:
		return ", which keeps the run's order of critical sections (sync-preserving)"
	case finding.OrderReversal:
		return ", in which critical sections of one lock are reordered (reversal)"
	}
	return fmt.Sprintf(" (order: %s)", o)
}

// AssumptionText returns a phrase for what a prediction assumes, with its name in JSON.
func AssumptionText(a string) string {
	switch a {
	case "race-free":
		return "that memory that was not watched has no race (race-free)"
	case "guarded-data":
		return "that critical sections left out or moved decide nothing by data that was not watched (guarded-data)"
	}
	return a
}
