package code

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// drawGraph draws a graph of blocks of one instruction each.
func drawGraph(t *rapid.T) *Graph {
	n := rapid.IntRange(1, 9).Draw(t, "blocks")
	g := &Graph{Insts: make([]insn.Inst, n), Blocks: make([]Block, n)}
	for i := range g.Blocks {
		g.Blocks[i] = Block{Lo: i, Hi: i + 1, Next: rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, 2, rapid.ID[int]).Draw(t, "next")}
	}
	g.ExternalEntries = rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, 2, rapid.ID[int]).Draw(t, "entries")
	return g
}

// reached returns the blocks that paths from some reach without passing one.
func reached(g *Graph, from []int, without int) map[int]bool {
	from = slices.DeleteFunc(slices.Clone(from), func(b int) bool { return b == without })
	seen, _ := Reach(from, func(b int) ([]int, bool) {
		return slices.DeleteFunc(slices.Clone(g.Blocks[b].Next), func(n int) bool { return n == without }), true
	})
	return seen
}

// naiveLoops returns the loops by the definition: an edge leads back to a head that all paths from
// outside to the edge pass, and the blocks are those that reach the edge without passing the head.
func naiveLoops(g *Graph) (loops []Loop) {
	all := reached(g, g.roots(), -1)
	for head := range g.Blocks {
		for latch := range g.Blocks {
			if !all[latch] || !all[head] || !slices.Contains(g.Blocks[latch].Next, head) || latch != head && reached(g, g.roots(), head)[latch] {
				continue
			}
			l := Loop{Head: head, Latch: latch}
			for b := range g.Blocks {
				if b == head || all[b] && reached(g, []int{b}, head)[latch] {
					l.Blocks = append(l.Blocks, b)
				}
			}
			loops = append(loops, l)
		}
	}
	return loops
}

// TestLoops compares the loops of random graphs that have one entry each with the natural loops, and
// checks what all loops have in common.
func TestLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		var natural []Loop
		for _, l := range g.Loops() {
			checkLoop(t, g, &l)
			if len(l.Entries) == 0 {
				natural = append(natural, l)
			}
		}
		want := naiveLoops(g)
		if !slices.EqualFunc(natural, want, func(a, b Loop) bool {
			return a.Head == b.Head && a.Latch == b.Latch && slices.Equal(a.Blocks, b.Blocks)
		}) {
			t.Errorf("blocks %v, entries %v:\n%v, want\n%v", g.Blocks, g.ExternalEntries, natural, want)
		}
	})
}

// checkLoop checks that each block of a loop is on a cycle of the loop through its edge, and that
// control enters the loop at its head and its entries alone.
func checkLoop(t *rapid.T, g *Graph, l *Loop) {
	inside := func(b int) ([]int, bool) {
		return slices.DeleteFunc(slices.Clone(g.Blocks[b].Next), func(n int) bool { return !l.Contains(n) }), true
	}
	after, _ := Reach([]int{l.Head}, inside)
	for _, b := range l.Blocks {
		before, _ := Reach([]int{b}, inside)
		if !after[b] || !before[l.Latch] {
			t.Errorf("blocks %v: block %d is not on a cycle of %v", g.Blocks, b, *l)
		}
	}
	for b := range reached(g, g.roots(), -1) {
		for _, n := range g.Blocks[b].Next {
			if !l.Contains(b) && l.Contains(n) && n != l.Head && !slices.Contains(l.Entries, n) {
				t.Errorf("blocks %v: %d leads into %v", g.Blocks, b, *l)
			}
		}
	}
	for _, b := range g.roots() {
		if l.Contains(b) && b != l.Head && !slices.Contains(l.Entries, b) {
			t.Errorf("blocks %v: %v begins at %d too", g.Blocks, *l, b)
		}
	}
}
