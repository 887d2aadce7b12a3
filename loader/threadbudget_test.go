package loader

import (
	"testing"
	"time"

	"github.com/tracepredict/tracepredict/bpf"
)

// TestThreadBudget checks that a thread of which the hits take most of the time is over its budget, however long others
// run without one, once it has used its credit; and that the limit is what its hits may cost, with those of others.
func TestThreadBudget(t *testing.T) {
	const ms = uint64(time.Millisecond)
	b := newThreadBudget(4)
	works, spins := bpf.ThreadCost{Tid: 11}, bpf.ThreadCost{Tid: 12}
	look := func(cost time.Duration) time.Duration {
		works.Hits, spins.Hits = works.Hits+3000, spins.Hits+1000
		works.Ran, spins.Ran = works.Ran+100*ms, spins.Ran+1000*ms
		b.costs[1], b.costs[2] = works, spins
		return b.limit(cost, 2, 1)
	}
	for i, want := range []bool{false, false, false, true} { // the first look begins; each costs it 80 ms more than its room, of 10 ms
		if limit := look(120 * time.Millisecond); (limit < 120*time.Millisecond) != want {
			t.Errorf("look %d: the limit is %v", i, limit)
		}
	}
	if limit := look(120 * time.Millisecond); limit < 12*time.Millisecond || limit > 14*time.Millisecond {
		t.Errorf("the limit is %v, want 10 of 90 ms of 120", limit)
	}
	if limit := look(20 * time.Millisecond); limit < time.Second {
		t.Errorf("within its room: the limit is %v", limit)
	}
}

// TestThreadBudgetOfTwoInOnePlace checks that threads that take turns in one place have no limit of their own.
func TestThreadBudgetOfTwoInOnePlace(t *testing.T) {
	b := newThreadBudget(1)
	for i := range uint32(20) {
		b.costs[0] = bpf.ThreadCost{Tid: 1 + i%2, Hits: i * 1000, Ran: 1 << (20 * (i % 2))}
		if limit := b.limit(time.Second, 2, 1); limit < time.Hour {
			t.Fatalf("look %d: %v", i, limit)
		}
	}
}
