package loader

import (
	"math"
	"time"

	"github.com/tracepredict/tracepredict/bpf"
)

// threadBudget keeps the budget of each thread. Where some threads spin until others have worked, the processor time
// of the process is mostly theirs: a budget for the process alone would let its probes slow down those that work by
// much more than the factor.
type threadBudget struct {
	costs, before []bpf.ThreadCost         // at this look, and at the last one
	debts         map[uint32]time.Duration // by thread ID: what its hits have cost beyond the budget; absent: -credit
}

// newThreadBudget returns the budget of threads in so many places.
func newThreadBudget(places int) threadBudget {
	return threadBudget{costs: make([]bpf.ThreadCost, places), before: make([]bpf.ThreadCost, places), debts: map[uint32]time.Duration{}}
}

// calls returns how many calls that synchronise the threads had made at the last look.
func (b *threadBudget) calls() (sum uint64) {
	for i := range b.before {
		sum += b.before[i].Calls
	}
	return sum
}

// limit takes what all hits since the last look have cost, and returns how much they may cost so that no thread is
// over its budget; see roomFor.
func (b *threadBudget) limit(cost time.Duration, factor, times float64) time.Duration {
	total := uint64(0)
	for i := range b.costs {
		total += uint64(b.costs[i].Hits - b.before[i].Hits)
	}
	least := float64(math.MaxInt64)
	for i := range b.costs {
		c, last := &b.costs[i], &b.before[i]
		if c.Hits == last.Hits || c.Tid != last.Tid {
			continue
		}
		own := float64(cost) * float64(c.Hits-last.Hits) / float64(total)
		room := float64(roomFor(time.Duration(own), time.Duration(c.Ran-last.Ran), factor, times))
		if b.owes(c.Tid, time.Duration(own-room)) && own > room {
			least = min(least, float64(cost)*room/own)
		}
	}
	b.costs, b.before = b.before, b.costs
	return time.Duration(min(least, math.MaxInt64/2))
}

// owes adds to the debt of a thread, and reports whether it has one.
func (b *threadBudget) owes(tid uint32, more time.Duration) bool {
	debt, known := b.debts[tid]
	if !known {
		debt = -credit
		if len(b.debts) > 2*len(b.costs) { // most are of threads that have ended
			clear(b.debts)
		}
	}
	debt = min(max(debt+more, -credit), maxDebt)
	if debt == -credit {
		delete(b.debts, tid)
	} else {
		b.debts[tid] = debt
	}
	return debt > 0
}
