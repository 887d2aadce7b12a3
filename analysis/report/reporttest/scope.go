package reporttest

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Scope returns a violated check of a scope of the shop, in a region between two acquires of the ledger.
func Scope() finding.Finding {
	step := func(seq uint64, t event.ThreadID, at event.StackID) finding.Step {
		return finding.Step{Seq: seq, Time: seq * 1000, Thread: t, Op: event.Acquire, Object: Ledger, Stack: at}
	}
	f := finding.Finding{
		Kind: finding.Scoped, Confidence: finding.Observed, Property: "desks", Message: "a desk sold nothing", Count: 1,
		Evidence: []finding.Step{step(40, 2, 1), step(52, 3, 3)},
		Scope: &finding.Scope{
			Check: "always (selling -> all_sell)", Sync: "turn", Region: 7, Concurrent: 1,
			Atoms: []finding.Truth{{Name: "selling", Holds: true}, {Name: "all_sell"}},
			Locals: []finding.LocalVerdicts{
				{Name: "sells", Type: "desk", Threads: []finding.ThreadVerdict{{Thread: 2, Verdict: "T"}, {Thread: 3, Verdict: "?"}}, More: 1},
				{Name: "counts", Type: "clerk", Threads: []finding.ThreadVerdict{}},
			},
		},
	}
	f.AddSides()
	return f
}
