package order

import "slices"

// Vector is a vector clock: for each slot, the number of its events that the clock includes.
// Entries beyond its length are zero.
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
	changed := false
	for i, n := range d {
		if n > s[i] {
			s[i], changed = n, true
		}
	}
	return changed
}

// Includes reports whether v includes all events of d.
func (v Vector[T]) Includes(d Vector[T]) bool {
	for i, n := range d {
		if n > v.At(uint32(i)) {
			return false
		}
	}
	return true
}

// Copy makes v equal to d, in the memory of v if that is large enough.
func (v *Vector[T]) Copy(d Vector[T]) { *v = append((*v)[:0], d...) }

// Common finds the events that several clocks include. The zero value is ready for use.
type Common[T ~uint32] struct {
	result Vector[T]
	column []T
}

// Beyond returns the clock of the events that more than k of n clocks include; k is less than n.
// No clock is longer than width; at returns the entry of clock i for a slot. The result is
// valid until the next call.
func (c *Common[T]) Beyond(k, n, width int, at func(i int, slot uint32) T) Vector[T] {
	c.result = c.result[:0]
	for slot := range width {
		c.column = c.column[:0]
		for i := range n {
			c.column = append(c.column, at(i, uint32(slot)))
		}
		slices.Sort(c.column)
		c.result = append(c.result, c.column[n-1-k])
	}
	return c.result
}
