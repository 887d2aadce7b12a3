package race

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/analysis/happensbefore"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/analysis/race/eraser"
	"github.com/tracepredict/tracepredict/observer/event"
)

// races returns the races observed in this run, then those predicted or suspected for other
// schedules where locksets warn of the variable. A pair of call stacks that was observed to race is
// not returned again. The other candidates, of which locksets do not warn, are findings only if
// predicted settles them.
func (a *Analysis) races(seen []happensbefore.Race, candidates []eraser.Race) (out []finding.Finding, others []*eraser.Race) {
	known := map[accessPair]int{}
	for _, r := range seen {
		known[pairOf(&r.Finding)] = len(out)
		out = append(out, a.settleObserved(r))
	}
	var warned []*eraser.Race
	for i := range candidates {
		c := &candidates[i]
		at, observed := known[pairOf(&c.Finding)]
		switch {
		case observed && c.Warned:
			out[at].Count = max(out[at].Count, c.Count)
		case observed:
		case !c.Warned:
			others = append(others, c)
		default:
			warned = append(warned, c)
		}
	}
	ordered := make([]bool, len(warned))
	for _, i := range a.promising(warned) {
		r := a.settleRace(warned[i])
		ordered[i] = r.Ordered()
	}
	for i, c := range warned {
		if !ordered[i] {
			out = append(out, c.Finding)
		}
	}
	return out, others
}

// Bounds of the candidates without a warning: how many predicted asks about, and how many it
// returns, each with a witness.
const (
	maxOthers    = 1 << 12
	maxPredicted = 1 << 8
)

// predicted returns the candidates for which there is a schedule. The others are silent, because no
// other analysis suspects them. It is called last, since it may spend what is left of
// Options.Reversals.
func (a *Analysis) predicted(candidates []*eraser.Race) []finding.Finding {
	var out []finding.Finding
	for n, i := range a.promising(candidates) {
		if n == maxOthers || len(out) == maxPredicted {
			a.shared.NotAsked += uint64(len(candidates) - n)
			break
		}
		c := candidates[i]
		c.Reason = reason.Reason{}
		if a.settleRace(c).Verdict == predict.Predicted {
			out = append(out, c.Finding)
		}
	}
	return out
}

// published returns the races with an access that, for all that is seen, the first owner of a field may
// have made before it published the object. The pointer passes through memory that is not observed, so
// that a schedule which leaves out a section in which it may have been passed on proves nothing: then
// there is a reason for doubt, and the race is not returned, unless the object was no thread's own: it lies in
// static memory, or in memory that a third thread allocated. If nothing is known of the run, no race is returned.
// Known are the races found otherwise.
func (a *Analysis) published(known []finding.Finding) (out []finding.Finding) {
	judge := a.shared.Judge
	if judge.Run.Doubt == nil {
		return nil
	}
	seen := map[accessPair]bool{}
	for i := range known {
		seen[pairOf(&known[i])] = true
	}
	for _, c := range a.eraser.Published() {
		if seen[pairOf(&c.Finding)] || a.shared.Search.Count(a.shared.History.SettleRace(&c.Finding, c.Instances)).Verdict != predict.Predicted {
			continue
		}
		c.Reason = reason.Reason{}
		judged := judge.Plainly(c.Finding)
		if judged.Confidence == finding.Predicted || a.nobodysOwn(&c.Finding) && slices.Contains(judged.Assumes, finding.GuardedData) {
			out = append(out, c.Finding)
		}
	}
	return out
}

// nobodysOwn reports whether neither thread of a race got the object to itself, as far as is known.
func (a *Analysis) nobodysOwn(f *finding.Finding) bool {
	if a.shared.Known.Unseen == nil || a.shared.Known.Unseen(f) {
		return false
	}
	given := f.Evidence[0].Flags&f.Evidence[1].Flags&event.Given != 0
	return given || a.shared.Known.Static != nil && a.shared.Known.Static(f.Objects[0])
}

// settleRace is settle for a candidate of the lockset analysis.
func (a *Analysis) settleRace(c *eraser.Race) predict.Result {
	evidence := c.Evidence // SettleRace may replace it
	r := a.shared.Search.Count(a.shared.History.SettleRace(&c.Finding, c.Instances))
	if r.Verdict != predict.Predicted {
		if f, ok := a.earlyRaces[pairOf(&c.Finding)]; ok {
			a.shared.Search.FoundEarly(r)
			f.Count = c.Count
			c.Finding, r = f, predict.Result{Verdict: predict.Predicted}
		}
	}
	if r.Verdict == predict.Predicted {
		return r
	}
	if c.Partial && !r.NotSearched() {
		a.shared.NotAsked++
	}
	a.shared.Unpredicted(&c.Finding, r, c.Objects, evidence)
	return r
}

// settleObserved returns the finding for a race of this run, with a schedule that shows it if the kept
// part of the trace has the events needed. If it has them and there is no schedule, or the checker
// refuses it, something that was not recorded may have ordered the two accesses. Then the race is
// only potential.
func (a *Analysis) settleObserved(r happensbefore.Race) finding.Finding {
	f := r.Finding
	switch result := a.shared.Settle(&f, r.Instances); {
	case result.Verdict == predict.Predicted:
		f.Confidence = finding.Observed
	case r.Uncertain || !result.Evicted():
		f.Confidence = finding.Potential
	default:
		f.Reason = reason.Reason{What: reason.NotShown, Of: &result.Reason}
	}
	return f
}
