package order

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// Vector is a vector clock in one array: for each slot, the number of its events that the clock
// includes. Entries beyond its length are zero. See event.Clock for clocks that share memory.
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

// Copy makes v equal to d, in the memory of v if that is large enough.
func (v *Vector[T]) Copy(d Vector[T]) { *v = append((*v)[:0], d...) }

// Common finds the events that several clocks include. The zero value is ready for use.
type Common struct {
	result event.Clock
	column []event.Epoch
}

// Beyond returns the clock of the events that more than k of n clocks include; k is less than n.
// No clock is longer than width; at returns the entry of clock i for a slot. The result is
// valid until the next call.
func (c *Common) Beyond(k, n, width int, at func(i int, slot uint32) event.Epoch) *event.Clock {
	c.result.Reset()
	for slot := range width {
		c.column = c.column[:0]
		for i := range n {
			c.column = append(c.column, at(i, uint32(slot)))
		}
		slices.Sort(c.column)
		c.result.Set(uint32(slot), c.column[n-1-k])
	}
	return &c.result
}
