package goodlock

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestComponentsAgainstReachability checks that two locks are in one component if and only if each
// can be reached from the other.
func TestComponentsAgainstReachability(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(rt, "locks")
		lock := rapid.IntRange(0, n-1)
		reach := make([][]bool, n)
		for i := range reach {
			reach[i] = make([]bool, n)
			reach[i][i] = true
		}
		var edges []*edge
		for range rapid.IntRange(1, 2*n).Draw(rt, "patterns") {
			wanted := lock.Draw(rt, "wanted")
			p := &edge{requested: locks.MemberOf(event.ObjectID(wanted+1), false)}
			for _, h := range rapid.SliceOfN(lock, 1, 2).Draw(rt, "held") {
				p.held = append(p.held, locks.MemberOf(event.ObjectID(h+1), rapid.Bool().Draw(rt, "shared")))
				reach[h][wanted] = true
			}
			edges = append(edges, p)
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		of := components(edges)
		for i := range n {
			for j := range i {
				x, y := of[event.ObjectID(i+1)], of[event.ObjectID(j+1)]
				if x != 0 && y != 0 && (x == y) != (reach[i][j] && reach[j][i]) {
					rt.Fatalf("locks %d and %d: components %d and %d, %v", i+1, j+1, x, y, reach)
				}
			}
		}
	})
}

// TestComponentsOfALongPath checks that a path of a hundred thousand locks is handled.
func TestComponentsOfALongPath(t *testing.T) {
	var edges []*edge
	for i := range event.ObjectID(100_000) {
		edges = append(edges, &edge{requested: locks.MemberOf(i+2, false), held: []member{locks.MemberOf(i+1, false)}})
	}
	of := components(edges)
	if len(of) != 100_001 || of[1] == of[2] {
		t.Errorf("%d locks, components %d and %d", len(of), of[1], of[2])
	}
}
