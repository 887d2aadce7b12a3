package goodlock

// The search looks for cycles of two threads first, then of three, and so on. To reach the one
// cycle of a thousand philosophers it would follow all paths of up to 999 edges from each
// edge. So before it looks for long cycles, it computes for each edge a lower bound of the
// length of the cycles that begin there: a breadth-first search that regards only who waits for
// whom. All other conditions can only make cycles longer or fewer.

// longCycle is the length of cycles from which on the lower bound is computed.
const longCycle = 4

// cycleBounds caches the lower bounds.
type cycleBounds struct {
	shortest map[*edge]int // the result of shortestCycle
	steps    int           // steps left for computing lower bounds
}

// mayClose reports whether a cycle of the given length may begin at p, its oldest edge, and
// whether a longer one may.
func (s *search) mayClose(p *edge, length int) (now, later bool) {
	if length < longCycle {
		return true, false
	}
	shortest, known := s.bounds.shortest[p]
	if !known {
		shortest = s.shortestCycle(p)
		if s.bounds.shortest == nil {
			s.bounds.shortest = map[*edge]int{}
		}
		s.bounds.shortest[p] = shortest
	}
	return shortest > 0 && shortest <= length, shortest > length
}

// shortestCycle returns the least length of a cycle that begins at its oldest edge, first, and 0 if
// there is none. It returns 1, a lower bound of every length, when no steps are left.
func (s *search) shortestCycle(first *edge) int {
	s.a.searches++ // marks the nodes and edges that this search has reached
	level := []*edge{first}
	for length := 1; len(level) > 0; length++ {
		var next []*edge
		for _, p := range level {
			after := s.reach(p, first, next)
			if s.bounds.steps < 0 {
				return 1
			}
			for _, q := range after[len(next):] {
				if q == first {
					return length
				}
			}
			next = after
		}
		level = next
	}
	return 0
}

// nodesPerBound is the number of nodes that a breadth-first search looks at for one step.
const nodesPerBound = 8

// reach appends the edges that the request of p may wait for, not older than first, and not reached
// yet.
func (s *search) reach(p, first *edge, to []*edge) []*edge {
	add := func(q *edge) {
		if q.id >= first.id && q.seen != s.a.searches {
			q.seen = s.a.searches
			s.bounds.steps--
			to = append(to, q)
		}
	}
	nodes := len(p.node.lock.nodes)
	for _, top := range p.node.lock.nodes {
		if s.bounds.steps*nodesPerBound < nodes {
			s.bounds.steps = -1
			return to
		}
		if top.m.Conflicts(p.requested) {
			nodes += s.reachBelow(top, add)
		}
	}
	if p.requested.Shared() {
		for _, q := range s.writers[p.requested.Lock()] {
			if nodes++; s.behind(p, q) {
				add(q)
			}
		}
	}
	s.bounds.steps -= nodes / nodesPerBound
	return to
}

// reachBelow calls add with the edges below a node, in its component, except below nodes that the
// search has reached before. It returns the number of nodes visited.
func (s *search) reachBelow(top *node, add func(*edge)) (nodes int) {
	down := true
	for n := top.first; n != nil; n = n.after(top, down) {
		nodes++
		if down = n.seen != s.a.searches; !down {
			continue
		}
		n.seen = s.a.searches
		if q := n.ofEdge(); q != nil && n.lock.component == top.lock.component {
			add(q)
		}
		down = n.component == top.lock.component
	}
	return nodes
}
