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
	shortest map[*edge]int      // the result of shortestCycle
	steps    int                // steps left for computing lower bounds
	seen     map[*edge]struct{} // edges that the current breadth-first search has reached
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
	c := &s.bounds
	if c.seen == nil {
		c.seen = map[*edge]struct{}{}
	}
	clear(c.seen)
	level := []*edge{first}
	for length := 1; len(level) > 0; length++ {
		var next []*edge
		for _, p := range level {
			after := s.holders[p.requested.Lock()]
			if p.requested.Shared() {
				after = append(after[:len(after):len(after)], s.writers[p.requested.Lock()]...)
			}
			if c.steps -= len(after); c.steps < 0 {
				return 1
			}
			for _, q := range after {
				if q.id < first.id || !s.blocks(p, q) {
					continue
				}
				if q == first {
					return length
				}
				if _, old := c.seen[q]; !old {
					c.seen[q] = struct{}{}
					next = append(next, q)
				}
			}
		}
		level = next
	}
	return 0
}
