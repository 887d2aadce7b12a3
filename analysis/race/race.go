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
	most       int // Options.Most
	dropped    uint64
}

// Options configure an Analysis.
type Options struct {
	Uses bool // record how threads use each variable; see Uses
	// Most is the number of candidates that are kept, of those of the run and of those of other schedules each; 0: all.
	Most int
}

// New returns the analysis of a run that has not begun.
func New(shared *part.Shared, o Options) *Analysis {
	return &Analysis{
		shared: shared, earlyRaces: map[accessPair]finding.Finding{}, earlyTries: map[accessPair]int{}, earlyLeft: earlyQuestions, most: o.Most,
		eraser: eraser.New(eraser.Options{EveryPair: true, Reports: o.Most, Uses: o.Uses, CollectPruned: shared.Explain, Locks: shared.Locks}),
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
	b.DroppedPairs += a.dropped + locks.DroppedPairs + a.shared.Order.Stats().DroppedPairs
}

// Close implements part.Part.
func (a *Analysis) Close() int {
	a.observed = atMost(a, a.shared.Order.Races(), func(r *happensbefore.Race) *finding.Finding { return &r.Finding })
	a.candidates = atMost(a, a.eraser.Races(), func(r *eraser.Race) *finding.Finding { return &r.Finding })
	return len(a.observed) + min(len(a.candidates), maxOthers)
}

// atMost returns Options.Most of all races, in their order. Those go first of whose pair of call stacks there are others,
// whose counts are added to the first one.
func atMost[T any](a *Analysis, all []T, of func(*T) *finding.Finding) []T {
	if a.most == 0 || len(all) <= a.most {
		return all
	}
	codes := make([]accessPair, len(all))
	for i := range all {
		codes[i] = pairOf(of(&all[i]))
		codes[i].variable = 0
	}
	kept, first := make([]T, 0, a.most), map[accessPair]int{}
	for i, keep := range finding.FirstOfEach(codes, a.most) {
		at, others := first[codes[i]]
		switch {
		case keep:
			if !others {
				first[codes[i]] = len(kept)
			}
			kept = append(kept, all[i])
		case others:
			of(&kept[at]).Count += of(&all[i]).Count
		default:
			a.dropped++
		}
	}
	return kept
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
