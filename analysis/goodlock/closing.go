package goodlock

// The search takes cycles of two threads first, then of three, and so on: to reach the one
// cycle of a thousand philosophers it would follow all paths of up to 999 patterns, from
// each of them. So before long cycles are looked for it is asked of each pattern how long
// a cycle must be at least that begins there, as far as who waits for whom decides: a plain
// breadth-first search. Whatever may not meet can only make cycles longer or fewer.

// longRings is the length of cycles from which on it is worth asking.
const longRings = 4

// closings remembers the least lengths.
type closings struct {
	least map[*pattern]int
	steps int // left for asking
	seen  map[*pattern]struct{}
}

// closes reports whether a cycle of the length may begin at p, its oldest pattern, and
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

// leastRing is the least length of a cycle that begins at its oldest pattern first, 0 if there
// is none. It is 1, which is true of all, when there are no steps left for asking.
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
