package goodlock

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// addEdgeOf adds the edge of a request with these locks held.
func (a *Analysis) addEdgeOf(requested member, held ...member) {
	n := a.root
	for _, m := range held {
		n = a.child(n, m, 0)
	}
	if n = a.child(n, requested, 0); a.edges.find(n) == nil {
		a.nextID++
		a.addEdge(n)
	}
}

// componentOf returns the component of a lock; 0 if no edge has the lock.
func (f *forest) componentOf(lock event.ObjectID) int {
	if l := f.locks[lock]; l != nil {
		return l.component
	}
	return 0
}

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
		a := New(Options{})
		for range rapid.IntRange(1, 2*n).Draw(rt, "patterns") {
			wanted := lock.Draw(rt, "wanted")
			var held []member
			for _, h := range rapid.SliceOfN(lock, 1, 4).Draw(rt, "held") {
				held = append(held, locks.MemberOf(event.ObjectID(h+1), rapid.Bool().Draw(rt, "shared")))
				reach[h][wanted] = true
			}
			a.addEdgeOf(locks.MemberOf(event.ObjectID(wanted+1), false), held...)
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		a.forest.components()
		for i := range n {
			for j := range i {
				x, y := a.forest.componentOf(event.ObjectID(i+1)), a.forest.componentOf(event.ObjectID(j+1))
				if x != 0 && y != 0 && (x == y) != (reach[i][j] && reach[j][i]) {
					rt.Fatalf("locks %d and %d: components %d and %d, %v", i+1, j+1, x, y, reach)
				}
			}
		}
	})
}

// TestComponentsOfALongPath checks that a path of a hundred thousand locks is handled.
func TestComponentsOfALongPath(t *testing.T) {
	a := New(Options{})
	for i := range event.ObjectID(100_000) {
		a.addEdgeOf(locks.MemberOf(i+2, false), locks.MemberOf(i+1, false))
	}
	a.forest.components()
	if x, y := a.forest.componentOf(1), a.forest.componentOf(2); len(a.forest.locks) != 100_001 || x == y {
		t.Errorf("%d locks, components %d and %d", len(a.forest.locks), x, y)
	}
}
