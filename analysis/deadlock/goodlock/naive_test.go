package goodlock

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/observer/event"
)

// The definition, as code: every acquire is an instance of its own, and every set of instances is
// tried.

type naiveHold struct {
	lock   event.ObjectID
	shared bool
	seq    uint64
}

func (h naiveHold) excludes(o naiveHold) bool {
	return h.lock == o.lock && !(h.shared && o.shared)
}

type naiveWait struct {
	event.Event
	held []naiveHold
}

func (w naiveWait) wants() naiveHold {
	return naiveHold{lock: w.Object, shared: w.Op == event.AcquireRead}
}

// naiveWaits returns each acquire that could have blocked while the thread held a lock, and for
// each thread the critical sections of its ancestors around it.
func naiveWaits(events []event.Event) (waits []naiveWait, around map[event.ThreadID][]naiveHold) {
	held := map[event.ThreadID][]naiveHold{}
	parent := map[event.ThreadID]event.ThreadID{}
	atFork := map[event.ThreadID][]naiveHold{}
	direct := map[event.ThreadID][]naiveHold{}
	within := map[event.ThreadID]event.ThreadID{}
	for _, e := range events {
		switch {
		case e.Op == event.Fork:
			parent[e.Peer] = e.Thread
			atFork[e.Peer] = slices.Clone(held[e.Thread])
		case e.Op == event.Join && parent[e.Peer] == e.Thread:
			within[e.Peer] = e.Thread
			for _, h := range atFork[e.Peer] {
				if slices.Contains(held[e.Thread], h) {
					direct[e.Peer] = append(direct[e.Peer], h)
				}
			}
		case e.Op == event.Release:
			held[e.Thread] = slices.DeleteFunc(slices.Clone(held[e.Thread]), func(h naiveHold) bool { return h.lock == e.Object })
		case e.Op.IsAcquire():
			h := held[e.Thread]
			if len(h) > 0 && e.Flags&event.Try == 0 {
				waits = append(waits, naiveWait{e, slices.Clone(h)})
			}
			held[e.Thread] = append(h, naiveHold{e.Object, e.Op == event.AcquireRead, e.Seq})
		}
	}
	around = map[event.ThreadID][]naiveHold{}
	for t := range parent {
		for c := t; c != 0; c = within[c] {
			around[t] = append(around[t], direct[c]...)
		}
	}
	return waits, around
}

// naiveConcurrent reports whether the two can be about to happen at the same time: nothing orders them, and
// no two critical sections around them exclude each other.
func naiveConcurrent(v, w naiveWait, around map[event.ThreadID][]naiveHold) bool {
	if v.Thread == w.Thread || v.Before(w.Slot, w.Epoch) || w.Before(v.Slot, v.Epoch) {
		return false
	}
	for _, g := range append(slices.Clone(v.held), around[v.Thread]...) {
		for _, h := range append(slices.Clone(w.held), around[w.Thread]...) {
			if g.seq != h.seq && g.excludes(h) {
				return false
			}
		}
	}
	return true
}

func naiveRings(events []event.Event) map[string]bool {
	waits, around := naiveWaits(events)
	out := map[string]bool{}
	var extend func(cycle []naiveWait)
	extend = func(cycle []naiveWait) {
		last := cycle[len(cycle)-1]
		if len(cycle) > 1 && slices.ContainsFunc(cycle[0].held, last.wants().excludes) {
			out[naiveName(cycle)] = true
		}
		for _, w := range waits {
			if w.Thread <= cycle[0].Thread || !slices.ContainsFunc(w.held, last.wants().excludes) {
				continue
			}
			if !slices.ContainsFunc(cycle, func(v naiveWait) bool { return v.Object == w.Object || !naiveConcurrent(v, w, around) }) {
				extend(append(slices.Clip(cycle), w))
			}
		}
	}
	for _, w := range waits {
		extend([]naiveWait{w})
	}
	return out
}

func naiveName(cycle []naiveWait) string {
	var parts []string
	for _, w := range cycle {
		var held []string
		for _, h := range w.held {
			held = append(held, fmt.Sprint(h.lock, h.shared))
		}
		slices.Sort(held)
		parts = append(parts, fmt.Sprint(w.Thread, " wants ", w.Object, w.Op == event.AcquireRead, " holds ", held))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

func ringName(cycle []*edge, choice []*instance) string {
	var parts []string
	for i, p := range cycle {
		var held []string
		for _, m := range p.node.parent.members() {
			held = append(held, fmt.Sprint(m.Lock(), m.Shared()))
		}
		slices.Sort(held)
		parts = append(parts, fmt.Sprint(choice[i].thread.id, " wants ", p.requested.Lock(), p.requested.Shared(), " holds ", held))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

func TestAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := randomRun(rt, false)
		a := run(Options{History: 1000}, events)
		got := map[string]bool{}
		s := a.newSearch()
		s.onChoice = func(cycle []*edge, choice []*instance) { got[ringName(cycle, choice)] = true }
		s.onCycle = func([]*edge) { s.tuples = 0; s.choose(0) }
		s.run()
		want := naiveRings(events)
		if d := cmp.Diff(want, got); d != "" {
			rt.Fatalf("-want +got:\n%s", d)
		}
		checkFindings(rt, a, events, len(want) > 0)
	})
}

// checkFindings checks that each finding, and each of its candidates, is a cycle.
func checkFindings(rt *rapid.T, a *Analysis, events []event.Event, some bool) {
	findings := a.Finish()
	if some != (len(findings) > 0) {
		rt.Fatalf("%d findings, cycles: %t", len(findings), some)
	}
	waits, around := naiveWaits(events)
	bySeq := map[uint64]naiveWait{}
	for _, w := range waits {
		bySeq[w.Seq] = w
	}
	candidates := a.Candidates()
	for i, f := range findings {
		var own []uint64
		for j, s := range f.Evidence {
			own = append(own, s.Seq)
			w := bySeq[s.Seq]
			if s.Thread != w.Thread || s.Object != w.Object || f.Objects[j] != w.Object || f.Threads[j] != w.Thread || len(s.HeldAt) != len(s.Held) {
				rt.Fatalf("evidence %+v is not event %+v", s, w.Event)
			}
			for k, h := range w.held {
				if s.Held[k] != h.lock || s.HeldAt[k] != events[h.seq-1].Stack {
					rt.Fatalf("evidence %+v does not hold %+v", s, w.held)
				}
			}
		}
		if len(candidates[i]) == 0 || !slices.Equal(own, candidates[i][0]) {
			rt.Fatalf("candidates %v do not begin with %v", candidates[i], own)
		}
		for _, c := range candidates[i] {
			checkCandidate(rt, c, bySeq, around)
		}
	}
}

func checkCandidate(rt *rapid.T, seqs []uint64, bySeq map[uint64]naiveWait, around map[event.ThreadID][]naiveHold) {
	for i, seq := range seqs {
		w, next := bySeq[seq], bySeq[seqs[(i+1)%len(seqs)]]
		if !slices.ContainsFunc(next.held, w.wants().excludes) {
			rt.Fatalf("candidate %v: %d does not wait for the next", seqs, seq)
		}
		for _, other := range seqs[:i] {
			if !naiveConcurrent(w, bySeq[other], around) {
				rt.Fatalf("candidate %v: %d and %d cannot meet", seqs, seq, other)
			}
		}
	}
}

// Figures 9 and 10 taken literally, for exclusive locks released in reverse order. (With another
// order, a path of the tree may contain an edge that the thread never had: 1, 2, 3 acquired, 1
// released, 4 acquired makes 2/3/4, as if 3 had been requested under 2 alone.)

type naiveNode struct {
	lock     event.ObjectID
	parent   *naiveNode
	children []*naiveNode
	marked   bool
}

func (n *naiveNode) child(l event.ObjectID) *naiveNode {
	for _, c := range n.children {
		if c.lock == l {
			return c
		}
	}
	c := &naiveNode{lock: l, parent: n}
	n.children = append(n.children, c)
	return c
}

func (n *naiveNode) below() []*naiveNode {
	var out []*naiveNode
	for _, c := range n.children {
		out = append(append(out, c), c.below()...)
	}
	return out
}

func (n *naiveNode) isAbove(l event.ObjectID) bool {
	for p := n.parent; p != nil; p = p.parent {
		if p.lock == l {
			return true
		}
	}
	return false
}

func (n *naiveNode) belowMark() bool {
	for p := n.parent; p != nil; p = p.parent {
		if p.marked {
			return true
		}
	}
	return false
}

func figure9(events []event.Event) map[event.ThreadID]*naiveNode {
	trees := map[event.ThreadID]*naiveNode{}
	held := map[event.ThreadID][]event.ObjectID{}
	for _, e := range events {
		if trees[e.Thread] == nil {
			trees[e.Thread] = &naiveNode{}
		}
		switch e.Op {
		case event.Acquire:
			held[e.Thread] = append(held[e.Thread], e.Object)
			n := trees[e.Thread]
			for _, l := range held[e.Thread] {
				n = n.child(l)
			}
		case event.Release:
			held[e.Thread] = slices.DeleteFunc(held[e.Thread], func(l event.ObjectID) bool { return l == e.Object })
		}
	}
	return trees
}

type lockPair [2]event.ObjectID

func figure10(n, tree *naiveNode, conflict func(a, b event.ObjectID)) {
	var same []*naiveNode
	for _, m := range tree.below() {
		if m.lock == n.lock && !m.belowMark() {
			same = append(same, m)
		}
	}
	for _, m := range same {
		figure10Check(n.lock, n, m, conflict)
	}
	for _, m := range same {
		m.marked = true
	}
	for _, c := range n.children {
		figure10(c, tree, conflict)
	}
	for _, m := range same {
		m.marked = false
	}
}

func figure10Check(top event.ObjectID, n1, n2 *naiveNode, conflict func(a, b event.ObjectID)) {
	for _, c := range n1.children {
		if n2.isAbove(c.lock) {
			conflict(min(top, c.lock), max(top, c.lock))
		} else {
			figure10Check(top, c, n2, conflict)
		}
	}
}

type naiveConflict struct {
	threads [2]event.ThreadID
	locks   lockPair
}

// TestAgainstFigure10 checks that the cycles of two are what Figure 10 reports.
func TestAgainstFigure10(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := unrelated(randomRun(rt, true))
		trees := figure9(events)
		want := pairsOf(trees)
		got := map[naiveConflict]bool{}
		a := run(Options{History: 1000, MaxThreads: 2}, events)
		s := a.newSearch()
		s.onChoice = func(cycle []*edge, c []*instance) {
			t1, t2 := c[0].thread.id, c[1].thread.id
			l1, l2 := cycle[0].requested.Lock(), cycle[1].requested.Lock()
			got[naiveConflict{[2]event.ThreadID{min(t1, t2), max(t1, t2)}, lockPair{min(l1, l2), max(l1, l2)}}] = true
		}
		s.onCycle = func([]*edge) { s.tuples = 0; s.choose(0) }
		s.run()
		if d := cmp.Diff(want, got, cmp.AllowUnexported(naiveConflict{})); d != "" {
			rt.Fatalf("-want +got:\n%s", d)
		}
	})
}
