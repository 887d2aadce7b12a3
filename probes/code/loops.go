package code

import (
	"cmp"
	"slices"
)

// Loop is the natural loop of an edge that leads back to a block which dominates it: that block and
// those from which the edge is reached without passing it (Aho, Lam, Sethi and Ullman, "Compilers",
// section 9.6.6). A loop with several such edges is several Loops: compilers join the heads of nested
// loops, and a loop that only waits is then a part of one that works.
type Loop struct {
	Head, Latch int   // the edge leads from Latch to Head
	Blocks      []int // sorted; Head and Latch are among them
}

// Contains reports whether a block is in the loop.
func (l *Loop) Contains(block int) bool {
	_, ok := slices.BinarySearch(l.Blocks, block)
	return ok
}

// Loops returns the natural loops of a graph, sorted by their heads and latches. A cycle that control
// can enter at several blocks is none. An Open graph has no loops.
func (g *Graph) Loops() []Loop {
	if g.Open || !g.jumpsBack() {
		return nil
	}
	order, number := g.reversePostorder()
	dominator := g.dominators(order, number)
	into := g.predecessors()
	var loops []Loop
	for _, latch := range order {
		for _, head := range g.Blocks[latch].Next {
			if dominates(dominator, number, head, latch) {
				loops = append(loops, naturalLoop(head, latch, into, number))
			}
		}
	}
	slices.SortFunc(loops, func(a, b Loop) int { return cmp.Or(cmp.Compare(a.Head, b.Head), cmp.Compare(a.Latch, b.Latch)) })
	return loops
}

// naturalLoop returns the loop of an edge. into has the predecessors of all blocks.
func naturalLoop(head, latch int, into [][]int, number []int) Loop {
	inside, _ := Reach([]int{latch}, func(block int) ([]int, bool) {
		if block == head {
			return nil, true
		}
		return into[block], true
	})
	l := Loop{Head: head, Latch: latch, Blocks: []int{head}}
	for block := range inside {
		if block != head && number[block] >= 0 {
			l.Blocks = append(l.Blocks, block)
		}
	}
	slices.Sort(l.Blocks)
	return l
}

// jumpsBack reports whether a block leads to itself or to one at a lower address.
func (g *Graph) jumpsBack() bool {
	for i := range g.Blocks {
		for _, n := range g.Blocks[i].Next {
			if n <= i {
				return true
			}
		}
	}
	return false
}

func (g *Graph) predecessors() [][]int {
	into := make([][]int, len(g.Blocks))
	for i := range g.Blocks {
		for _, n := range g.Blocks[i].Next {
			into[n] = append(into[n], i)
		}
	}
	return into
}

// outside stands for whatever leads into a function: the dominator of its entries.
const outside = -1

// roots returns the blocks that control may enter from outside.
func (g *Graph) roots() []int {
	if len(g.Blocks) == 0 {
		return nil
	}
	roots := []int{0}
	for _, block := range g.ExternalEntries {
		if block != 0 {
			roots = append(roots, block)
		}
	}
	return roots
}

// reversePostorder returns the blocks that the roots reach, each before those that it leads to unless
// control goes back; and the number of each block in that order, -1 if it is not reached.
func (g *Graph) reversePostorder() (order, number []int) {
	number = make([]int, len(g.Blocks))
	for i := range number {
		number[i] = -1
	}
	type visit struct{ block, next int }
	for _, root := range g.roots() {
		if number[root] >= 0 {
			continue
		}
		number[root] = 0
		path := []visit{{root, 0}}
		for len(path) > 0 {
			top := &path[len(path)-1]
			if next := g.Blocks[top.block].Next; top.next < len(next) {
				to := next[top.next]
				if top.next++; number[to] < 0 {
					number[to] = 0
					path = append(path, visit{to, 0})
				}
				continue
			}
			order = append(order, top.block)
			path = path[:len(path)-1]
		}
	}
	slices.Reverse(order)
	for i, block := range order {
		number[block] = i
	}
	return order, number
}

// dominators returns the immediate dominator of each block that is reached (Cooper, Harvey and
// Kennedy, "A simple, fast dominance algorithm", 2001); that of an entry is outside.
func (g *Graph) dominators(order, number []int) []int {
	const unknown = -2
	idom := make([]int, len(g.Blocks))
	for i := range idom {
		idom[i] = unknown
	}
	entry := make([]bool, len(g.Blocks))
	for _, root := range g.roots() {
		idom[root], entry[root] = outside, true
	}
	into := g.predecessors()
	common := func(a, b int) int {
		for a != b {
			switch {
			case a == outside || b == outside:
				return outside
			case number[a] > number[b]:
				a = idom[a]
			default:
				b = idom[b]
			}
		}
		return a
	}
	for changed := true; changed; {
		changed = false
		for _, block := range order {
			if entry[block] {
				continue
			}
			now := unknown
			for _, from := range into[block] {
				switch {
				case number[from] < 0 || idom[from] == unknown:
				case now == unknown:
					now = from
				default:
					now = common(now, from)
				}
			}
			if now != unknown && idom[block] != now {
				idom[block], changed = now, true
			}
		}
	}
	return idom
}

// dominates reports whether all paths from outside to b pass a.
func dominates(idom, number []int, a, b int) bool {
	if number[a] < 0 || number[b] < 0 {
		return false
	}
	for b != a {
		if b = idom[b]; b == outside || number[b] < number[a] {
			return false
		}
	}
	return true
}
