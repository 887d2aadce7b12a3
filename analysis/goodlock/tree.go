package goodlock

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// member is a lock with the mode that it is held or wanted in.
type member = locks.Member

// node is a node of the lock tree of Figure 9: the path from the root is what
// is held, in the order of acquisition. One tree serves all threads, each at
// a node of its own; which thread took which path is known to the patterns'
// instances. It is a cache: patterns live without it.
type node struct {
	parent   *node
	m        member
	path     []event.ObjectID // from the root to here
	children []child          // a hash table of a power of two, at most half full
	count    int              // of children
	pattern  *pattern         // wanting m while holding the path above, if ever seen
}

// child is a place in the table of children. The member stands beside the node so
// that looking for it reads no nodes.
type child struct {
	m member
	n *node
}

// child returns the node for one more lock.
func (a *Analysis) child(n *node, m member) *node {
	if n.count > 0 {
		if c := n.children[n.place(m)].n; c != nil {
			return c
		}
	}
	c := &node{parent: n, m: m, path: append(slices.Clip(n.path), m.Lock())}
	n.add(c)
	a.nodes++
	return c
}

// place is where among the children the one for m is, or would be.
func (n *node) place(m member) int {
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
				n.children[n.place(o.m)] = o
			}
		}
	}
	n.children[n.place(c.m)] = child{c.m, c}
}

// cur is the node of what the thread holds: the path of all of it, in the order of
// acquisition. Figure 9 would go to the parent of the current node at a release,
// which is wrong unless the lock released is the last one taken.
func (a *Analysis) cur(t *thread) *node {
	n := a.root
	t.nodes = t.nodes[:t.placed]
	if t.placed > 0 {
		n = t.nodes[t.placed-1]
	}
	for ; t.placed < len(t.locks.Held); t.placed++ {
		n = a.child(n, t.locks.Held[t.placed].Member)
		t.nodes = append(t.nodes, n)
	}
	return n
}

// replant starts the tree anew: a program that makes and
// destroys locks would let it grow for ever.
func (a *Analysis) replant() {
	a.root, a.nodes, a.deaths = &node{}, 0, 0
	for _, t := range a.threads {
		t.placed = 0
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
