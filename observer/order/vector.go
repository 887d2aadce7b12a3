package order

import "slices"

// Vector is a vector clock: for each slot, the number of its events that are known. Entries
// beyond its length are zero.
type Vector[T ~uint32] []T

// At returns the entry of a slot.
func (v Vector[T]) At(slot uint32) T {
	if int(slot) < len(v) {
		return v[slot]
	}
	return 0
}

// Extend makes v at least n long. New entries are zero, also where the memory held old ones.
func (v *Vector[T]) Extend(n int) {
	old := len(*v)
	if n <= old {
		return
	}
	*v = slices.Grow(*v, n-old)[:n]
	clear((*v)[old:])
}

// Join makes v the pointwise maximum of v and d, and reports whether that changed v.
func (v *Vector[T]) Join(d Vector[T]) bool {
	v.Extend(len(d))
	s := (*v)[:len(d)]
	news := false
	for i, n := range d {
		if n > s[i] {
			s[i], news = n, true
		}
	}
	return news
}

// Knows reports whether joining d would change nothing.
func (v Vector[T]) Knows(d Vector[T]) bool {
	for i, n := range d {
		if n > v.At(uint32(i)) {
			return false
		}
	}
	return true
}

// Copy makes v equal to d, in the memory of v if that is large enough.
func (v *Vector[T]) Copy(d Vector[T]) { *v = append((*v)[:0], d...) }

// Common finds the events that several clocks know. The zero value is ready.
type Common[T ~uint32] struct {
	known Vector[T]
	pick  []T
}

// Beyond returns the clock of the events that more than k of n clocks know; k is less than n.
// No clock is longer than width; at returns the entry of clock i for a slot. The result is
// valid until the next call.
func (c *Common[T]) Beyond(k, n, width int, at func(i int, slot uint32) T) Vector[T] {
	c.known = c.known[:0]
	for slot := range width {
		c.pick = c.pick[:0]
		for i := range n {
			c.pick = append(c.pick, at(i, uint32(slot)))
		}
		slices.Sort(c.pick)
		c.known = append(c.known, c.pick[n-1-k])
	}
	return c.known
}
