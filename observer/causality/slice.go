package causality

import "slices"

// Slice numbers some of the relevant events anew, as if the others were not relevant: those of one property, or of one
// object. Several slices share the clocks of a run, and each has clocks as short as the number of slots that its events are
// in. The zero value has no events. It is not safe for concurrent use.
//
// Memory is two words for each run of events of a slot that are consecutive among the relevant ones: with one slice of
// all relevant events, for each slot.
type Slice struct {
	slots []int32 // by slot of Clocks: its own slot, from 1; 0: it has none
	runs  [][]stretch
	from  []uint32 // by own slot: that of Clocks
	clock Clock
}

// stretch is consecutive events of a slot that are all of the slice.
type stretch struct {
	first uint32 // the number of the first in the slot of Clocks
	own   uint32 // its number in the slice
}

// Add adds the next event of the slice, with its slot and clock as Clocks.Stamp returned them. It returns the slot and the
// clock in the slice, valid until the next call.
func (s *Slice) Add(slot uint32, v Clock) (own uint32, clock Clock) {
	own = s.slot(slot)
	s.number(own, v.At(slot))
	s.clock.Extend(len(s.from))
	for i, of := range s.from {
		s.clock[i] = s.count(i, v.At(of))
	}
	return own, s.clock
}

// Slots returns the number of slots of the slice.
func (s *Slice) Slots() int { return len(s.from) }

// slot returns the slot in the slice of a slot of Clocks.
func (s *Slice) slot(of uint32) uint32 {
	for int(of) >= len(s.slots) {
		s.slots = append(s.slots, 0)
	}
	if s.slots[of] == 0 {
		s.from = append(s.from, of)
		s.runs = append(s.runs, nil)
		s.slots[of] = int32(len(s.from))
	}
	return uint32(s.slots[of] - 1)
}

// number adds the event with a number in its slot of Clocks.
func (s *Slice) number(own, n uint32) {
	all := s.runs[own]
	if len(all) == 0 {
		s.runs[own] = append(all, stretch{n, 1}, stretch{n + 1, 2})
		return
	}
	// The last stretch is empty: where the next event would be if it followed at once.
	end := &all[len(all)-1]
	if next := end.own; end.first != n {
		*end = stretch{end.first, next} // the end of the stretch before
		s.runs[own] = append(all, stretch{n, next}, stretch{n + 1, next + 1})
		return
	}
	end.first, end.own = n+1, end.own+1
}

// count returns how many events of the slice are among the first n of their slot of Clocks.
func (s *Slice) count(own int, n uint32) uint32 {
	all := s.runs[own]
	i, _ := slices.BinarySearchFunc(all, n, func(x stretch, n uint32) int {
		if x.first <= n {
			return -1
		}
		return 1
	})
	if i == 0 {
		return 0
	}
	x := all[i-1]
	if i == len(all) { // in the empty stretch at the end
		return x.own - 1
	}
	return min(x.own+n-x.first, all[i].own-1)
}
