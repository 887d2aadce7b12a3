package goodlock

import "github.com/tracepredict/tracepredict/observer/event"

// forest has the nodes of the edges in memory, and those above them. The locks that an edge holds
// are a path in it, so the edges that hold a lock are those below the lock's nodes: a search walks
// down from there, and turns around at the first lock that its path holds too.
type forest struct {
	locks map[event.ObjectID]*usedLock
}

// usedLock is a lock that occurs in some edge.
type usedLock struct {
	nodes             []*node // the nodes for it, in the order in which they were added
	exclusive, shared int     // number of paths that hold it now; see hold
	component         int     // see components
}

func newForest() *forest { return &forest{map[event.ObjectID]*usedLock{}} }

// add adds a node and those above it, up to the first that the forest has.
func (f *forest) add(n *node) {
	var path []*node
	for ; n.parent != nil && n.lock == nil; n = n.parent {
		path = append(path, n)
	}
	for i := len(path) - 1; i >= 0; i-- {
		f.link(path[i])
	}
}

// link adds a node whose parent the forest has.
func (f *forest) link(n *node) {
	l := f.locks[n.m.Lock()]
	if l == nil {
		l = &usedLock{}
		f.locks[n.m.Lock()] = l
	}
	n.lock, l.nodes = l, append(l.nodes, n)
	p := n.parent
	switch {
	case p.parent == nil: // a root is only that of the tree at one time
	case p.last == nil:
		p.first, p.last = n, n
	default:
		p.last.next, p.last = n, n
	}
}

// clear removes all nodes.
func (f *forest) clear() {
	for _, l := range f.locks {
		for _, n := range l.nodes {
			n.lock, n.edge, n.first, n.last, n.next = nil, nil, nil, nil, nil
		}
	}
	clear(f.locks)
}

// hold adds by to the number of paths that hold the locks from the root to a node.
func hold(n *node, by int) {
	for ; n.parent != nil; n = n.parent {
		if n.m.Shared() {
			n.lock.shared += by
		} else {
			n.lock.exclusive += by
		}
	}
}

// taken reports whether a path of hold excludes the acquire of n.
func (n *node) taken() bool { return n.lock.exclusive > 0 || !n.m.Shared() && n.lock.shared > 0 }

// free reports whether no path of hold excludes the locks from the root to n, and how many nodes it
// has looked at.
func (n *node) free() (ok bool, steps int) {
	for ; n.parent != nil; n = n.parent {
		if steps++; n.taken() {
			return false, steps
		}
	}
	return true, steps
}

// after returns the node that follows n in a walk over the nodes below top: the first below n, if the
// walk goes down there. It returns nil at the end.
func (n *node) after(top *node, down bool) *node {
	if down && n.first != nil {
		return n.first
	}
	for ; n != top; n = n.parent {
		if n.next != nil {
			return n.next
		}
	}
	return nil
}

// ofEdge returns the edge whose place in the forest n is, or nil.
func (n *node) ofEdge() *edge {
	if n.edge == nil || n.edge.node != n {
		return nil
	}
	return n.edge
}
