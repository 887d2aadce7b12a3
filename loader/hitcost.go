package loader

import "time"

// hitCost estimates what a hit costs in the very process, as a multiple of what it is taken to cost. The processor
// time of a while is the work that the program did, and what its hits took:
//
//	used = a × calls + k × cost
//
// where calls are those that synchronise, which always have probes, and cost is that of the hits of accesses, as far
// as it was known before. Since probes are removed and put in again, some whiles have many hits a call and some few,
// and k is a least-squares fit over them. The more these differ, the more it counts; a program that makes no such
// calls tells nothing.
type hitCost struct {
	calls, cost, used                                    float64 // of the while that goes on, times in seconds
	callsCalls, callsCost, costCost, callsUsed, costUsed float64 // sums over whiles, of products
}

const (
	keptOfWhile = 0.97    // how much an older while counts, of what a newer one does
	priorWeight = 0.1     // how much the measurement before counts, as a part of the squares of all costs
	leastTimes  = 2.0 / 3 // never less than what a hit cost in a loop; see inPrograms
	mostTimes   = 3
)

// add adds to the while that goes on how many calls the program has made, what its hits have cost, and its processor
// time, all of them since the last add.
func (h *hitCost) add(calls uint64, cost, used time.Duration) {
	h.calls += float64(calls)
	h.cost += cost.Seconds()
	h.used += used.Seconds()
}

// end ends the while that goes on, and begins another.
func (h *hitCost) end() {
	for _, s := range []struct {
		sum  *float64
		more float64
	}{
		{&h.callsCalls, h.calls * h.calls}, {&h.callsCost, h.calls * h.cost}, {&h.costCost, h.cost * h.cost},
		{&h.callsUsed, h.calls * h.used}, {&h.costUsed, h.cost * h.used},
	} {
		*s.sum = *s.sum*keptOfWhile + s.more
	}
	h.calls, h.cost, h.used = 0, 0, 0
}

// times returns what a hit costs, as a multiple of what it is taken to cost.
func (h *hitCost) times() float64 {
	if h.callsCalls == 0 || h.costCost == 0 {
		return 1
	}
	prior := priorWeight * h.costCost
	spread := h.costCost - h.callsCost*h.callsCost/h.callsCalls
	told := h.costUsed - h.callsCost*h.callsUsed/h.callsCalls
	return min(max((told+prior)/(spread+prior), leastTimes), mostTimes)
}
