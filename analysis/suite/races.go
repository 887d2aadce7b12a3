package suite

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/eraser"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/happensbefore"
	"github.com/tracepredict/tracepredict/analysis/predict"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event"
)

// races returns the races observed in this run, then those predicted or suspected for other
// schedules where locksets warn of the variable. A pair of call stacks that was observed to race is
// not returned again. The other candidates, of which locksets do not warn, are findings only if
// predicted settles them.
func (s *Suite) races(seen []happensbefore.Race, candidates []eraser.Race) (out []finding.Finding, others []*eraser.Race) {
	known := map[accessPair]int{}
	for _, r := range seen {
		known[pairOf(&r.Finding)] = len(out)
		out = append(out, s.observed(r))
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
	for _, i := range s.promising(warned) {
		r := s.settleRace(warned[i])
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
func (s *Suite) predicted(candidates []*eraser.Race) []finding.Finding {
	var out []finding.Finding
	for n, i := range s.promising(candidates) {
		if n == maxOthers || len(out) == maxPredicted {
			s.notAsked += uint64(len(candidates) - n)
			break
		}
		c := candidates[i]
		c.Reason = ""
		if s.settleRace(c).Verdict == predict.Predicted {
			out = append(out, c.Finding)
		}
	}
	return out
}

// Handovers says what is known of how threads hand objects over. If a function is nil, nothing is known.
type Handovers struct {
	Static func(event.ObjectID) bool   // the object lies in static memory
	Unseen func(*finding.Finding) bool // its threads may have synchronised without a record
	// Block returns the addresses, from lo to hi, of the allocated memory that an object lies in; 0 and 0 if it is
	// not known, or not allocated.
	Block func(event.ObjectID) (lo, hi uint64)
}

// HandoversBy sets what is known of how threads hand objects over.
func (s *Suite) HandoversBy(h Handovers) { s.handovers = h }

// published returns the races with an access that, for all that is seen, the first owner of a field may
// have made before it published the object. The pointer passes through memory that is not observed, so
// that a schedule which leaves out a section in which it may have been passed on proves nothing: then
// there is a reason for doubt, and the race is not returned, unless the object was no thread's own: it lies in
// static memory, or in memory that a third thread allocated. If nothing is known of the run, no race is returned.
// Known are the races found otherwise.
func (s *Suite) published(known []finding.Finding, judge *verdict.Judge) (out []finding.Finding) {
	if judge.Run.Doubt == nil {
		return nil
	}
	seen := map[accessPair]bool{}
	for i := range known {
		seen[pairOf(&known[i])] = true
	}
	for _, c := range s.eraser.Published() {
		if seen[pairOf(&c.Finding)] || s.search.count(s.history.SettleRace(&c.Finding, c.Instances)).Verdict != predict.Predicted {
			continue
		}
		c.Reason = ""
		judged := judge.Plainly(c.Finding)
		if judged.Confidence == finding.Predicted || s.nobodysOwn(&c.Finding) && slices.Contains(judged.Assumes, finding.GuardedData) {
			out = append(out, c.Finding)
		}
	}
	return out
}

// handedUnseen returns a sentence if a side of a race, whose schedule leaves sections out or moves them, has the
// address of what it accesses from a write that was not recorded; "" if none is known to have.
func (s *Suite) handedUnseen(f *finding.Finding) string {
	if s.handovers.Block == nil || f.Kind != finding.Race || f.Confidence != finding.Predicted || !slices.Contains(f.Assumes, finding.GuardedData) {
		return ""
	}
	lo, hi := s.handovers.Block(f.Objects[0])
	for i := range f.Evidence {
		if e := &f.Evidence[i]; s.history.AddressUnwritten(e.Thread, e.Seq, lo, hi) {
			return fmt.Sprintf("the schedule leaves critical sections out or moves them, and T%d has the address of what it accesses from memory in which no recorded write had left it: without that write it would not be there", e.Thread)
		}
	}
	return ""
}

// nobodysOwn reports whether neither thread of a race got the object to itself, as far as is known.
func (s *Suite) nobodysOwn(f *finding.Finding) bool {
	if s.handovers.Unseen == nil || s.handovers.Unseen(f) {
		return false
	}
	given := f.Evidence[0].Flags&f.Evidence[1].Flags&event.Given != 0
	return given || s.handovers.Static != nil && s.handovers.Static(f.Objects[0])
}

// maxEarlyRaces bounds the races that are kept from before an eviction. A question about a candidate takes time in
// proportion to the history, and a program with a thousand connections has a thousand variables for one line of
// code. So before evictions, no more than maxEarlyTries candidates with the same two call stacks are asked about,
// and no more than earlyQuestions before the first eviction and earlyMore for each further one. What is not asked
// then is asked at the end.
const (
	maxEarlyRaces  = 1 << 8
	maxEarlyTries  = 1 << 2
	earlyQuestions = 1 << 6
	earlyMore      = 1 << 1
)

// predictRaces predicts what it can of the new candidates before the events that they need are
// evicted.
func (s *Suite) predictRaces() {
	s.earlyLeft += earlyMore
	for _, c := range s.eraser.TakeNew() {
		if len(s.earlyRaces) >= maxEarlyRaces || s.earlyLeft == 0 {
			return
		}
		key := pairOf(&c.Finding)
		code := key
		code.variable = 0
		if s.earlyTries[code]++; s.earlyTries[code] > maxEarlyTries {
			continue
		}
		s.earlyLeft--
		if s.history.PredictRace(&c.Finding, c.Instances) {
			c.Reason = ""
			s.earlyRaces[key] = c.Finding
		}
	}
}

// settleRace is settle for a candidate of the lockset analysis.
func (s *Suite) settleRace(c *eraser.Race) predict.Result {
	evidence := c.Evidence // SettleRace may replace it
	r := s.search.count(s.history.SettleRace(&c.Finding, c.Instances))
	if r.Verdict != predict.Predicted {
		if f, ok := s.earlyRaces[pairOf(&c.Finding)]; ok {
			s.search.foundEarly(r)
			f.Count = c.Count
			c.Finding, r = f, predict.Result{Verdict: predict.Predicted}
		}
	}
	if r.Verdict == predict.Predicted {
		return r
	}
	if c.Partial && !r.NotSearched() {
		s.notAsked++
	}
	s.explainUnpredicted(&c.Finding, r, c.Objects, evidence)
	return r
}

// observed returns the finding for a race of this run, with a schedule that shows it if the kept
// part of the trace has the events needed. If it has them and there is no schedule, or the checker
// refuses it, something that was not recorded may have ordered the two accesses. Then the race is
// only potential.
func (s *Suite) observed(r happensbefore.Race) finding.Finding {
	f := r.Finding
	switch result := s.settle(&f, r.Instances); {
	case result.Verdict == predict.Predicted:
		f.Confidence = finding.Observed
	case r.Uncertain || !result.Evicted():
		f.Confidence = finding.Potential
	default:
		f.Reason = "no schedule is shown: " + result.Reason
	}
	return f
}

// accessPair identifies the two accesses of a race, in either order: findings with equal pairs are
// one error.
type accessPair struct {
	variable event.ObjectID
	a, b     accessSite
}

// accessSite is the call stack and the operation of an access.
type accessSite struct {
	stack event.StackID
	op    event.Op
}

func pairOf(f *finding.Finding) accessPair {
	p := []accessSite{{f.Evidence[0].Stack, f.Evidence[0].Op}, {f.Evidence[1].Stack, f.Evidence[1].Op}}
	slices.SortFunc(p, func(x, y accessSite) int {
		return cmp.Or(cmp.Compare(x.stack, y.stack), cmp.Compare(x.op, y.op))
	})
	return accessPair{f.Objects[0], p[0], p[1]}
}
