package goodlock

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// printed is Figure 9 taken literally: a release goes to the parent of the current node, whichever
// lock is released.
func printed(events []event.Event) map[event.ThreadID]*naiveNode {
	trees, at := map[event.ThreadID]*naiveNode{}, map[event.ThreadID]*naiveNode{}
	for _, e := range events {
		if trees[e.Thread] == nil {
			trees[e.Thread] = &naiveNode{}
			at[e.Thread] = trees[e.Thread]
		}
		switch e.Op {
		case event.Acquire:
			at[e.Thread] = at[e.Thread].child(e.Object)
		case event.Release:
			at[e.Thread] = at[e.Thread].parent
		}
	}
	return trees
}

func paths(trees map[event.ThreadID]*naiveNode, names *eventtest.Names) map[string]bool {
	out := map[string]bool{}
	var walk func(path string, n *naiveNode)
	walk = func(path string, n *naiveNode) {
		for _, c := range n.children {
			p := path + "/" + names.Objects[c.lock]
			out[p] = true
			walk(p, c)
		}
	}
	for t, tree := range trees {
		walk(names.Threads[t], tree)
	}
	return out
}

// TestWhereFigure9GoesWrong checks the cases in which Figure 9 goes wrong. They have the trees
// that it makes, and the pairs that Figure 10 reports of these: other trees than those of this
// package, and other pairs than those that can block.
func TestWhereFigure9GoesWrong(t *testing.T) {
	differ := 0
	for _, c := range eventtest.Cases(t, casesPattern) {
		w := expectation(t, c)
		if !w.Differs {
			continue
		}
		differ++
		want := map[string]bool{}
		for thread, nodes := range w.Printed {
			flatten(want, thread, nodes)
		}
		trees := printed(c.Events)
		if d := cmp.Diff(want, paths(trees, c.Names)); d != "" {
			t.Errorf("%s, as printed (-want +got):\n%s", c.Name, d)
		}
		if d := cmp.Diff(want, paths(figure9(c.Events), c.Names)); d == "" {
			t.Errorf("%s: the mended trees are the printed ones", c.Name)
		}
		if got := len(pairsOf(trees)) > 0; got != (len(w.PrintedPairs) > 0) {
			t.Errorf("%s: Figure 10 reports of the printed trees: %t, want %v", c.Name, got, w.PrintedPairs)
		}
	}
	if differ < 3 {
		t.Errorf("%d cases in which Figure 9 goes wrong", differ)
	}
}

// pairsOf returns what Figure 10 reports of the trees.
func pairsOf(trees map[event.ThreadID]*naiveNode) map[naiveConflict]bool {
	out := map[naiveConflict]bool{}
	for t1, tree1 := range trees {
		for t2, tree2 := range trees {
			if t1 >= t2 {
				continue
			}
			for _, n := range tree1.children {
				figure10(n, tree2, func(a, b event.ObjectID) {
					out[naiveConflict{[2]event.ThreadID{t1, t2}, lockPair{a, b}}] = true
				})
			}
		}
	}
	return out
}
