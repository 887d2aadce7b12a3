package goodlock

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// member is a lock with the mode in which it is held or requested.
type member = locks.Member

// node is a node of the lock tree of Figure 9: the path from the root is the list of held locks,
// in the order of acquisition, with the call stacks of the acquires. It is a persistent stack: what
// a thread holds is one pointer, and threads and times that hold the same share all nodes. A thread
// that nests n locks makes n nodes, and so n edges need memory for n locks, not for n². All threads
// share one tree, and each thread is at its own node. The tree finds the node of an acquire that
// was made before; it is a cache. What edges and instances need of it stays in memory with them.
type node struct {
	parent   *node // nil: a root, which holds nothing
	top      *node // the outermost lock of the path
	m        member
	stack    event.StackID // call stack of the acquire
	depth    int32         // number of locks from the root to this node
	count    int32         // number of children
	hash     uint64        // of the set of the locks from the root to this node, with their modes
	children []child       // a hash table whose size is a power of two, at most half full
	edge     *edge         // the edge that requests m while it holds the locks above; nil: none yet

	// The node's place in the forest of edges; lock is nil if it has none.
	lock        *usedLock
	first, last *node // children, in the order in which they were added
	next        *node // of the parent's children
	component   int   // of the node as a vertex; see components
	seen        int   // the latest breadth-first search that reached the node
}

// child is a slot of the hash table of children. The member and the call stack are stored next to
// the pointer so that a lookup does not read the nodes.
type child struct {
	m     member
	n     *node
	stack event.StackID
}

// child returns the child of n for an acquire of m at a call stack, and makes it if there is none.
func (a *Analysis) child(n *node, m member, stack event.StackID) *node {
	if n.count > 0 {
		if c := n.children[n.slot(m, stack)].n; c != nil {
			return c
		}
	}
	c := &node{parent: n, top: n.top, m: m, stack: stack, depth: n.depth + 1, hash: n.hash + mixed(uint64(m))}
	if c.top == nil {
		c.top = c
	}
	n.add(c)
	a.nodes++
	return c
}

// mixed returns a number of which each bit depends on all bits of x (the finalizer of splitmix64).
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// slot returns the slot of the child for m at a call stack, or the free slot where it would be.
func (n *node) slot(m member, stack event.StackID) int {
	mask := len(n.children) - 1
	i := int((uint64(m)^uint64(stack)<<40)*0x9e3779b97f4a7c15>>32) & mask
	for n.children[i].n != nil && (n.children[i].m != m || n.children[i].stack != stack) {
		i = (i + 1) & mask
	}
	return i
}

func (n *node) add(c *node) {
	if n.count++; 2*int(n.count) > len(n.children) {
		old := n.children
		n.children = make([]child, max(2, 2*len(old)))
		for _, o := range old {
			if o.n != nil {
				n.children[n.slot(o.m, o.stack)] = o
			}
		}
	}
	n.children[n.slot(c.m, c.stack)] = child{c.m, c, c.stack}
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
		h := &t.locks.Held[t.validNodes]
		n = a.child(n, h.Member, h.Stack)
		t.nodes = append(t.nodes, n)
	}
	return n
}

// clearTree empties the tree. Otherwise a program that creates and destroys locks would let it grow
// without bound.
func (a *Analysis) clearTree() {
	a.root, a.nodes, a.destroyCount = &node{}, 0, 0
	clear(a.inverseNests)
	for _, t := range a.threads {
		t.validNodes = 0
	}
}

// path returns the locks from the root to the node, in the order of acquisition, and the call stacks
// of their acquires.
func (n *node) path() (ids []event.ObjectID, at []event.StackID) {
	ids, at = make([]event.ObjectID, n.depth), make([]event.StackID, n.depth)
	for p := n; p.parent != nil; p = p.parent {
		ids[p.depth-1], at[p.depth-1] = p.m.Lock(), p.stack
	}
	return ids, at
}

// members returns the locks from the root to the node with their modes, sorted.
func (n *node) members() []member {
	s := make([]member, 0, n.depth)
	for p := n; p.parent != nil; p = p.parent {
		s = append(s, p.m)
	}
	slices.Sort(s)
	return s
}

// excludes reports whether a thread that holds the locks from the root to the node keeps others from
// acquiring m.
func (n *node) excludes(m member) bool {
	for p := n; p.parent != nil; p = p.parent {
		if p.m.Conflicts(m) {
			return true
		}
	}
	return false
}

// holds reports whether the lock is on the path, in any mode.
func (n *node) holds(lock event.ObjectID) bool {
	for p := n; p.parent != nil; p = p.parent {
		if p.m.Lock() == lock {
			return true
		}
	}
	return false
}

// same reports whether the two paths have the same locks, acquired in the same order at the same call
// stacks: the nodes may be of a tree and of another that was emptied.
func (n *node) same(o *node) bool {
	if n.depth != o.depth || n.hash != o.hash {
		return false
	}
	for n != o && n.parent != nil {
		if n.m != o.m || n.stack != o.stack {
			return false
		}
		n, o = n.parent, o.parent
	}
	return true
}

// sameSet reports whether the two paths have the same locks in any order.
func (n *node) sameSet(o *node) bool {
	if n.depth != o.depth || n.hash != o.hash {
		return false
	}
	p, q := n, o
	for p != q && p.parent != nil && p.m == q.m {
		p, q = p.parent, q.parent
	}
	return p == q || p.parent == nil || slices.Equal(p.members(), q.members())
}

// smallGate is the number of pairs of held locks up to which gateLock compares each pair.
const smallGate = 1 << 8

// gateLock returns the lock with the lowest ID that is on both paths in modes that exclude each
// other, or 0.
func (n *node) gateLock(o *node) (least event.ObjectID) {
	found := func(lock event.ObjectID) {
		if least == 0 || lock < least {
			least = lock
		}
	}
	if int(n.depth)*int(o.depth) <= smallGate {
		for p := n; p.parent != nil; p = p.parent {
			if o.excludes(p.m) {
				found(p.m.Lock())
			}
		}
		return least
	}
	exclusive := make(map[event.ObjectID]bool, n.depth)
	for p := n; p.parent != nil; p = p.parent {
		exclusive[p.m.Lock()] = exclusive[p.m.Lock()] || !p.m.Shared()
	}
	for p := o; p.parent != nil; p = p.parent {
		if x, held := exclusive[p.m.Lock()]; held && (x || !p.m.Shared()) {
			found(p.m.Lock())
		}
	}
	return least
}
