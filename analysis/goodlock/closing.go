package goodlock

// The search looks for cycles of two threads first, then of three, and so on. To reach the one
// cycle of a thousand philosophers it would follow all paths of up to 999 patterns from each
// pattern. So before it looks for long cycles, it computes for each pattern a lower bound of the
// length of the cycles that begin there: a breadth-first search that regards only who waits for
// whom. All other conditions can only make cycles longer or fewer.

// longRings is the length of cycles from which on the lower bound is computed.
const longRings = 4

// closings caches the lower bounds.
type closings struct {
	least map[*pattern]int      // the result of leastRing
	steps int                   // steps left for computing lower bounds
	seen  map[*pattern]struct{} // patterns that the current breadth-first search has reached
}

// closes reports whether a cycle of the given length may begin at p, its oldest pattern, and
// whether a longer one may.
func (s *search) closes(p *pattern, length int) (now, later bool) {
	if length < longRings {
		return true, false
	}
	least, known := s.closing.least[p]
	if !known {
		least = s.leastRing(p)
		if s.closing.least == nil {
			s.closing.least = map[*pattern]int{}
		}
		s.closing.least[p] = least
	}
	return least > 0 && least <= length, least > length
}

// leastRing returns the least length of a cycle that begins at its oldest pattern, first, and 0 if
// there is none. It returns 1, a lower bound of every length, when no steps are left.
func (s *search) leastRing(first *pattern) int {
	c := &s.closing
	if c.seen == nil {
		c.seen = map[*pattern]struct{}{}
	}
	clear(c.seen)
	level := []*pattern{first}
	for length := 1; len(level) > 0; length++ {
		var next []*pattern
		for _, p := range level {
			after := s.holders[p.wanted.Lock()]
			if p.wanted.Shared() {
				after = append(after[:len(after):len(after)], s.writers[p.wanted.Lock()]...)
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
