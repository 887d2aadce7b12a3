package scope

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// This file is the oracle: happens-before as the closure over all pairs of events, and regions as sets over it, as
// Definition 5 has them.

// edges are the kinds of edges of an order besides those of a thread.
type edges struct {
	locks  bool // the last release to the acquire, and acquires and releases of a lock among each other
	forks  bool // fork to the child's events, and these to the join
	values bool // accesses of a variable of which one is a write
}

// order is happens-before: order[i][j] if event i comes before event j.
type order [][]bool

// orderOf returns the order of a run.
func orderOf(events []event.Event, with edges) order {
	n := len(events)
	b := make(order, n)
	for i := range b {
		b[i] = make([]bool, n)
	}
	for j := range events {
		release := map[event.ObjectID]int{}
		for i := range j {
			e, f := &events[i], &events[j]
			if e.Op == event.Release && e.Object == f.Object {
				release[e.Object] = i
			}
			b[i][j] = e.Thread == f.Thread ||
				with.forks && (e.Op == event.Fork && e.Peer == f.Thread || f.Op == event.Join && f.Peer == e.Thread) ||
				with.values && e.Op.IsAccess() && f.Op.IsAccess() && e.Object == f.Object && (e.Op.IsWrite() || f.Op.IsWrite())
		}
		if i, ok := release[events[j].Object]; ok && with.locks && events[j].Op == event.Acquire {
			b[i][j] = true
		}
	}
	b.close()
	return b
}

// close makes the order transitive.
func (b order) close() {
	for k := range b {
		for i := range b {
			if b[i][k] {
				for j := range b {
					b[i][j] = b[i][j] || b[k][j]
				}
			}
		}
	}
}

// concurrent returns the pairs of events that are not ordered.
func (b order) concurrent(among []int) (pairs [][2]int) {
	for x, i := range among {
		for _, j := range among[x+1:] {
			if !b[i][j] && !b[j][i] {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	return pairs
}

// regions returns the regions of Definition 5, read as its sentence and Example 3 have it: region i is what happens after
// synchronising action i and before the next one.
func (b order) regions(actions []int) [][]int {
	out := make([][]int, len(actions)+1)
	for i := range out {
		out[i] = []int{}
		for a := range b {
			if !slices.Contains(actions, a) && (i == 0 || b[actions[i-1]][a]) && (i == len(actions) || b[a][actions[i]]) {
				out[i] = append(out[i], a)
			}
		}
	}
	return out
}

// outside returns the events that are in no region, and no synchronising actions.
func (b order) outside(actions []int, regions [][]int) []int {
	out := []int{}
	for a := range b {
		if !slices.Contains(actions, a) && !slices.ContainsFunc(regions, func(r []int) bool { return slices.Contains(r, a) }) {
			out = append(out, a)
		}
	}
	return out
}
