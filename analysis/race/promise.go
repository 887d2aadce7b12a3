package race

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/race/eraser"
	"github.com/tracepredict/tracepredict/observer/event"
)

// promise says how much a candidate for a race promises: the lesser, the more.
type promise struct {
	unnamed  int // 1: the object has neither a name nor a type
	sameLock int // 1: both accesses were made with the same locks held
	distance uint64
	index    int
}

func (p promise) compare(o promise) int {
	return cmp.Or(cmp.Compare(p.unnamed, o.unnamed), cmp.Compare(p.sameLock, o.sameLock),
		cmp.Compare(p.distance, o.distance), cmp.Compare(p.index, o.index))
}

// promising returns the indices of candidates for races in the order in which they are searched: one of
// each pair of call stacks first, then on objects with a name or a type, with different locks held, and near
// in time.
func (a *Analysis) promising(all []*eraser.Race) []int {
	promises := make([]promise, len(all))
	unnamed := map[event.ObjectID]int{}
	for i, c := range all {
		object := c.Objects[0]
		if _, known := unnamed[object]; !known {
			unnamed[object] = a.unnamed(object)
		}
		promises[i] = promise{unnamed[object], sameLocks(&c.Finding), distance(&c.Finding), i}
	}
	slices.SortFunc(promises, promise.compare)
	seen, again := map[accessPair]int{}, make([]int, len(all))
	order := make([]int, len(all))
	for n, p := range promises {
		code := pairOf(&all[p.index].Finding)
		code.variable = 0
		order[n], again[p.index] = p.index, seen[code]
		seen[code]++
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(again[a], again[b]) })
	return order
}

// unnamed returns 1 if an object is known to have neither a name nor a type, else 0.
func (a *Analysis) unnamed(o event.ObjectID) int {
	if a.shared.Known.Named == nil || a.shared.Known.Named(o) {
		return 0
	}
	return 1
}

// sameLocks returns 1 if the sides of a race held the same locks, else 0.
func sameLocks(f *finding.Finding) int {
	a, b := slices.Sorted(slices.Values(f.Evidence[0].Held)), slices.Sorted(slices.Values(f.Evidence[1].Held))
	if slices.Equal(a, b) {
		return 1
	}
	return 0
}

// distance returns the number of events from one side of a race to the other.
func distance(f *finding.Finding) uint64 {
	a, b := f.Evidence[0].Seq, f.Evidence[1].Seq
	return max(a, b) - min(a, b)
}
