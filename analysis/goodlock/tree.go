package goodlock

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// member is a lock with the mode that it is held or wanted in.
type member uint64

func memberOf(lock event.ObjectID, shared bool) member {
	m := member(lock) << 1
	if shared {
		m |= 1
	}
	return m
}

func (m member) lock() event.ObjectID { return event.ObjectID(m >> 1) }
func (m member) shared() bool         { return m&1 != 0 }

// conflicts reports whether the two cannot be held at one time.
func (m member) conflicts(o member) bool {
	return m.lock() == o.lock() && !(m.shared() && o.shared())
}

// node is a node of the lock tree of Figure 9: the path from the root is what
// is held, in the order of acquisition. One tree serves all threads, each at
// a node of its own; which thread took which path is known to the patterns'
// instances. It is a cache: patterns live without it.
type node struct {
	parent   *node
	m        member
	path     []event.ObjectID // from the root to here
	children map[member]*node
	recent   [4]*node // of children, by the low bits of the lock
	pattern  *pattern // wanting m while holding the path above, if ever seen
}

// child gives the node for one more lock.
func (a *Analysis) child(n *node, m member) *node {
	near := &n.recent[m.lock()%4]
	if c := *near; c != nil && c.m == m {
		return c
	}
	if c := n.children[m]; c != nil {
		*near = c
		return c
	}
	c := &node{parent: n, m: m, path: append(slices.Clip(n.path), m.lock())}
	if n.children == nil {
		n.children = map[member]*node{}
	}
	n.children[m] = c
	a.nodes++
	return c
}

// path finds the node of a list of held locks. Figure 9 would go to the
// parent of the current node, which is wrong unless the lock released is the
// last one taken.
func (a *Analysis) path(held []heldLock) *node {
	n := a.root
	for _, h := range held {
		n = a.child(n, h.m)
	}
	return n
}

// replant starts the tree anew from what is held now: a program that makes and
// destroys locks would let it grow for ever.
func (a *Analysis) replant() {
	a.root, a.nodes, a.deaths = &node{}, 0, 0
	for _, t := range a.threads {
		t.cur = a.path(t.held)
	}
}

// heldAbove gives the locks on the path above n with their modes, sorted.
func (n *node) heldAbove() []member {
	var s []member
	for p := n.parent; p.parent != nil; p = p.parent {
		s = append(s, p.m)
	}
	slices.Sort(s)
	return s
}
