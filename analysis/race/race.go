// Package race finds races: those of the run, by happens-before, and those of other schedules, where locksets warn or a
// schedule is found. It asks for a schedule for each, and also for races on objects that their first owner may have
// published. The searches themselves are those of package predict.
package race

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/happensbefore"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/race/eraser"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// Analysis is a part.Revisiter.
type Analysis struct {
	part.Base
	shared *part.Shared
	eraser *eraser.Analysis
	// observed and candidates are set by Close, and found by Settle.
	observed   []happensbefore.Race
	candidates []eraser.Race
	found      []finding.Finding
	// earlyRaces holds the races that were predicted before events were evicted, and earlyTries, by the pair
	// without its variable, how many candidates were asked about then.
	earlyRaces map[accessPair]finding.Finding
	earlyTries map[accessPair]int
	earlyLeft  int // questions that may still be asked before an eviction
}

// Options configure an Analysis.
type Options struct {
	Uses bool // record how threads use each variable; see Uses
}

// New returns the analysis of a run that has not begun.
func New(shared *part.Shared, o Options) *Analysis {
	return &Analysis{
		shared: shared, earlyRaces: map[accessPair]finding.Finding{}, earlyTries: map[accessPair]int{}, earlyLeft: earlyQuestions,
		eraser: eraser.New(eraser.Options{EveryPair: true, Uses: o.Uses, CollectPruned: shared.Explain, Locks: shared.Locks}),
	}
}

// Event implements part.Part.
func (a *Analysis) Event(e *event.Event) { a.eraser.Event(e) }

// Remember implements part.Part.
func (a *Analysis) Remember(n *event.Names) {
	a.eraser.Remember(n)
	for _, f := range a.earlyRaces {
		f.Remember(n)
	}
}

// Uses returns how threads used each variable so far, and under which locks; with Options.Uses.
func (a *Analysis) Uses() []run.Use { return a.eraser.Uses() }

// Shrink implements part.Part.
func (a *Analysis) Shrink() (variables int, some bool) {
	n := a.eraser.Shrink()
	return n, n > 0
}

// Bounds implements part.Part.
func (a *Analysis) Bounds(b *run.Bounds) {
	locks := a.eraser.Stats()
	b.EvictedAccesses += locks.EvictedAccesses
	b.DroppedPairs += locks.DroppedPairs + a.shared.Order.Stats().DroppedPairs
}

// Close implements part.Part.
func (a *Analysis) Close() int {
	a.observed, a.candidates = a.shared.Order.Races(), a.eraser.Races()
	return len(a.observed) + min(len(a.candidates), maxOthers)
}

// Settle implements part.Part.
func (a *Analysis) Settle(*part.Outcome) {
	races, others := a.races(a.observed, a.candidates)
	a.addPrunedRaces(races, others)
	races = append(races, a.predicted(others)...)
	a.found = append(races, a.published(races)...)
}

// Finish implements part.Part.
func (a *Analysis) Finish(out *part.Outcome) { out.Add(a.found...) }
