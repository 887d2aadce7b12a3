package code

import (
	"cmp"
	"slices"
)

// Loop is the loop of an edge that leads back: the blocks of the cycles that the edge closes, without
// those of loops around it. If the edge's target dominates its source, that is the natural loop of the
// edge (Aho, Lam, Sethi and Ullman, "Compilers", section 9.6.6). A loop with several such edges is
// several Loops: compilers join the heads of nested loops, and a loop that only waits is then a part
// of one that works.
type Loop struct {
	Head, Latch int   // the edge leads from Latch to Head
	Blocks      []int // sorted; Head and Latch are among them
	// Entries are the other blocks at which control may enter the loop, sorted; none if it is natural.
	Entries []int
}

// Contains reports whether a block is in the loop.
func (l *Loop) Contains(block int) bool {
	_, ok := slices.BinarySearch(l.Blocks, block)
	return ok
}

// Loops returns the loops of a graph, sorted by their heads and latches. An Open graph has none.
func (g *Graph) Loops() []Loop {
	if g.Open || !g.jumpsBack() {
		return nil
	}
	order, number := g.reversePostorder()
	into := g.predecessors()
	outside := make([]bool, len(g.Blocks))
	for _, root := range g.roots() {
		outside[root] = true
	}
	c := cycles{Graph: g, into: into, number: number, marks: make([]cycleMark, len(g.Blocks))}
	var loops []Loop
	for _, latch := range order {
		for _, head := range g.Blocks[latch].Next {
			if number[head] <= number[latch] {
				l := c.loop(head, latch)
				l.findEntries(into, number, outside)
				loops = append(loops, l)
			}
		}
	}
	slices.SortFunc(loops, func(a, b Loop) int { return cmp.Or(cmp.Compare(a.Head, b.Head), cmp.Compare(a.Latch, b.Latch)) })
	return loops
}

// cycles finds the blocks of loops. marks has the number of the last loop that each block was found
// in, on the way back from its latch and then forth from its head.
type cycles struct {
	*Graph
	into   [][]int
	number []int
	marks  []cycleMark
	todo   []int
	loops  int
}

type cycleMark struct{ back, forth int }

// loop returns the loop of an edge, without its entries: of the blocks that follow its head in reverse
// postorder those that are on a path from the head to the latch.
func (c *cycles) loop(head, latch int) Loop {
	c.loops++
	c.visit(latch, func(block int) []int {
		if m := &c.marks[block]; c.number[block] < c.number[head] || m.back == c.loops {
			return nil
		} else if m.back = c.loops; block == head {
			return nil
		}
		return c.into[block]
	})
	l := Loop{Head: head, Latch: latch}
	c.visit(head, func(block int) []int { // each block on a path to one of the loop is one, too
		m := &c.marks[block]
		if m.back != c.loops || m.forth == c.loops {
			return nil
		}
		m.forth = c.loops
		l.Blocks = append(l.Blocks, block)
		return c.Blocks[block].Next
	})
	slices.Sort(l.Blocks)
	return l
}

// visit visits a block and those that next returns for a visited one, as often as it does.
func (c *cycles) visit(from int, next func(block int) []int) {
	c.todo = append(c.todo[:0], from)
	for len(c.todo) > 0 {
		last := len(c.todo) - 1
		block := c.todo[last]
		c.todo = append(c.todo[:last], next(block)...)
	}
}

// findEntries finds the entries. outside has the blocks that control may enter from outside the
// function.
func (l *Loop) findEntries(into [][]int, number []int, outside []bool) {
	for _, block := range l.Blocks {
		enters := func(from int) bool { return number[from] >= 0 && !l.Contains(from) }
		if block != l.Head && (outside[block] || slices.ContainsFunc(into[block], enters)) {
			l.Entries = append(l.Entries, block)
		}
	}
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
