package goodlock

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// member is a lock with the mode in which it is held or requested.
type member = locks.Member

// node is a node of the lock tree of Figure 9: the path from the root is the list of held locks,
// in the order of acquisition. All threads share one tree, and each thread is at its own node; the
// instances of the edges record which thread had which path. The tree is a cache: edges do
// not depend on it.
type node struct {
	parent   *node
	m        member
	path     []event.ObjectID // the locks from the root to this node
	children []child          // a hash table whose size is a power of two, at most half full
	count    int              // number of children
	edge     *edge            // the edge that requests m while it holds the locks above; nil: none yet
}

// child is a slot of the hash table of children. The member is stored next to the pointer so that
// a lookup does not read the nodes.
type child struct {
	m member
	n *node
}

// child returns the child of n for m, and makes it if there is none.
func (a *Analysis) child(n *node, m member) *node {
	if n.count > 0 {
		if c := n.children[n.slot(m)].n; c != nil {
			return c
		}
	}
	c := &node{parent: n, m: m, path: append(slices.Clip(n.path), m.Lock())}
	n.add(c)
	a.nodes++
	return c
}

// slot returns the slot of the child for m, or the free slot where it would be.
func (n *node) slot(m member) int {
	mask := len(n.children) - 1
	i := int(uint64(m)*0x9e3779b97f4a7c15>>32) & mask
	for n.children[i].n != nil && n.children[i].m != m {
		i = (i + 1) & mask
	}
	return i
}

func (n *node) add(c *node) {
	if n.count++; 2*n.count > len(n.children) {
		old := n.children
		n.children = make([]child, max(2, 2*len(old)))
		for _, o := range old {
			if o.n != nil {
				n.children[n.slot(o.m)] = o
			}
		}
	}
	n.children[n.slot(c.m)] = child{c.m, c}
}

// current returns the node of all locks that the thread holds, in the order of acquisition. Figure
// 9 goes to the parent of the current node at a release, which is correct only if the released lock
// is the one acquired last.
func (a *Analysis) current(t *thread) *node {
	n := a.root
	t.nodes = t.nodes[:t.validNodes]
	if t.validNodes > 0 {
		n = t.nodes[t.validNodes-1]
	}
	for ; t.validNodes < len(t.locks.Held); t.validNodes++ {
		n = a.child(n, t.locks.Held[t.validNodes].Member)
		t.nodes = append(t.nodes, n)
	}
	return n
}

// clearTree empties the tree. Otherwise a program that creates and destroys locks would let it grow
// without bound.
func (a *Analysis) clearTree() {
	a.root, a.nodes, a.destroyCount = &node{}, 0, 0
	for _, t := range a.threads {
		t.validNodes = 0
	}
}

// heldAbove returns the locks on the path above n with their modes, sorted.
func (n *node) heldAbove() []member {
	var s []member
	for p := n.parent; p.parent != nil; p = p.parent {
		s = append(s, p.m)
	}
	slices.Sort(s)
	return s
}
