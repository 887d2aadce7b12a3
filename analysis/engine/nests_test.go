package engine_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// nestings returns a run of two threads that nest n locks in opposite orders.
func nestings(t *testing.T, n int) []event.Event {
	t.Helper()
	var b strings.Builder
	b.WriteString("T0|fork(T1)|1\nT0|fork(T2)|2\n")
	nest := func(thread string, lock func(int) int) {
		for i := range n {
			fmt.Fprintf(&b, "%s|acq(L%d)|%d\n", thread, lock(i), 10+lock(i))
		}
		for i := range n {
			fmt.Fprintf(&b, "%s|rel(L%d)|%d\n", thread, lock(n-1-i), 10+lock(n-1-i))
		}
	}
	nest("T1", func(i int) int { return i })
	nest("T2", func(i int) int { return n - 1 - i })
	events, _, err := eventtest.ParseSTD(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// TestNestingsAreCounted checks that of the deadlocks between two nestings some are predicted, and that the first of
// these has the number of the others, those that were predicted while the program ran included.
func TestNestingsAreCounted(t *testing.T) {
	for _, n := range []int{2, 10, 17, 18, 60, 100} {
		found := findings(nestings(t, n), nil)
		pairs := 0
		for _, f := range found {
			if f.Confidence != finding.Predicted || f.Kind != finding.Deadlock {
				t.Errorf("%d locks: %+v", n, f)
			}
			pairs += 1 + f.MorePairs
		}
		if pairs != n-1 || len(found) != min(n-1, 16) {
			t.Errorf("%d locks: %d findings, %d pairs", n, len(found), pairs)
		}
	}
}

// TestNestingsNeedLittleMemory checks that what is allocated for two nestings is linear in the number of locks.
func TestNestingsNeedLittleMemory(t *testing.T) {
	allocated := func(n int) uint64 {
		events := nestings(t, n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found := findings(events, nil)
		runtime.ReadMemStats(&after)
		for _, f := range found {
			for _, s := range append(f.Evidence, f.Witness...) {
				if len(s.Held) > finding.MaxHeld+2 || len(s.Held) != len(s.HeldAt) {
					t.Fatalf("a step has %d held locks", len(s.Held))
				}
			}
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := allocated(1000), allocated(2000); many > 3*few {
		t.Errorf("%d bytes for 1000 locks, %d for 2000", few, many)
	}
}
