package goodlock

// components sets the strongly connected components of the lock graph, which leads from each held
// lock to the lock requested while it is held (Tarjan, SIAM J. Comput. 1(2) 1972; without recursion,
// since paths are as long as there are locks). A cycle stays within a component, so edges that only
// lead from one component to another need no search.
//
// That graph has an edge for each pair of a held and a requested lock, n² for n nested locks. So the
// nodes of the forest are vertices too: a lock leads to its nodes, a node to those below it and to
// the locks that are requested there. A lock that is held thus reaches what is requested with it,
// and nothing more. An edge is in a cycle of locks if what it holds, as a node, and what it requests
// are in one component.
func (f *forest) components() {
	c := tarjan{}
	for _, l := range f.locks {
		c.vertex(&l.component)
		for _, n := range l.nodes {
			if n.component = 0; n.first != nil { // others lead nowhere
				c.vertex(&n.component)
			}
		}
	}
	for _, l := range f.locks {
		for _, n := range l.nodes {
			if n.first != nil {
				c.link(l.component, n.component)
			}
			for x := n.first; x != nil; x = x.next {
				if x.first != nil {
					c.link(n.component, x.component)
				}
				if x.ofEdge() != nil {
					c.link(n.component, x.lock.component)
				}
			}
		}
	}
	c.run()
	for v, at := range c.at {
		*at = c.component[v]
	}
}

// tarjan is the state of the search.
type tarjan struct {
	at         []*int  // by vertex: where its component is stored; its number before the search
	next       [][]int // by vertex: its successors
	index      []int   // from 1, in the order of the visits; 0: not visited
	low        []int   // by vertex: the least index of a vertex on the stack known to be reachable from it
	component  []int   // from 1; 0: still on the stack, or not visited
	stack      []int   // visited vertices without a component yet
	path       []step  // from the first vertex to the one being visited
	visits     int
	components int // number of components found
}

// step is a vertex of the current path, and the number of its successors that have been visited.
type step struct{ vertex, seen int }

// vertex makes a vertex, and stores its number where its component will be stored.
func (c *tarjan) vertex(at *int) {
	*at = len(c.at)
	c.at = append(c.at, at)
	c.next = append(c.next, nil)
}

func (c *tarjan) link(from, to int) { c.next[from] = append(c.next[from], to) }

// run visits all vertices.
func (c *tarjan) run() {
	c.index, c.low, c.component = make([]int, len(c.next)), make([]int, len(c.next)), make([]int, len(c.next))
	for v := range c.next {
		if c.index[v] == 0 {
			c.visit(v)
		}
	}
}

// visit visits all vertices reachable from root that are not visited yet.
func (c *tarjan) visit(root int) {
	c.enter(root)
	for len(c.path) > 0 {
		at := &c.path[len(c.path)-1]
		if at.seen == len(c.next[at.vertex]) {
			c.leave(at.vertex)
			continue
		}
		w := c.next[at.vertex][at.seen]
		at.seen++
		switch {
		case c.index[w] == 0:
			c.enter(w)
		case c.component[w] == 0:
			c.low[at.vertex] = min(c.low[at.vertex], c.index[w])
		}
	}
}

func (c *tarjan) enter(v int) {
	c.visits++
	c.index[v], c.low[v] = c.visits, c.visits
	c.stack = append(c.stack, v)
	c.path = append(c.path, step{vertex: v})
}

// leave ends the visit of v. If v reaches no vertex below it on the stack, the vertices from v to the
// top of the stack are a component.
func (c *tarjan) leave(v int) {
	c.path = c.path[:len(c.path)-1]
	if n := len(c.path); n > 0 {
		up := c.path[n-1].vertex
		c.low[up] = min(c.low[up], c.low[v])
	}
	if c.low[v] < c.index[v] {
		return
	}
	c.components++
	for c.component[v] == 0 {
		w := c.stack[len(c.stack)-1]
		c.stack = c.stack[:len(c.stack)-1]
		c.component[w] = c.components
	}
}
