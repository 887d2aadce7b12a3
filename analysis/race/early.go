package race

import "github.com/tracepredict/tracepredict/analysis/finding/reason"

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

// Evicting implements part.Part: it predicts what it can of the new candidates before the events that they need are
// evicted.
func (a *Analysis) Evicting() {
	a.earlyLeft += earlyMore
	for _, c := range a.eraser.TakeNew() {
		if len(a.earlyRaces) >= maxEarlyRaces || a.earlyLeft == 0 {
			return
		}
		key := pairOf(&c.Finding)
		code := key
		code.variable = 0
		if a.earlyTries[code]++; a.earlyTries[code] > maxEarlyTries {
			continue
		}
		a.earlyLeft--
		if a.shared.History.PredictRace(&c.Finding, c.Instances) && a.shared.Search.KeepsEarly(&c.Finding) {
			c.Reason = reason.Reason{}
			a.earlyRaces[key] = c.Finding
		}
	}
}
