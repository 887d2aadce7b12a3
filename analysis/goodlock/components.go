package goodlock

import "github.com/tracepredict/tracepredict/observer/event"

// components returns for each lock the number of its strongly connected component in the graph
// with an edge from each held lock to the lock requested while it is held (Tarjan, SIAM J. Comput.
// 1(2) 1972; without recursion, since paths are as long as there are locks). A cycle stays within
// a component, so edges that only lead from one component to another need no search.
func components(edges []*edge) map[event.ObjectID]int {
	c := tarjan{number: map[event.ObjectID]int{}}
	for _, p := range edges {
		for _, m := range p.held {
			from, to := c.node(m.Lock()), c.node(p.requested.Lock())
			c.next[from] = append(c.next[from], to)
		}
	}
	c.index, c.low, c.component = make([]int, len(c.next)), make([]int, len(c.next)), make([]int, len(c.next))
	for v := range c.next {
		if c.index[v] == 0 {
			c.visit(v)
		}
	}
	out := make(map[event.ObjectID]int, len(c.number))
	for lock, v := range c.number {
		out[lock] = c.component[v]
	}
	return out
}

// tarjan is the state of the search. It numbers the locks from 0, as nodes.
type tarjan struct {
	number     map[event.ObjectID]int // by lock: its node
	next       [][]int                // by node: its successors
	index      []int                  // from 1, in the order of the visits; 0: not visited
	low        []int                  // by node: the least index of a node on the stack known to be reachable from it
	component  []int                  // from 1; 0: still on the stack, or not visited
	stack      []int                  // visited nodes without a component yet
	path       []step                 // from the first node to the one being visited
	visits     int
	components int // number of components found
}

// step is a node of the current path, and the number of its successors that have been visited.
type step struct{ node, seen int }

// node returns the node of a lock, and makes it if there is none.
func (c *tarjan) node(lock event.ObjectID) int {
	v, ok := c.number[lock]
	if !ok {
		v = len(c.next)
		c.number[lock] = v
		c.next = append(c.next, nil)
	}
	return v
}

// visit visits all nodes reachable from root that are not visited yet.
func (c *tarjan) visit(root int) {
	c.enter(root)
	for len(c.path) > 0 {
		at := &c.path[len(c.path)-1]
		if at.seen == len(c.next[at.node]) {
			c.leave(at.node)
			continue
		}
		w := c.next[at.node][at.seen]
		at.seen++
		switch {
		case c.index[w] == 0:
			c.enter(w)
		case c.component[w] == 0:
			c.low[at.node] = min(c.low[at.node], c.index[w])
		}
	}
}

func (c *tarjan) enter(v int) {
	c.visits++
	c.index[v], c.low[v] = c.visits, c.visits
	c.stack = append(c.stack, v)
	c.path = append(c.path, step{node: v})
}

// leave ends the visit of v. If v reaches no node below it on the stack, the nodes from v to the
// top of the stack are a component.
func (c *tarjan) leave(v int) {
	c.path = c.path[:len(c.path)-1]
	if n := len(c.path); n > 0 {
		up := c.path[n-1].node
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
